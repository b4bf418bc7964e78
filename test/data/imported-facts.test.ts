import { readFileSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { type FactFeedName, resolveFactFilePath } from '../../src/data/facts/fact-feeds.js'
import { type FactStore, openFactStore } from '../../src/data/facts/fact-store.js'
import { ImportedFacts } from '../../src/data/facts/imported-facts.js'
import { agingDays, evaluateReassignment } from '../../src/data/facts/reassigned-rule.js'
import type { ReassignedFlag } from '../../src/domain/lookups.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { labelIssuers } from '../../src/domain/spam-labels.js'
import { fixedClock } from '../../src/domain/time/clock.js'
import { turnsDuring } from '../support/event-loop-turns.js'
import { shortOrLong } from '../support/long.js'
import { at, day, factImports, now } from './facts-fixture.js'
import { ftcRows, ftcText } from './sample-feeds.js'
import { useTempFolder } from './temp-folder.js'

const folder = useTempFolder()
const imports = factImports(folder)
const one = toPhoneNumber('8505550123')
const two = toPhoneNumber('8505550124')

const opened: FactStore[] = []

afterEach(() => {
  for (const store of opened.splice(0)) store.close()
})

function facts(today = now): ImportedFacts {
  const store = openFactStore({ folder: imports.facts })
  opened.push(store)
  return new ImportedFacts(store, fixedClock(today))
}

describe('FeedFacts', () => {
  it('without a file knows nothing', async () => {
    const book = facts()
    expect(await book.identity(one)).toBeUndefined()
    expect(await book.lineStatus(one)).toBeUndefined()
    expect(await book.resOrBusiness(one)).toBeUndefined()
    expect(await book.reassigned([{ number: one, consentOn: day('2026-01-01') }])).toEqual([
      undefined,
    ])
    expect(await book.labels([one], labelIssuers)).toEqual(new Map())
    expect(await book.complaints([one])).toEqual(new Map())
  })

  it('knows what the files say of a number, and nothing of any other', async () => {
    await imports.text('current-carrier', `${one},W,ZZ01,Example Wireless,2026-11-18\n${two},N\n`)
    await imports.text('line-status', `${one},ERROR,,no route\n`)
    await imports.text('res-or-business', `${one},U\n`)
    const book = facts()
    const on = day('2026-11-18')
    expect(await book.identity(one)).toEqual({
      phoneType: 'W',
      ocn: 'ZZ01',
      telcoName: 'Example Wireless',
      on,
    })
    expect(await book.identity(two)).toEqual({
      phoneType: 'N',
      ocn: '',
      telcoName: '',
      on: undefined,
    })
    expect(await book.lineStatus(one)).toEqual({ status: 'ERROR', errorText: 'no route' })
    expect(await book.resOrBusiness(one)).toBe('U')
    expect(await book.lineStatus(two)).toBeUndefined()
    expect(await book.resOrBusiness(two)).toBeUndefined()
  })

  it('labels: what a source has not said is absent', async () => {
    await imports.text('spam-labels', `${one},CarrierA,flagged\n${one},AppA,clean\n`)
    const book = facts()
    expect(await book.labels([two, one], labelIssuers)).toEqual(
      new Map([[one, { CarrierA: true, AppA: false }]]),
    )
    expect(await book.labels([one], ['AppA', 'AppB'])).toEqual(new Map([[one, { AppA: false }]]))
    expect(await book.labels([one], ['CarrierD'])).toEqual(new Map())
    expect(await book.labels([], labelIssuers)).toEqual(new Map())
  })

  it('labels: a complete source calls every number clean that its file does not name', async () => {
    const text = `${one},CarrierA,flagged\n${one},CarrierB,flagged\n`
    await imports.text('spam-labels', text, { complete: ['CarrierA', 'AppB'] })
    const found = await facts().labels([one, two], ['CarrierA', 'CarrierB', 'AppB', 'AppA'])
    expect(found).toEqual(
      new Map([
        [one, { CarrierA: true, CarrierB: true, AppB: false }],
        [two, { CarrierA: false, AppB: false }],
      ]),
    )
  })

  it('complaints: newest first, in the form and with the names of the API', async () => {
    await imports.load('ftc-complaints', [imports.write('2026-11-18.csv', ftcText(ftcRows))])
    const found = await facts().complaints([one, two, toPhoneNumber('8505550125')])
    expect([...found.keys()]).toEqual([one, two])
    expect(found.get(one)?.map(({ createdDate }) => createdDate)).toEqual([
      '11/17/2026 09:30:00',
      '11/17/2026 00:04:31',
    ])
    expect(found.get(one)?.[1]).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      phone: one,
      createdDate: '11/17/2026 00:04:31',
      violationDate: '11/16/2026 19:07:00',
      city: 'Springfield',
      state: 'Illinois',
      areaCode: '217',
      subject: 'Reducing your debt (credit cards, mortgage, student loans)',
      recordedMessageOrRobocall: 'Y',
    })
  })

  it('answers many numbers in their order, and lets other work go on meanwhile', async () => {
    const numbers = Array.from({ length: 1000 }, (_, nth) =>
      toPhoneNumber(String(8_505_550_000 + nth)),
    )
    const rows = numbers.filter((_, nth) => nth % 3 === 0).map((number) => `${number},2026-05-01\n`)
    await imports.text('reassigned', rows.join(''))
    const consentOn = day('2026-06-01')
    const { turns, result } = await turnsDuring(() =>
      facts().reassigned(numbers.map((number) => ({ number, consentOn }))),
    )
    expect(result.map((answer) => answer?.national)).toEqual(
      numbers.map((_, nth) => (nth % 3 === 0 ? false : undefined)),
    )
    expect(turns).toBeGreaterThanOrEqual(100)
  })

  it('goes on when a new file comes in the middle of many numbers', async () => {
    await imports.text('spam-labels', `${one},AppA,clean\n`)
    const store = openFactStore({ folder: imports.facts })
    opened.push(store)
    const asking = new ImportedFacts(store, fixedClock(now)).labels(new Array(1000).fill(one), [
      'AppA',
    ])
    await imports.text('spam-labels', `${one},AppA,flagged\n`)
    store.refresh()
    expect((await asking).get(one)).toBeDefined()
  })
})

describe('a reassigned number', () => {
  const national = {
    disconnects: `${one},2026-05-01\n`,
    no: `${one},2026-05-02,no\n`,
    none: `${two},2026-05-01\n`,
  }
  const carrier = {
    later: `${one},2026-07-01\n`,
    earlier: `${one},2026-01-01\n`,
    none: `${two},2026-01-01\n`,
  }
  const cases: readonly (readonly [
    keyof typeof national,
    keyof typeof carrier,
    object | undefined,
  ])[] = [
    ['disconnects', 'later', { national: false, own: true, hasSafeHarbor: false }],
    ['disconnects', 'earlier', { national: false, own: false, hasSafeHarbor: false }],
    ['disconnects', 'none', { national: false, own: null, hasSafeHarbor: false }],
    ['no', 'earlier', { national: false, own: false, hasSafeHarbor: true }],
    ['none', 'later', { national: null, own: true, hasSafeHarbor: false }],
    ['none', 'earlier', { national: null, own: false, hasSafeHarbor: false }],
    ['none', 'none', undefined],
  ]
  it.each(cases)('national: %s, own: %s', async (ofNation, ofCarrier, answer) => {
    await imports.text('reassigned', national[ofNation])
    await imports.text('carrier-reassigned', carrier[ofCarrier])
    expect(await facts().reassigned([{ number: one, consentOn: day('2026-06-01') }])).toEqual([
      answer,
    ])
  })

  it('is told not to be one only as long as the data can know', async () => {
    await imports.text('reassigned', `${one},2026-05-01\n`, { asOf: at('2026-10-01') })
    const ask = async (today: string, consent: string) =>
      (await facts(at(today)).reassigned([{ number: one, consentOn: day(consent) }]))[0]?.national
    expect(await ask('2026-11-15T23:59:59Z', '2026-06-01')).toBe(false)
    expect(await ask('2026-11-16T00:00:00Z', '2026-06-01')).toBeUndefined()
    expect(await ask('2030-01-01', '2026-05-01')).toBe(true)
  })

  type Said = 'disconnected' | 'yes' | 'no'
  const table: readonly (readonly [
    readonly (readonly [Said, number])[],
    number,
    ReassignedFlag,
  ])[] = [
    [[], 100, null],
    [[['disconnected', 100]], 99, true],
    [[['disconnected', 100]], 100, true],
    [[['disconnected', 100]], 101, false],
    [[['yes', 100]], 100, true],
    [[['yes', 100]], 99, true],
    // It was disconnected on or after 100: perhaps before 101, perhaps not.
    [[['yes', 100]], 101, null],
    [[['no', 100]], 99, null],
    [[['no', 100]], 100, false],
    [[['no', 100]], 101, false],
    [
      [
        ['yes', 100],
        ['no', 110],
      ],
      105,
      null,
    ],
    [
      [
        ['yes', 100],
        ['no', 110],
      ],
      110,
      false,
    ],
    // The yes outdates the no, which was given before the disconnect.
    [
      [
        ['no', 90],
        ['yes', 100],
      ],
      105,
      null,
    ],
    [
      [
        ['no', 100],
        ['yes', 100],
      ],
      101,
      null,
    ],
    // The list is older than the yes, which tells of another disconnect.
    [
      [
        ['disconnected', 90],
        ['yes', 100],
      ],
      105,
      null,
    ],
    [
      [
        ['disconnected', 90],
        ['yes', 100],
        ['no', 104],
      ],
      105,
      false,
    ],
    // The disconnect of the list is the one that the yes tells of.
    [
      [
        ['disconnected', 100],
        ['yes', 90],
      ],
      105,
      false,
    ],
    [
      [
        ['disconnected', 100],
        ['no', 90],
      ],
      95,
      true,
    ],
    [
      [
        ['disconnected', 100],
        ['no', 90],
      ],
      101,
      false,
    ],
    [
      [
        ['disconnected', 100],
        ['no', 120],
      ],
      110,
      false,
    ],
  ]
  it.each(table)('%j, consent on %i: %s', (said, consentOn, answer) => {
    const all = said.map(([what, on]) => ({ said: what, day: on, asOn: 200 }))
    const ask = (today: number) => evaluateReassignment({ facts: all, consentOn, today }).reassigned
    expect(ask(200 + agingDays)).toBe(answer)
    expect(ask(201 + agingDays)).toBe(answer === true ? true : null)
  })

  it('has each fact end by its own day, and none outlive a newer one against it', () => {
    const no = { said: 'no', day: 100, asOn: 150 } as const
    const other = { said: 'no', day: 140, asOn: 190 } as const
    const ask = (facts: Parameters<typeof evaluateReassignment>[0]['facts'], today: number) =>
      evaluateReassignment({ facts, consentOn: 120, today })
    expect(ask([no, other], 195)).toEqual({ reassigned: false, denied: true, asOn: 150 })
    expect(ask([no, other], 196)).toEqual({ reassigned: null, denied: false })
    const newer = { ...no, asOn: 170 }
    expect(ask([no, newer], 195)).toMatchObject({ asOn: 170 })
    const late = { said: 'yes', day: 120, asOn: 180 } as const
    expect(ask([no, late], 999)).toEqual({ reassigned: true, denied: false, asOn: 180 })
    const yes = { said: 'yes', day: 90, asOn: 160 } as const
    expect(ask([no, yes], 170)).toEqual({ reassigned: null, denied: false })
    const listed = { said: 'disconnected', day: 110, asOn: 150 } as const
    expect(ask([listed], 195)).toEqual({ reassigned: false, denied: false, asOn: 150 })
    expect(ask([listed, other], 196)).toEqual({ reassigned: null, denied: false })
  })

  it.each([
    ['reassigned', null, false],
    ['carrier-reassigned', false, null],
  ] as const)(
    '%s that is damaged is silent alone, and gives no harbour',
    async (feed, national, own) => {
      const rows = Array.from(
        { length: 3000 },
        (_, nth) => `${8_505_560_000 + nth},2026-05-02,no\n`,
      )
      const text = `${one},2026-05-02,no\n${rows.join('')}`
      await imports.text('reassigned', text)
      await imports.text('carrier-reassigned', text)
      const path = resolveFactFilePath(imports.facts, feed)
      const bytes = readFileSync(path)
      const ask = async () =>
        (await facts().reassigned([{ number: one, consentOn: day('2026-06-01') }]))[0]
      expect(await ask()).toEqual({ national: false, own: false, hasSafeHarbor: true })
      for (const damage of [bytes.subarray(0, 5000), pagesSpoilt(bytes)]) {
        writeFileSync(path, damage)
        expect(await ask()).toEqual({ national, own, hasSafeHarbor: false })
        expect(opened.at(-1)?.problems()).toMatchObject([{ feed }])
      }
    },
  )

  it('never contradicts what really happened, whatever was asked and when', () => {
    const days = fc.integer({ min: 0, max: 90 })
    const asked = fc.array(fc.record({ on: days, for: days }), { maxLength: 6 })
    fc.assert(
      fc.property(
        fc.uniqueArray(days, { maxLength: 4 }),
        asked,
        fc.option(days),
        days,
        (really, questions, listedOn, consentOn) => {
          // Each question was put at one time and answered by what had happened by then.
          const answers = questions.map((question) => ({
            said: really.some((on) => on >= question.for && on <= question.on)
              ? ('yes' as const)
              : ('no' as const),
            day: question.for,
            asOn: question.on,
          }))
          // A list holds what had happened by its day.
          const known = listedOn === null ? [] : really.filter((on) => on <= listedOn)
          const disconnects = known.map((on) => {
            return { said: 'disconnected' as const, day: on, asOn: listedOn ?? 0 }
          })
          const today = 90
          const answer = evaluateReassignment({
            facts: [...answers, ...disconnects],
            consentOn,
            today,
          }).reassigned
          const truth = really.filter((on) => on >= consentOn)
          if (answer === true) expect(truth).not.toEqual([])
          // What was disconnected later has no new holder yet.
          if (answer === false) {
            expect(truth.filter((on) => on <= today - agingDays)).toEqual([])
          }
        },
      ),
      { numRuns: shortOrLong(1_000, 5_000) },
    )
  })
})

describe('a report for calls', () => {
  const filler = Array.from({ length: 3000 }, (_, nth) => 8_505_560_000 + nth)
  const since = day('2026-06-01')
  const rowsOf = (ofOne: string, ofOthers: string) =>
    [`${one},${ofOne}`, ...filler.map((number) => `${number},${ofOthers}`), ''].join('\n')
  const load = async (said: { national: string; own: string; line: string }) => {
    await imports.text('reassigned', rowsOf(`2026-05-02,${said.national}`, '2026-05-02,no'))
    await imports.text('carrier-reassigned', rowsOf(`2026-05-02,${said.own}`, '2026-05-02,no'))
    await imports.text('line-status', rowsOf(said.line, 'connected'))
  }
  /** With a file that cannot be opened, and with one whose pages cannot be read. */
  const damaged = (feed: FactFeedName): readonly ImportedFacts[] => {
    const path = resolveFactFilePath(imports.facts, feed)
    const bytes = readFileSync(path)
    return [bytes.subarray(0, 5000), pagesSpoilt(bytes)].map((damage) => {
      writeFileSync(path, damage)
      return facts()
    })
  }

  it.each(['reassigned', 'carrier-reassigned', 'line-status'] as const)(
    'fails while %s is damaged, whatever the other files deny',
    async (feed) => {
      await load({ national: 'no', own: 'no', line: 'connected' })
      expect(facts().report(one, since)).toMatchObject({ national: false, hasSafeHarbor: true })
      const path = resolveFactFilePath(imports.facts, feed)
      for (const book of damaged(feed)) expect(() => book.report(one, since)).toThrow(path)
    },
  )

  it.each([
    ['reassigned', { own: 'yes' }, { own: true, isDisconnected: false }],
    ['carrier-reassigned', { national: 'yes' }, { national: true, isDisconnected: false }],
    ['line-status', { national: 'yes' }, { national: true, isDisconnected: false }],
    ['reassigned', { line: 'disconnected' }, { national: null, isDisconnected: true }],
  ] as const)('while %s is damaged has what forbids the call: %j', async (feed, said, report) => {
    await load({ national: 'no', own: 'no', line: 'connected', ...said })
    for (const book of damaged(feed)) {
      expect(book.report(one, day('2026-05-02'))).toMatchObject(report)
    }
  })
})

/** All but the first page, which opening reads; the length stays. */
function pagesSpoilt(bytes: Buffer): Buffer {
  const spoilt = Buffer.from(bytes)
  const pageSize = bytes.readUInt16BE(16)
  // The pages of small tables come first; the facts' own root is the second.
  spoilt.fill(0xff, pageSize, 2 * pageSize)
  return spoilt
}
