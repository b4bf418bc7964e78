/** Which exceptions of the calling rules a relationship meets, to the day, and which records are one. */
import { readFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { parse } from 'yaml'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import type { CallRow } from '../../src/domain/compliance.js'
import { parseDay } from '../../src/domain/time/dates.js'
import { DataFileError } from '../../src/errors.js'
import { takeAttempt } from '../../src/gate/count-attempts.js'
import { judgeRow } from '../../src/judge/rules/permission.js'
import { CallingRules } from '../../src/law/calling-rules.js'
import { systemTimers } from '../../src/runtime/runtime.js'
import { useTempFolder } from '../data/temp-folder.js'
import { cleanRow } from '../support/fake-compliance.js'
import { aJudged } from '../support/own-facts.js'
import { instant } from '../support/test-clock.js'

const folder = useTempFolder()
const shipped = loadCallingRules('config/calling-rules.yaml')
const raw = parse(readFileSync('config/calling-rules.yaml', 'utf8'))
const day = (text: string) => parseDay(text) ?? Number.NaN

const find = (
  lifted: 'hours' | 'cap',
  type: 'S' | 'I' | 'P',
  contactOn: string,
  at: string,
  rules = shipped,
) =>
  rules.exceptions
    .find(lifted, { type, contactOn: day(contactOn) }, instant(at))
    .map(({ id }) => id)

describe('a sale lifts the cap of Oregon for 18 months', () => {
  test.each([
    ['2026-11-24', '2026-11-23T23:59:59Z', false],
    ['2026-11-24', '2026-11-24T00:00:00Z', true],
    // No local day is later than that of UTC plus 14 hours.
    ['2025-06-15', '2026-12-14T09:59:59Z', true],
    ['2025-06-15', '2026-12-14T10:00:00Z', false],
    // The row has begun everywhere.
    ['2025-12-01', '2026-01-01T11:59:59Z', false],
    ['2025-12-01', '2026-01-01T12:00:00Z', true],
  ])('one of %s at %s: %s', (contactOn, at, lifts) => {
    expect(find('cap', 'S', contactOn, at)).toEqual(lifts ? ['or-customer'] : [])
  })

  it('and of no other rule', () => {
    const { exceptions, document } = shipped
    const lifted = document.frequencyRules.filter(({ id }) =>
      exceptions.liftsCap({ region: 'OR' }, id),
    )
    expect(lifted.map(({ id }) => id)).toEqual(['or-24h'])
  })
})

test('records of other types lift what the row says', () => {
  const at = '2026-11-24T12:00:00Z'
  expect(find('hours', 'S', '2026-11-01', at)).toEqual(['or-customer'])
  expect(find('hours', 'P', '2001-11-01', at)).toEqual(['ut-consent'])
  expect(find('cap', 'P', '2026-11-01', at)).toEqual([])
  expect(find('hours', 'I', '2026-11-01', at)).toEqual([])
})

test('a row ends with its last day, before it has ended anywhere', () => {
  const [oregon] = shipped.document.exceptions
  if (!oregon) throw new Error('no exception')
  const rules = new CallingRules({
    ...shipped.document,
    exceptions: [{ ...oregon, until: day('2026-12-31') }],
  })
  expect(find('cap', 'S', '2026-11-01', '2026-12-31T09:59:59Z', rules)).toEqual(['or-customer'])
  expect(find('cap', 'S', '2026-11-01', '2026-12-31T10:00:00Z', rules)).toEqual([])
})

test.each([
  [{ by: ['S', 'P'], months: undefined }, 'exceptions.0.months: must be given for a sale'],
  [{ from: '2027-01-02', until: '2027-01-01' }, 'exceptions.0.until'],
  [{ lifts: ['list'] }, 'exceptions.0.lifts.0'],
  [{ lifts: [] }, 'exceptions.0.lifts'],
  [{ region: 'ZZ' }, "exceptions.0.region 'ZZ': must be a key of regions"],
])('a row with %j is refused', (change, message) => {
  const row = {
    id: 'x-1',
    region: 'OR',
    lifts: ['cap'],
    by: ['S'],
    months: 18,
    citation: 'x',
    confidence: 'secondary',
  }
  const text = JSON.stringify({ ...raw, exceptions: [{ ...row, ...change }] })
  const load = () => loadCallingRules(folder.write('rules.yaml', text))
  expect(load).toThrow(DataFileError)
  expect(load).toThrow(message)
})

describe('a record is a relationship', () => {
  const contactOn = day('2026-06-15')
  const judge = (row: Partial<CallRow>) =>
    judgeRow({ ...cleanRow, letter: 'R', contactOn, ...row }, aJudged()).relationship

  test.each([
    [{ ebrType: 'S' }, { type: 'S', contactOn }],
    [
      { ebrType: 'S', letter: 'E' },
      { type: 'S', contactOn },
    ],
    [
      { ebrType: 'P', letter: 'E' },
      { type: 'P', contactOn },
    ],
    [{ ebrType: 'S', optOut: 'ended' }, undefined],
    [{ ebrType: 'P', letter: 'E', optOut: 'not-lifted' }, undefined],
    [{ ebrType: 'P', letter: 'C' }, undefined],
    [{ ebrType: 'P', letter: 'E', consent: { kinds: ['ai'], evidence: 'none' } }, undefined],
    [{ ebrType: 'T' }, undefined],
    [{ ebrType: '' }, undefined],
    // A provider does not report the day.
    [{ ebrType: 'S', contactOn: undefined }, undefined],
  ] as const satisfies readonly (readonly [Partial<CallRow>, unknown])[])(
    '%j: %j',
    (row, expected) => {
      expect(judge(row)).toEqual(expected)
    },
  )
})

test('the counter is not told which limits an exception lifts', async () => {
  const sent: object[] = []
  const counter = {
    take: async (_: unknown, limits: object) => {
      sent.push(limits)
      return { isCounted: true, counts: [] }
    },
  } as never
  const limits = { key: undefined, frequency: [], isShadowed: false, lifted: [] }
  await takeAttempt(counter, { attempt: {} as never, limits }, { ms: 1_000, timers: systemTimers })
  expect(sent).toEqual([{ key: undefined, frequency: [], isShadowed: false }])
})
