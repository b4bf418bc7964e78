/** Every source of reassigned numbers says the same of the same data: imported files, a provider and the sandbox. */
import { describe, expect, it } from 'vitest'
import { openFactStore } from '../../src/data/facts/fact-store.js'
import { ImportedFacts } from '../../src/data/facts/imported-facts.js'
import type { ReassignedReporter } from '../../src/domain/lookups.js'
import { parseDay } from '../../src/domain/time/dates.js'
import { SandboxFacts } from '../../src/service/sandbox/sandbox-facts.js'
import { factImports } from '../data/facts-fixture.js'
import { useTempFolder } from '../data/temp-folder.js'
import { bodyOf, openLookups, replyJson } from '../sources/remote/lookups/lookup-fixture.js'
import { testSandbox } from '../support/scrub-parts.js'
import { n } from '../support/service-subjects.js'
import { instant, testClock } from '../support/test-clock.js'

const folder = useTempFolder()
const clock = testClock('2026-11-20T12:00:00Z')
const today = Math.floor(clock.now() / 86_400_000)
const day = (text: string) => parseDay(text) ?? 0

/** Lines 0113 (disconnected 90 days ago), 0100 (never) and 0119 (no data) of the sandbox, and the same elsewhere. */
const disconnected = n('2125550113')
const kept = n('2125550100')
const unheard = n('2125550119')
const since = today - 100

interface Opened {
  readonly reporter: ReassignedReporter
  /** Waits for what is asked. */
  settle<T>(work: Promise<T>): Promise<T>
}

async function openFiles(): Promise<Opened> {
  const imports = factImports(folder)
  const rows = `${disconnected},2026-08-22,yes\n${kept},2026-01-01,no\n`
  await imports.text('reassigned', `number,date,answer\n${rows}`)
  const reporter = new ImportedFacts(openFactStore({ folder: imports.facts }), clock)
  return { reporter, settle: (work) => work }
}

async function openProvider(): Promise<Opened> {
  const { provider, time, transport } = openLookups()
  transport.onSend = (sent) => {
    const { Data } = bodyOf(sent) as { Data: { phoneNumber: string }[] }
    const rows = Data.map(({ phoneNumber }) => {
      const isYes = phoneNumber === disconnected
      const isNo = phoneNumber === kept
      return {
        PhoneNumber: phoneNumber,
        IsReassigned: isYes ? true : isNo ? false : null,
        HasSafeHarbor: isNo,
        OwnIsReassigned: null,
        IsSandBox: false,
      }
    })
    replyJson(sent, rows)
  }
  const settle = async <T>(work: Promise<T>) => {
    work.catch(() => undefined)
    await time.advance(60_000)
    return await work
  }
  return { reporter: provider, settle }
}

async function openSandbox(): Promise<Opened> {
  const reporter = new SandboxFacts({ sandbox: testSandbox(clock) })
  return { reporter, settle: (work) => work }
}

describe.each([
  ['imported files', openFiles],
  ['a provider', openProvider],
  ['the sandbox', openSandbox],
])('%s', (_name, open) => {
  const ask = async (number: typeof kept) => {
    const { reporter, settle } = await open()
    return await settle((async () => await reporter.report(number, since, 'main'))())
  }

  it('report a disconnect on that day or later', async () => {
    expect(await ask(disconnected)).toMatchObject({ national: true, hasSafeHarbor: false })
  })

  it('report that there was none', async () => {
    expect(await ask(kept)).toMatchObject({ national: false, hasSafeHarbor: true })
  })

  it('say for which day and when they were asked', async () => {
    const report = await ask(kept)
    expect(report?.since).toBe(since)
    expect(report?.askedAt).toBeGreaterThan(instant('2026-11-01T00:00:00Z'))
  })

  it('have no report without data', async () => {
    expect(await ask(unheard)).toBeUndefined()
  })
})

it('a provider that is down rejects', async () => {
  const { provider, time, transport } = openLookups()
  transport.onSend = (sent) => sent.reply({ status: 503, body: '' })
  const asked = provider.report(kept, since, 'main')
  asked.catch(() => undefined)
  await time.advance(60_000)
  await expect(asked).rejects.toThrow()
})

it('a provider is asked about no day of the future', async () => {
  const { provider, time, transport } = openLookups()
  const dates: unknown[] = []
  transport.onSend = (sent) => {
    dates.push(...(bodyOf(sent) as { Data: { date: string }[] }).Data.map(({ date }) => date))
    sent.reply({ status: 503, body: '' })
  }
  const asked = provider.report(kept, day('2099-01-01'), 'main').catch(() => undefined)
  await time.advance(60_000)
  await asked
  expect(new Set(dates).size).toBe(1)
  expect(dates[0]).not.toBe('2099-01-01')
})
