/**
 * Replies that something went wrong with on the way. Rows of many numbers are lost, doubled, moved,
 * cut off and filled with what no service may send; whatever is done to a reply, no number is
 * permitted more than by its own row, or as something of another number's row.
 */
import { describe, expect, test } from 'vitest'
import type {
  CallRow,
  InternalDncStatus,
  LegalTime,
  LitigatorStatus,
  Question,
} from '../../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../../src/domain/phone-number.js'
import { type BatchQuestion, ReplyError } from '../../../../src/sources/remote/batch-question.js'
import { internalDncQuestion } from '../../../../src/sources/remote/questions/internal-dnc-question.js'
import { legalTimeQuestion } from '../../../../src/sources/remote/questions/legal-time-question.js'
import { litigatorQuestion } from '../../../../src/sources/remote/questions/litigator-question.js'
import { scrubQuestion } from '../../../../src/sources/remote/questions/scrub-question.js'
import { shortOrLong } from '../../../support/long.js'
import {
  internalWire,
  landline,
  legalWire,
  litigatorWire,
  replyOf,
  scrubWire,
  type WireRow,
} from './wire-rows.js'

/** Reproducible chance: mulberry32. */
function chance(seed: number) {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  return { below: (limit: number) => Math.floor(next() * limit) }
}
type Chance = ReturnType<typeof chance>

const numbers = Array.from({ length: 12 }, (_, index) => String(2_125_550_100 + index))
const questions: readonly Question[] = numbers.map((number) => ({
  accountId: 'main',
  number: toPhoneNumber(number),
}))

interface Subject<Value> {
  readonly question: BatchQuestion<Question, Value>
  /** A genuine row of each number; some permit and some do not. */
  readonly rows: readonly WireRow[]
  /** The kinds of call that an answer permits. */
  readonly permits: (value: Value) => readonly string[]
}

const noFlags = { IsCallAllowedNonATDS: '0', IsCallAllowedATDS: '0', IsCallAllowedAI: '0' }
const scrubRows: readonly WireRow[] = [
  {},
  landline,
  { ...landline, ...noFlags, ResultCode: 'D', Reason: 'Litigator', DoNotCallToday: '' },
  { ...landline, ...noFlags, ResultCode: 'P' },
  { EBRType: '', ResultCode: 'W', IsCallAllowedATDS: '0', IsCallAllowedAI: '0' },
  { ...noFlags, DoNotCallToday: '1' },
]

const scrub: Subject<CallRow> = {
  question: scrubQuestion,
  rows: numbers.map((number, index) => scrubWire(number, scrubRows[index % scrubRows.length])),
  permits: ({ allowed }) => [
    ...(allowed.manual ? ['manual'] : []),
    ...(allowed.autodialed ? ['autodialed'] : []),
    ...(allowed.ai ? ['ai'] : []),
  ],
}
const internalDnc: Subject<InternalDncStatus> = {
  question: internalDncQuestion,
  rows: numbers.map((number, index) => {
    const listed = { onList: true, addedOn: '2026-01-31', lastModifiedOn: '2026-01-31' }
    return internalWire(number, index % 2 === 0 ? listed : {})
  }),
  permits: ({ onList }) => (onList ? [] : ['call']),
}
const litigator: Subject<LitigatorStatus> = {
  question: litigatorQuestion,
  rows: numbers.map((number, index) => litigatorWire(number, { IsLitigator: index % 2 === 0 })),
  permits: ({ isLitigator }) => (isLitigator ? [] : ['call']),
}
const shut = { IsCallPermitted: false, SecondsInCallWindow: 0 }
const legalTime: Subject<LegalTime> = {
  question: legalTimeQuestion,
  rows: numbers.map((number, index) => {
    const others = [shut, { ...shut, Status: 'UNKNOWN_NXX', StatusMessage: 'unknown' }]
    return legalWire(number, index % 3 === 0 ? {} : others[index % 2])
  }),
  permits: ({ permitted }) => (permitted ? ['call'] : []),
}

/** No field of any row may hold one of these; only a message may be null. */
const senseless: readonly unknown[] = [
  undefined,
  [],
  {},
  ['1'],
  'Z',
  'yes',
  '2',
  -1.5,
  { toString: 1 },
  'G\u0000',
]
const mayBeAnyText =
  /^(?:Reserved|Reason|RegionAbbrev|Country|Locale|CarrierInfo|NewReass|TZ|Line|EBRExp|Wireless|VoIP|PostalCode|CallingTime|StatusMessage)/

type Mutation = (rows: unknown[], random: Chance) => void

const swap: Mutation = (rows, random) => {
  const [one, other] = [random.below(rows.length), random.below(rows.length)]
  ;[rows[one], rows[other]] = [rows[other], rows[one]]
}
const mutations: Readonly<Record<string, Mutation>> = {
  swap,
  drop: (rows, random) => rows.splice(random.below(rows.length), 1),
  double: (rows, random) => {
    const at = random.below(rows.length)
    rows.splice(at, 0, rows[at])
  },
  overwrite: (rows, random) => {
    rows[random.below(rows.length)] = rows[random.below(rows.length)]
  },
  shift: (rows) => rows.push(rows.shift()),
  reverse: (rows) => rows.reverse(),
  wrap: (rows, random) => {
    const at = random.below(rows.length)
    rows[at] = { Response: [rows[at]] }
  },
  blank: (rows, random) => {
    rows[random.below(rows.length)] = [null, {}, [], '', 0, 'row'][random.below(6)]
  },
  deleteField: (rows, random) =>
    inField(rows, random, (row, field) => {
      delete row[field]
    }),
  spoilField: (rows, random) =>
    inField(rows, random, (row, field) => {
      if (!mayBeAnyText.test(field)) row[field] = senseless[random.below(senseless.length)]
    }),
}

function inField(
  rows: unknown[],
  random: Chance,
  change: (row: Record<string, unknown>, field: string) => void,
): void {
  const at = random.below(rows.length)
  const row = rows[at]
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return
  const changed: Record<string, unknown> = { ...row }
  const fields = Object.keys(changed)
  const field = fields[random.below(fields.length)]
  if (field !== undefined) change(changed, field)
  rows[at] = changed
}

function mutated(rows: readonly WireRow[], random: Chance): string {
  const changed: unknown[] = [...rows]
  const kinds = Object.values(mutations)
  for (let left = random.below(4); left > 0 && changed.length > 0; left--) {
    kinds[random.below(kinds.length)]?.(changed, random)
  }
  const wrapped = [changed, { Response: changed }, [{ Response: changed }]][random.below(3)]
  const text = JSON.stringify(wrapped)
  return random.below(5) === 0 ? text.slice(0, random.below(text.length + 1)) : text
}

/** What each number is permitted: kinds of call, or `undefined` when there is no answer. */
function permitted<Value>(
  { question, permits }: Subject<Value>,
  body: string,
): readonly (readonly string[] | undefined)[] {
  try {
    const read = question.parseReply(replyOf(body), questions)
    return read.map((one) => ('value' in one ? permits(one.value) : undefined))
  } catch (error) {
    if (error instanceof ReplyError) return questions.map(() => undefined)
    throw error
  }
}

describe.each([
  ['scrub', scrub as Subject<unknown>],
  ['internal list', internalDnc as Subject<unknown>],
  ['litigator', litigator as Subject<unknown>],
  ['legal time', legalTime as Subject<unknown>],
])('%s', (_name, subject) => {
  const genuine = permitted(subject, JSON.stringify(subject.rows))

  test('the genuine reply is understood, and permits some numbers and not others', () => {
    expect(genuine).not.toContain(undefined)
    expect(genuine.some((kinds) => kinds?.length === 0)).toBe(true)
    expect(genuine.some((kinds) => kinds !== undefined && kinds.length > 0)).toBe(true)
  })

  test('no spoiled reply permits a number more than its own row does', () => {
    const replies = shortOrLong(1_000, 3_000)
    let spoiled = 0
    for (let seed = 1; seed <= replies; seed++) {
      const body = mutated(subject.rows, chance(seed))
      const found = permitted(subject, body)
      expect(found).toHaveLength(numbers.length)
      if (found.includes(undefined)) spoiled++
      for (const [index, kinds = []] of found.entries()) {
        const more = kinds.filter((kind) => !genuine[index]?.includes(kind))
        expect(more, `seed ${seed}, number ${index}: ${body}`).toEqual([])
      }
    }
    expect(spoiled).toBeGreaterThan(replies / 3)
  })

  test('a reply cut off anywhere answers nothing', () => {
    const body = JSON.stringify(subject.rows)
    for (let length = 0; length < body.length; length++) {
      const found = permitted(subject, body.slice(0, length))
      if (found.some((kinds) => kinds !== undefined)) expect.fail(`answers after ${length} signs`)
    }
  })
})
