import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { getListsFolder } from '../../src/app/data-folders.js'
import { refreshData, watchData } from '../../src/commands/serve/data-watch.js'
import { ListAgeMonitor } from '../../src/commands/serve/list-age-monitor.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { shareLists } from '../support/two-accounts.js'

const dayMs = 86_400_000

let running: TestCallgate

beforeEach(async () => {
  running = await openTestCallgate()
})

afterEach(async () => {
  await running.end()
})

async function importAsOf(name: string, daysAgo: number, text = '2127360001\n'): Promise<void> {
  const file = join(running.dataDir, 'numbers.txt')
  writeFileSync(file, text)
  const { settings, runtime } = running.callgate
  const asOf = runtime.clock.now() - daysAgo * dayMs
  const folder = getListsFolder(settings)
  await importList({ name, files: [file], folder, asOf, areaCodes: 'all', clock: runtime.clock })
  await refreshData(running.callgate)
}

const severities: Readonly<Record<number, string>> = { 40: 'warn', 50: 'error' }

/** What was logged of the age of a list since the last time. */
function told(): readonly string[] {
  return running.logLines
    .splice(0)
    .map((line) => JSON.parse(line) as { level: number; message: string })
    .filter(({ message }) => /too old/.test(message))
    .map(({ level, message }) => `${severities[level]} ${message}`)
}

async function samples(): Promise<readonly string[]> {
  const { body } = await running.callgate.metrics.render()
  return body.split('\n').filter((line) => /^callgate_list_(age|max_age|state)/.test(line))
}

function statesOf(list: string, are: readonly string[]): readonly string[] {
  const all = ['fresh', 'soon-stale', 'stale', 'missing', 'unusable']
  return all.map(
    (state) =>
      `callgate_list_state{list="${list}",state="${state}"} ${are.includes(state) ? 1 : 0}`,
  )
}

describe('the age of a list', () => {
  it('is told once when it will soon be too old and once when it is, until the next import', async () => {
    const news = new ListAgeMonitor(running.callgate)
    const onDay = (days: number) => {
      running.clock.at = mondayNoon + days * dayMs
      news.check()
      news.check()
      return told()
    }
    await importAsOf('us-dnc', 0)
    await importAsOf('litigators', 900)
    expect(onDay(24)).toEqual([])
    expect(onDay(25)).toEqual([
      'warn us-dnc becomes too old at 2026-12-24T17:00:00.001Z and will not be used after that',
    ])
    expect(onDay(31)).toEqual([])
    expect(onDay(31.1)).toEqual([
      'error us-dnc has been too old since 2026-12-24T17:00:00.001Z and is not used',
    ])
    expect(onDay(40)).toEqual([])
    await importAsOf('us-dnc', 26)
    expect(onDay(40)).toEqual([
      'warn us-dnc becomes too old at 2027-01-07T17:00:00.001Z and will not be used after that',
    ])
    await importAsOf('us-dnc', 0, '2127360001\n2127360002\n')
    expect(onDay(40)).toEqual([])
    expect(onDay(70)).toEqual([
      'warn us-dnc becomes too old at 2027-02-02T17:00:00.001Z and will not be used after that',
    ])
  })

  it('is told from the start of a server on, with what an operator needs to know', async () => {
    await importAsOf('us-dnc', 40)
    running.logLines.length = 0
    watchData(running.callgate)()
    const line = running.logLines.find((one) => one.includes('too old'))
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      level: 50,
      list: 'us-dnc',
      maxAgeDays: 31,
      asOf: '2026-10-14T17:00:00Z',
      until: '2026-11-14T17:00:00.001Z',
    })
  })

  it('is remarked in what the server is ready for, and is no reason not to be', async () => {
    const lists = async () => {
      const ready = await running.get('/readyz')
      const { checks } = (await ready.json()) as { checks: { name: string; detail: string }[] }
      return { status: ready.status, ...checks.find(({ name }) => name === 'lists') }
    }
    await importAsOf('us-dnc', 0)
    expect((await lists()).detail).not.toMatch(/too old/)
    await importAsOf('us-dnc', 40)
    await importAsOf('canada-dnc', 26)
    const { status, detail } = await lists()
    expect(status).toBe(200)
    expect(detail).toContain(
      '; us-dnc has been too old since 2026-11-14T17:00:00.001Z and is not used',
    )
    expect(detail).toContain(
      '; canada-dnc becomes too old at 2026-11-28T17:00:00.001Z and will not be used after that',
    )
    expect(detail).toContain('; litigators is not imported')
  })

  it('is told while an account that may use the list calls its country, though its owner does not', async () => {
    watchData(running.callgate)()
    const { accounts, pauses } = running.callgate
    const isTold = async () =>
      (await samples()).includes('callgate_list_state{list="canada-dnc",state="missing"} 1')
    const stopCalls = async (account: string) => {
      const subject = `country:CA:${account}` as const
      await pauses.pause({ subject, because: 'no calls there', pausedBy: 'test' })
    }
    await stopCalls('main')
    expect(await isTold()).toBe(false)
    await accounts.ensure({ id: 'acme', kind: 'real', name: 'Acme' })
    await shareLists(running.callgate, 'acme')
    expect(await isTold()).toBe(true)
    await stopCalls('acme')
    expect(await isTold()).toBe(false)
  })

  it('is measured when the metrics are read', async () => {
    watchData(running.callgate)()
    await importAsOf('us-dnc', 1)
    await importAsOf('litigators', 2)
    expect(await samples()).toEqual([
      'callgate_list_age_seconds{list="litigators"} 172800',
      'callgate_list_age_seconds{list="us-dnc"} 86400',
      'callgate_list_max_age_seconds{list="us-dnc"} 2678400',
      ...statesOf('litigators', ['fresh']),
      ...statesOf('us-dnc', ['fresh']),
      ...statesOf('canada-dnc', ['missing']),
    ])
    running.clock.at += 31 * dayMs
    const later = await samples()
    expect(later).toContain('callgate_list_age_seconds{list="us-dnc"} 2764800')
    expect(later).toContain('callgate_list_state{list="us-dnc",state="stale"} 1')
    expect(later).toContain('callgate_list_state{list="us-dnc",state="fresh"} 0')
  })

  it('is no reason to hide that a file is damaged or gone', async () => {
    watchData(running.callgate)()
    await importAsOf('us-dnc', 40)
    await importAsOf('state-dnc-fl', 1)
    const file = (name: string) => join(getListsFolder(running.callgate.settings), `${name}.cglist`)
    const replaced = join(running.dataDir, 'damaged')
    writeFileSync(replaced, 'not a list')
    renameSync(replaced, file('us-dnc'))
    rmSync(file('state-dnc-fl'))
    await refreshData(running.callgate)
    const states = (await samples()).filter((line) => line.startsWith('callgate_list_state'))
    expect(states).toEqual([
      ...statesOf('us-dnc', ['stale', 'unusable']),
      ...statesOf('state-dnc-fl', ['unusable']),
      ...statesOf('canada-dnc', ['missing']),
      ...statesOf('litigators', ['missing']),
    ])
    const ready = await running.get('/readyz')
    expect(ready.status).toBe(503)
    expect(await ready.text()).toContain('; us-dnc has been too old since ')
  })
})
