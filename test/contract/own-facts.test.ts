/** What is read here of a real account, over a database, and what the rules say by it. */
import { describe, expect, it } from 'vitest'
import type { Question } from '../../src/domain/compliance.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { systemTimers } from '../../src/runtime/runtime.js'
import { OwnFactsSource } from '../../src/sources/own/own-facts.js'
import { cleanLists, fakeLists } from '../support/scrub-parts.js'
import { caller } from '../support/service-subjects.js'
import { instant } from '../support/test-clock.js'
import { ny, openOwnFacts, withOwnFacts } from './own-facts-database.js'

function about(number = ny, more: Partial<Question> = {}): Question {
  return { accountId: 'main', number: toPhoneNumber(number), ...more }
}

const loaded = { lists: fakeLists(cleanLists) }

describe('a real account', () => {
  it('without lists gets B and nothing of litigators, each naming its import', async () => {
    await withOwnFacts({}, async ({ judge, errors }) => {
      const { row, permission, litigator } = await judge(about())
      expect(row?.row.letter).toBe('B')
      expect(row?.row.says).toMatchObject([
        { code: 'list-not-covering', params: { load: 'callgate import us-dnc' } },
      ])
      expect(permission).toMatchObject({ verdict: 'deny', reason: 'list-not-covering' })
      expect(litigator).toMatchObject({
        verdict: 'unknown',
        reason: 'list-missing',
        says: [{ code: 'list-not-covering', params: { load: 'callgate import litigators' } }],
      })
      expect(errors).toEqual([])
    })
  })

  it('never sees the fixed facts of the sandbox', async () => {
    await withOwnFacts(loaded, async ({ judge, isOnInternalList }) => {
      for (const line of ['0104', '0111', '0112']) {
        expect(await isOnInternalList(about(`212555${line}`))).toBe(false)
      }
      const { litigator } = await judge(about('2125550105'))
      expect(litigator).toMatchObject({ verdict: 'pass' })
    })
  })

  it('has what it wrote in the very next answer', async () => {
    await withOwnFacts(loaded, async (open) => {
      const { internalDnc, ebrRecords, rowOf, isOnInternalList, judge } = open
      const letter = async () => {
        const { row } = await rowOf(about())
        return `${row.letter}${row.ebrType}`
      }
      const known = async () => {
        const { reason } = (await judge(about())).internalDnc
        return [await letter(), await isOnInternalList(about()), reason]
      }
      expect(await known()).toEqual(['C', false, 'permitted'])
      await internalDnc.add(caller(), { numbers: [ny], ignoreInvalid: false })
      expect(await known()).toEqual(['P', true, 'internal-dnc'])
      const permission = { phoneNumber: ny, type: 'P', dateOfLastContact: '11/23/2026' }
      await ebrRecords.record(caller(), { keepBetterEbr: false, records: [permission] })
      // The entry and the permission are of one day: the entry wins.
      expect(await known()).toEqual(['PP', true, 'consent-revoked'])
      await internalDnc.remove(caller(), { numbers: [ny] })
      expect(await known()).toEqual(['EP', false, 'permitted'])
    })
  })

  it('may be another: neither list nor record of one is seen by the other', async () => {
    await withOwnFacts(loaded, async ({ rowOf, isOnInternalList, internalDnc }) => {
      await internalDnc.add(caller('other'), { numbers: [ny], ignoreInvalid: false })
      expect(await isOnInternalList(about())).toBe(false)
      expect((await rowOf(about())).row.letter).toBe('C')
    })
  })
})

describe('writes of the sandbox account', () => {
  it('work on top of its fixed facts', async () => {
    await withOwnFacts({}, async ({ rowOf, internalDnc, ebrRecords }) => {
      const sandbox = caller('sandbox')
      const letter = async (number: string) =>
        (await rowOf(about(number, { accountId: 'sandbox' }))).row.letter
      await internalDnc.add(sandbox, { numbers: ['2125550106'], ignoreInvalid: false })
      expect(await letter('2125550106')).toBe('P')
      await internalDnc.remove(sandbox, { numbers: ['2125550104'] })
      expect(await letter('2125550104')).toBe('C')
      const permission = { phoneNumber: '2125550111', type: 'P', dateOfLastContact: '11/22/2026' }
      await ebrRecords.record(sandbox, { keepBetterEbr: false, records: [permission] })
      expect(await letter('2125550111')).toBe('O')
    })
  })
})

describe('what-ifs', () => {
  it.each([
    { at: '2026-11-24T03:00:00Z', manual: false },
    { at: '2026-11-24T13:00:00Z', manual: true },
  ])('are judged at their instant: $at', async ({ at, manual }) => {
    await withOwnFacts(loaded, async ({ judge }) => {
      const { row, legalTime } = await judge(about(ny, { at: instant(at) }))
      expect(row?.row.allowed.manual).toBe(manual)
      expect(legalTime.verdict).toBe(manual ? 'pass' : 'deny')
    })
  })

  it('in the future do not make a fixed sandbox permission newer than a real opt-out', async () => {
    await withOwnFacts({}, async ({ rowOf, internalDnc }) => {
      const number = '2125550106'
      await internalDnc.add(caller('sandbox'), { numbers: [number], ignoreInvalid: false })
      const at = instant('2028-11-21T17:00:00Z')
      const { row } = await rowOf(about(number, { accountId: 'sandbox', at }))
      expect(row.letter).toBe('P')
    })
  })
})

describe('calling hours', () => {
  it('say when they open and by which rule', async () => {
    await withOwnFacts(loaded, async ({ judge }) => {
      const at = instant('2026-11-24T03:00:00Z')
      const { legalTime } = await judge(about(ny, { at }))
      expect(legalTime).toMatchObject({
        opensAt: instant('2026-11-24T13:00:00Z'),
        says: expect.arrayContaining([
          { code: 'local-day', params: expect.objectContaining({ region: 'NY' }) },
          { code: 'hours-open', params: { from: '08:00', to: '21:00' } },
          { code: 'law-of-hours', params: { basis: 'state', citation: expect.any(String) } },
        ]),
      })
    })
  })

  it.each([
    { projectMayWiden: true, verdict: 'pass' },
    { projectMayWiden: false, verdict: 'deny' },
  ])(
    'of a project at night, projectMayWiden $projectMayWiden: $verdict',
    async ({ projectMayWiden, verdict }) => {
      await withOwnFacts(loaded, async ({ judge, projects }) => {
        await projects.create({ accountId: 'main', code: 'NIGHT', name: 'Night' })
        const hours = { monFri: '00:00-24:00', sat: 'none', sun: 'none' }
        await projects.setHours({ accountId: 'main', code: 'NIGHT' }, 'NY', hours)
        const at = instant('2026-11-24T08:00:00Z')
        const question = about(ny, { projectId: 'NIGHT', at })
        const { legalTime } = await judge(question, { settings: { projectMayWiden } })
        expect(legalTime).toMatchObject({ verdict })
      })
    },
  )

  it.each([
    { callKind: 'manual', recordedVoiceWindows: true, verdict: 'pass' },
    { callKind: 'autodialed', recordedVoiceWindows: true, verdict: 'deny' },
    { callKind: 'ai', recordedVoiceWindows: true, verdict: 'deny' },
    { callKind: 'ai', recordedVoiceWindows: false, verdict: 'pass' },
  ] as const)(
    'in Indiana at 8.30, $callKind, recordedVoiceWindows $recordedVoiceWindows: $verdict',
    async ({ callKind, recordedVoiceWindows, verdict }) => {
      await withOwnFacts(loaded, async ({ judge }) => {
        const question = about('3177361000', { at: instant('2026-11-23T13:30:00Z') })
        const { legalTime } = await judge(question, {
          callKind,
          settings: { recordedVoiceWindows },
        })
        expect(legalTime).toMatchObject({ verdict })
      })
    },
  )

  const strictest = (manual: boolean) => ({
    settings: { strictestPlace: { manual, autodialed: true, ai: true } },
  })

  it.each([
    { isStrictest: false, verdict: 'pass' },
    { isStrictest: true, verdict: 'deny' },
  ])(
    'of a postal code farther west at night, strictest $isStrictest: $verdict',
    async ({ isStrictest, verdict }) => {
      await withOwnFacts(loaded, async ({ judge }) => {
        const at = instant('2026-11-24T03:30:00Z')
        const question = about(ny, { at, postalCode: '90001' })
        const { legalTime } = await judge(question, strictest(isStrictest))
        expect(legalTime).toMatchObject({ verdict })
      })
    },
  )

  it('of a postal code of the armed forces leave the strictest place unanswered', async () => {
    await withOwnFacts(loaded, async ({ judge, errors }) => {
      const question = about(ny, { at: instant('2026-11-23T17:00:00Z'), postalCode: '09001' })
      const { legalTime: unknown } = await judge(question, strictest(true))
      expect(unknown).toMatchObject({ verdict: 'unknown', isRequestError: true })
      const { legalTime } = await judge(question, strictest(false))
      expect(legalTime).toMatchObject({
        verdict: 'pass',
        says: expect.arrayContaining([
          { code: 'place-by', params: { source: 'area-code' } },
          { code: 'postal-code-unplaced' },
        ]),
      })
      expect(errors).toEqual([])
    })
  })
})

it('facts that were read once are known at once', async () => {
  await withOwnFacts(loaded, async ({ readerOf }) => {
    const source = new OwnFactsSource({
      reader: readerOf('main'),
      settings: { maxEntries: 10, allowMs: 60_000, blockMs: 60_000 },
      timers: systemTimers,
      observer: { countLookup: () => undefined, onRead: () => undefined },
    })
    const first = await source.find(about(), 10_000).later
    expect(first?.facts).toMatchObject({ litigator: { value: { status: 'clear' } } })
    const { facts, later } = source.find(about(), 10_000)
    expect(facts).toBe(first?.facts)
    expect(later).toBeUndefined()
  })
})

describe('failures', () => {
  it('become unknown facts and are reported', async () => {
    const open = await openOwnFacts(loaded)
    await open.close()
    const { judge, errors } = open
    const { litigator, internalDnc, legalTime, permission, row } = await judge(about())
    for (const finding of [litigator, internalDnc, legalTime, permission]) {
      expect(finding).toMatchObject({
        verdict: 'unknown',
        reason: 'check-unanswered',
        says: [{ code: 'source-failed', quote: expect.stringMatching(/\S/) }],
      })
    }
    expect(row).toBeUndefined()
    expect(errors).toHaveLength(1)
  })

  it('an exception thrown at once is one of them', async () => {
    const covers = () => {
      throw new Error('the list cannot be read')
    }
    const says = [{ code: 'source-failed', quote: 'the list cannot be read' }]
    for (const name of ['litigators', 'us-dnc']) {
      const lists = fakeLists(cleanLists)
      const all = () => lists.all().map((one) => (one.name === name ? { ...one, covers } : one))
      await withOwnFacts({ lists: { ...lists, all } }, async ({ judge, errors }) => {
        const { litigator, permission } = await judge(about())
        expect(name === 'litigators' ? litigator : permission).toMatchObject({
          verdict: 'unknown',
          says,
        })
        expect(errors).toContain('Error: the list cannot be read')
      })
    }
  })

  it('an unknown project is the question’s fault and not reported', async () => {
    await withOwnFacts(loaded, async ({ judge, errors }) => {
      const { permission } = await judge(about(ny, { projectId: 'NOPE' }))
      expect(permission).toMatchObject({
        verdict: 'unknown',
        isRequestError: true,
        says: [{ code: 'bad-question', quote: expect.stringContaining("projectId 'NOPE'") }],
      })
      expect(errors).toEqual([])
    })
  })
})
