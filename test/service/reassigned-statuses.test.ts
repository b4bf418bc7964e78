/** How long an answer about a reassigned number is used, and which of several sources decides. */
import { describe, expect, it } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import type { ReassignedReport, ReassignedStatus } from '../../src/domain/lookups.js'
import { formatDay, formatInstant, parseDay } from '../../src/domain/time/dates.js'
import { findRelease as findReleaseByRules } from '../../src/law/reassigned-releases.js'
import {
  type ReassignedCoverage,
  ReassignedStatuses,
  type ReassignedStatusesOptions,
} from '../../src/service/lookups/reassigned-statuses.js'
import { n } from '../support/service-subjects.js'
import { instant, testClock } from '../support/test-clock.js'

const number = n('2127365001')
const since = parseDay('2026-03-01') ?? 0
const day = 86_400_000
const { reassignedReleases } = loadCallingRules('config/calling-rules.yaml').document
const findRelease = (at: number) => findReleaseByRules(reassignedReleases, at)

const unreachable = (quote: string) => ({
  result: 'unreachable',
  says: { code: 'reassigned-unreachable', quote },
})

type Said = Partial<ReassignedReport> | undefined | Error

function open(
  says: Readonly<Record<string, Said>>,
  more: Partial<Pick<ReassignedStatusesOptions, 'keepMs' | 'findRelease' | 'findRefusal'>> = {},
) {
  const clock = testClock('2026-11-20T12:00:00Z')
  const asked: string[] = []
  const failures: string[] = []
  const said = new Map(Object.entries(says))
  let coverage: ReassignedCoverage = 'numbers'
  const statuses = new ReassignedStatuses({
    sources: [...said.keys()].map((name) => ({
      name,
      agent: 'agent',
      source: {
        report: (_number, on) => {
          asked.push(name)
          const one = said.get(name)
          if (one instanceof Error) throw one
          const nothing = { national: null, own: null, hasSafeHarbor: false }
          const rest = { isDisconnected: false, since: on, askedAt: clock.now() }
          return one && { ...nothing, ...rest, ...one }
        },
      },
    })),
    onFailure: (what) => failures.push(what),
    findRelease: more.findRelease ?? findRelease,
    findCoverage: () => coverage,
    clock,
    timers: clock,
    maxEntries: 100,
    findRefusal: more.findRefusal,
    keepMs: more.keepMs ?? Number.POSITIVE_INFINITY,
  })
  return {
    clock,
    asked,
    said,
    failures,
    statuses,
    cover: (next: ReassignedCoverage) => {
      coverage = next
    },
    find: async (on: number | undefined = since, accountId = 'main') =>
      await statuses.find({ accountId, number, since: on }),
  }
}

const no = { national: false, hasSafeHarbor: true } as const
const yes = { national: true } as const

describe('the release that answers', () => {
  it.each([
    ['2026-11-14T00:00:00Z', '2026-10-15', '2026-11-17T00:00:00Z'],
    ['2026-11-16T23:59:59Z', '2026-10-15', '2026-11-17T00:00:00Z'],
    ['2026-11-17T00:00:00Z', '2026-11-15', '2026-12-17T00:00:00Z'],
    ['2026-12-31T12:00:00Z', '2026-12-15', '2027-01-17T00:00:00Z'],
    ['2027-01-01T00:00:00Z', '2026-12-15', '2027-01-17T00:00:00Z'],
  ])('at %s is that of %s, until %s', (at, on, until) => {
    const { on: release, replacedAt } = findRelease(instant(at))
    expect([release && formatDay(release), formatInstant(replacedAt)]).toEqual([on, until])
  })

  it('is never older than 31 days after it was asked', () => {
    for (
      let at = instant('2026-01-01T00:00:00Z');
      at < instant('2028-03-01T00:00:00Z');
      at += day
    ) {
      const ms = findRelease(at).replacedAt - at
      expect(ms > 0 && ms <= 31 * day, formatInstant(at)).toBe(true)
    }
  })
})

describe('the rows of releases', () => {
  const rules = [
    { dayOfMonth: 15, daysUntilInUse: 2, until: parseDay('2026-11-30') ?? 0 },
    {
      dayOfMonth: 1,
      daysUntilInUse: 0,
      from: parseDay('2026-12-01') ?? 0,
      until: parseDay('2027-01-31') ?? 0,
    },
  ]
  it.each([
    ['2026-11-30T23:59:59Z', '2026-11-15', '2026-12-01T00:00:00Z'],
    ['2026-12-01T00:00:00Z', '2026-12-01', '2027-01-01T00:00:00Z'],
    ['2027-01-31T00:00:00Z', '2027-01-01', '2027-02-01T00:00:00Z'],
    ['2027-02-01T00:00:00Z', undefined, '2027-02-01T00:00:00Z'],
  ])('at %s the data are of %s, until %s', (at, on, until) => {
    const found = findReleaseByRules(rules, instant(at))
    expect([found.on && formatDay(found.on), formatInstant(found.replacedAt)]).toEqual([on, until])
  })

  it('a no proves nothing if none is in force', async () => {
    const { find } = open({ acme: no }, { findRelease: (at) => findReleaseByRules([], at) })
    expect(await find()).toMatchObject({
      result: 'no-data',
      releasedOn: undefined,
      says: { code: 'no-release' },
    })
  })
})

describe('an answer is used', () => {
  it('no: until the next release is in use', async () => {
    const { clock, asked, find } = open({ acme: no })
    expect(await find()).toMatchObject({
      result: 'no',
      holdsUntil: instant('2026-12-17T00:00:00Z'),
    })
    clock.set('2026-12-16T23:59:59Z')
    await find()
    expect(asked).toHaveLength(1)
    clock.set('2026-12-17T00:00:00Z')
    await find()
    expect(asked).toHaveLength(2)
  })

  it('yes: for that day for ever', async () => {
    const { clock, asked, find } = open({ acme: yes })
    await find()
    clock.advance(4_000 * day)
    expect(await find()).toMatchObject({ result: 'yes' })
    expect(asked).toHaveLength(1)
    await find(since + 1)
    expect(asked).toHaveLength(2)
  })

  it('no data: for a day', async () => {
    const { clock, asked, find } = open({ acme: undefined })
    expect(await find()).toMatchObject({ result: 'no-data' })
    clock.advance(day - 1)
    await find()
    expect(asked).toHaveLength(1)
    clock.advance(1)
    await find()
    expect(asked).toHaveLength(2)
  })

  it('not at all if no source answered', async () => {
    const { asked, failures, find } = open({ acme: new Error('down') })
    expect(await find()).toMatchObject(unreachable('down'))
    await find()
    expect(asked).toHaveLength(2)
    expect(failures).toHaveLength(1)
  })

  it('until the files change, also one that is under way', async () => {
    const { statuses, said, find } = open({ acme: no })
    const early = statuses.find({ accountId: 'main', number, since })
    statuses.clear()
    said.set('acme', yes)
    expect(await early).toMatchObject({ result: 'no' })
    expect(await find()).toMatchObject({ result: 'yes' })
    said.set('acme', no)
    expect(await find()).toMatchObject({ result: 'yes' })
    statuses.clear()
    expect(await find()).toMatchObject({ result: 'no' })
  })

  it('at once when it is known', async () => {
    const { statuses, find } = open({ acme: no })
    await find()
    expect(statuses.find({ accountId: 'main', number, since })).not.toBeInstanceOf(Promise)
  })

  it('of the sandbox, for a minute', async () => {
    const { clock, asked, find } = open({ sandbox: no }, { keepMs: 60_000 })
    await find()
    clock.advance(60_001)
    await find()
    expect(asked).toHaveLength(2)
  })
})

describe('a no', () => {
  const old = { ...no, askedAt: instant('2026-11-16T00:00:00Z') }

  it('from before the newest release is none', async () => {
    const { find } = open({ files: old })
    const { result, says, releasedOn = 0 } = await find()
    expect(result).toBe('no-data')
    expect(formatDay(releasedOn)).toBe('2026-10-15')
    expect(says).toEqual({
      code: 'data-before-release',
      params: { asOf: '2026-11-16', release: '2026-11-15' },
    })
  })

  it('is one again when a source gives a newer one', async () => {
    const { find } = open({ files: old, acme: no })
    expect(await find()).toMatchObject({ result: 'no', source: 'acme' })
  })

  it('about a day before the national data begin is not theirs', async () => {
    const { find } = open({ acme: no, own: { own: false } })
    const early = parseDay('2021-01-26') ?? 0
    const found = await find(early)
    expect(found).toMatchObject({ result: 'no', source: 'own', report: { hasSafeHarbor: false } })
    const alone = open({ acme: no })
    expect((await alone.find(early)).result).toBe('no-data')
    expect((await alone.find(early + 1)).result).toBe('no')
  })

  it('with a safe harbor is preferred', async () => {
    const { find } = open({ own: { own: false }, acme: no })
    expect(await find()).toMatchObject({ source: 'acme', report: { hasSafeHarbor: true } })
  })
})

describe('of several sources', () => {
  it.each<[string, Readonly<Record<string, Said>>, ReassignedStatus['result']]>([
    ['a yes decides', { files: no, acme: yes }, 'yes'],
    ['a yes of the own data decides', { files: { ...no, own: true, hasSafeHarbor: false } }, 'yes'],
    [
      'a line out of service comes next',
      { files: { ...no, isDisconnected: true } },
      'disconnected',
    ],
    ['a no is enough', { files: no, acme: new Error('down') }, 'no'],
    [
      'a no of other data than the national is none while one is down',
      { files: { own: false }, acme: new Error('down') },
      'unreachable',
    ],
    ['a yes decides while one is down', { files: { own: true }, acme: new Error('down') }, 'yes'],
    [
      'one without data does not replace one that is down',
      { files: undefined, acme: new Error('down') },
      'unreachable',
    ],
  ])('%s', async (_what, says, result) => {
    expect(await open(says).find()).toMatchObject({ result })
  })
})

it('a source that failed is asked again at the next call, although a safe harbor permitted this one', async () => {
  const { asked, said, find } = open({ files: no, acme: new Error('down') })
  const release = instant('2026-12-17T00:00:00Z')
  expect(await find()).toMatchObject({ result: 'no', holdsUntil: release })
  said.set('acme', yes)
  expect(await find()).toMatchObject({ result: 'yes', source: 'acme' })
  expect(asked).toEqual(['files', 'acme', 'files', 'acme'])
})

it('a number of Canada without data is not covered, and one with data is', async () => {
  const ask = async (said: Said) => {
    const { statuses } = open({ acme: said })
    return await statuses.find({ accountId: 'main', number: n('4167365001'), since })
  }
  expect(await ask(undefined)).toMatchObject({ result: 'not-covered' })
  expect(await ask(new Error('down'))).toMatchObject({ result: 'unreachable' })
  expect(await ask({ own: true })).toMatchObject({ result: 'yes' })
  expect(await ask({ own: false })).toMatchObject({ result: 'no' })
})

describe('without a source', () => {
  it('nothing is asked', async () => {
    const { asked, cover, find } = open({ files: undefined })
    cover('none')
    expect(await find()).toMatchObject({ result: 'not-configured' })
    expect(await find(undefined)).toMatchObject({ result: 'not-configured' })
    expect(asked).toEqual([])
  })

  it('of reassigned numbers, one that knows lines is asked', async () => {
    const { cover, said, statuses, find } = open({ files: undefined })
    cover('lines')
    expect(await find()).toMatchObject({ result: 'not-configured' })
    said.set('files', { isDisconnected: true })
    statuses.clear()
    expect(await find()).toMatchObject({ result: 'disconnected' })
  })

  it('of reassigned numbers, one for lines that fails is not taken for none', async () => {
    const { cover, find } = open({ files: new Error('damaged') })
    cover('lines')
    expect(await find()).toMatchObject(unreachable('damaged'))
  })

  it('a day that is not known is not asked about', () => {
    const { asked, statuses } = open({ acme: no })
    expect(statuses.find({ accountId: 'main', number, since: undefined })).toMatchObject({
      result: 'not-asked',
    })
    expect(asked).toEqual([])
  })
})

describe('accounts', () => {
  it('are not answered from what was asked for another one', async () => {
    const { find, asked } = open({ acme: { national: false } })
    await find(since, 'main')
    await find(since, 'other')
    await find(since, 'other')
    expect(asked).toEqual(['acme', 'acme'])
  })

  it.each(['at once', 'later'])(
    'that may no longer ask use nothing that is cached (%s)',
    async (when) => {
      let refusal: string | undefined
      const findRefusal = () => (when === 'later' ? Promise.resolve(refusal) : refusal)
      const { find, asked, said } = open({ acme: { national: true } }, { findRefusal })
      expect(await find()).toMatchObject({ result: 'yes' })
      expect(await find()).toMatchObject({ result: 'yes' })
      expect(asked).toHaveLength(1)
      refusal = 'no right'
      said.set('acme', new Error(refusal))
      expect(await find()).toMatchObject(unreachable('no right'))
      refusal = undefined
      expect(await find()).toMatchObject({ result: 'yes' })
      expect(asked).toHaveLength(2)
    },
  )

  it('whose rights cannot be read use nothing that is cached', async () => {
    const failing = () => Promise.reject(new Error('the database is away'))
    const { find, said } = open({ acme: { national: true } }, { findRefusal: failing })
    said.set('acme', new Error('the database is away'))
    expect(await find()).toMatchObject(unreachable('the database is away'))
  })
})
