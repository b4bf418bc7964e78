/** Replies to the four questions: what each row means, how long it holds, what is not understood. */
import { describe, expect, test } from 'vitest'
import {
  type Question,
  type ResultLetter,
  resultLetters,
} from '../../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../../src/domain/phone-number.js'
import type { Instant } from '../../../../src/domain/time/clock.js'
import { formatInstant } from '../../../../src/domain/time/dates.js'
import { describeSaid } from '../../../../src/domain/words/words.js'
import { internalDncQuestion } from '../../../../src/sources/remote/questions/internal-dnc-question.js'
import { legalTimeQuestion } from '../../../../src/sources/remote/questions/legal-time-question.js'
import { litigatorQuestion } from '../../../../src/sources/remote/questions/litigator-question.js'
import { scrubQuestion } from '../../../../src/sources/remote/questions/scrub-question.js'
import { instant } from '../../../support/test-clock.js'
import {
  internalWire,
  landline,
  legalWire,
  litigatorWire,
  noon,
  problem,
  replyOf,
  scrubWire,
  understood,
  type WireRow,
} from './wire-rows.js'

const number = '2125550100'
const question: Question = { accountId: 'main', number: toPhoneNumber(number) }

const readScrub = (row: unknown, { asked = {}, askedAt = noon } = {}) =>
  scrubQuestion.parseReply({ ...replyOf([row]), askedAt }, [{ ...question, ...asked }])[0]
const readInternal = (row: unknown) => internalDncQuestion.parseReply(replyOf([row]), [question])[0]
const readLitigator = (row: unknown) => litigatorQuestion.parseReply(replyOf([row]), [question])[0]
const readLegal = (row: unknown, asked: Partial<Question> = {}) =>
  legalTimeQuestion.parseReply(replyOf([row]), [{ ...question, ...asked }])[0]

const holds = (until: Instant | undefined) =>
  until === undefined ? 'for ever' : formatInstant(until)

describe('scrub', () => {
  const closed = '2026-11-24T02:00:00Z'
  const none = { IsCallAllowedNonATDS: '0', IsCallAllowedATDS: '0', IsCallAllowedAI: '0' }
  const blocks: WireRow = { ...landline, ...none, CallingWindow: '', DoNotCallToday: '' }
  /** The relationship, the class of line and the flags that go with a letter. */
  const byLetter: Readonly<Record<ResultLetter, WireRow>> = {
    C: landline,
    X: landline,
    R: { ...landline, EBRType: 'S' },
    E: { ...landline, EBRType: 'S' },
    O: { ...landline, EBRType: 'I' },
    W: { EBRType: '', IsCallAllowedATDS: '0', IsCallAllowedAI: '0' },
    Y: { EBRType: '', LineType: 'VoIP', IsCallAllowedATDS: '0', IsCallAllowedAI: '0' },
    G: {},
    H: {},
    L: blocks,
    F: blocks,
    V: blocks,
    D: blocks,
    P: blocks,
    B: blocks,
    I: blocks,
    M: blocks,
    S: blocks,
    T: blocks,
  }
  /** By hand, by machine, by an AI; and until when. */
  const expected: Readonly<Record<ResultLetter, readonly [flags: string, until: string]>> = {
    C: ['110', closed],
    X: ['110', closed],
    R: ['110', closed],
    E: ['110', closed],
    O: ['110', closed],
    W: ['100', closed],
    Y: ['100', closed],
    G: ['111', closed],
    H: ['111', closed],
    L: ['000', 'for ever'],
    F: ['000', 'for ever'],
    V: ['000', 'for ever'],
    D: ['000', 'for ever'],
    P: ['000', 'for ever'],
    B: ['000', 'for ever'],
    I: ['000', 'for ever'],
    M: ['000', 'for ever'],
    S: ['000', 'for ever'],
    T: ['000', 'for ever'],
  }
  test.each(resultLetters)('letter %s means what it permits, as long as it does', (letter) => {
    const row = scrubWire(number, { ...byLetter[letter], ResultCode: letter })
    const { value, holdsUntil } = understood(readScrub(row))
    const { manual, autodialed, ai } = value.allowed
    const flags = [manual, autodialed, ai].map(Number).join('')
    expect([value.letter, flags, holds(holdsUntil)]).toEqual([letter, ...expected[letter]])
  })

  test('a row in full', () => {
    expect(readScrub(scrubWire(number))).toEqual({
      value: {
        letter: 'G',
        reason: ';;;W',
        ebrType: 'P',
        doNotCallToday: false,
        allowed: { manual: true, autodialed: true, ai: true },
        says: [],
        opensAt: undefined,
      },
      holdsUntil: instant(closed),
    })
  })

  test('flags for calls by hand or machine prove nothing on a letter that permits none', () => {
    for (const letter of ['D', 'P', 'F', 'V', 'S'] as const) {
      const row = scrubWire(number, { ...landline, ResultCode: letter })
      const { value, holdsUntil } = understood(readScrub(row))
      expect(value.allowed).toEqual({ manual: false, autodialed: false, ai: false })
      expect(holdsUntil).toBeUndefined()
    }
  })

  describe('how long the flags hold', () => {
    const noFlags = { ...landline, ...none }
    test.each<[string, WireRow, string, string, string?]>([
      ['open: until the window closes', {}, '2026-11-23T17:00:30Z', closed],
      [
        'closed: until it opens',
        noFlags,
        '2026-11-23T12:00:00Z',
        '2026-11-23T13:00:00Z',
        '2026-11-23T13:00:00Z',
      ],
      [
        'closed for the day: until local midnight',
        noFlags,
        '2026-11-24T02:30:00Z',
        '2026-11-24T05:00:00Z',
      ],
      [
        'a restricted day: until an edge, and no opening is promised',
        { ...noFlags, DoNotCallToday: '1' },
        '2026-11-23T12:00:00Z',
        '2026-11-23T13:00:00Z',
      ],
      [
        'a restricted day inside the window',
        { ...noFlags, DoNotCallToday: '1' },
        '2026-11-23T17:00:30Z',
        closed,
      ],
      [
        'no flag inside the window, unexplained: a quarter of an hour',
        noFlags,
        '2026-11-23T13:00:02Z',
        '2026-11-23T13:15:00Z',
      ],
      [
        'the same shortly before the window closes',
        noFlags,
        '2026-11-24T01:59:50Z',
        '2026-11-24T02:00:00Z',
      ],
      [
        'flags outside the window, by a clock that is a little off: a minute',
        landline,
        '2026-11-24T02:00:01Z',
        '2026-11-24T02:01:00Z',
      ],
      [
        'no offset, as for places whose clocks differ: a minute',
        { UTCOffset: '' },
        '2026-11-23T17:00:30Z',
        '2026-11-23T17:01:00Z',
      ],
      [
        'the same without flags',
        { ...noFlags, UTCOffset: '' },
        '2026-11-23T12:00:00Z',
        '2026-11-23T12:01:00Z',
      ],
      [
        'an offset of no place on earth: a minute',
        { ...landline, UTCOffset: '-9999' },
        '2026-11-23T17:00:00Z',
        '2026-11-23T17:01:00Z',
      ],
      [
        'a window that cannot be read: a minute',
        { ...landline, CallingWindow: 'daytime' },
        '2026-11-23T17:00:00Z',
        '2026-11-23T17:01:00Z',
      ],
    ])('%s', (_case, more, at, until, opensAt) => {
      const read = readScrub(scrubWire(number, more), { askedAt: instant(at) })
      const { value, holdsUntil } = understood(read)
      expect(holds(holdsUntil)).toBe(until)
      const opening = value.opensAt === undefined ? undefined : formatInstant(value.opensAt)
      expect(opening).toBe(opensAt)
    })
  })

  const spelledOut = Object.keys(scrubWire(number))
  test.each(spelledOut)('without %s, the row is not understood', (field) => {
    const { [field]: _, ...rest } = scrubWire(number)
    expect(problem(readScrub(rest))).toMatch(new RegExp(`^${field} is missing: must be `))
  })
  test.each(spelledOut)('with a %s that is no text, the row is not understood', (field) => {
    for (const value of [null, 1, true, [], {}, ['1']]) {
      const read = readScrub(scrubWire(number, { [field]: value }))
      expect(problem(read), JSON.stringify(value)).toMatch(new RegExp(`^${field} is `))
    }
  })

  describe('a value that the specification does not know', () => {
    const letters = 'must be one of the letters C X E O R W Y G H L F V D P B I M S T'
    test.each<[WireRow, string]>([
      [{ ResultCode: 'Q' }, `ResultCode is 'Q': ${letters}`],
      [{ ResultCode: 'g' }, `ResultCode is 'g': ${letters}`],
      [{ ResultCode: '' }, `ResultCode is '': ${letters}`],
      [{ ResultCode: 'G ' }, `ResultCode is 'G ': ${letters}`],
      [{ ResultCode: 'CW' }, `ResultCode is 'CW': ${letters}`],
      [{ ResultCode: '__proto__' }, `ResultCode is a string of 9 characters: ${letters}`],
      [{ EBRType: 'X' }, "EBRType is 'X': must be S, I, P, T or empty"],
      [{ IsCallAllowedNonATDS: '' }, "IsCallAllowedNonATDS is '': must be 0 or 1"],
      [{ IsCallAllowedATDS: '2' }, "IsCallAllowedATDS is '2': must be 0 or 1"],
      [{ IsCallAllowedAI: 'Y' }, "IsCallAllowedAI is 'Y': must be 0 or 1"],
      [{ IsCallAllowedAI: 'true' }, 'IsCallAllowedAI is a string of 4 characters: must be 0 or 1'],
      [{ DoNotCallToday: '-' }, "DoNotCallToday is '-': must be 0, 1 or empty"],
      [{ DoNotCallToday: '' }, 'DoNotCallToday is empty: must be 0 or 1'],
      [{ IsWirelessOrVoIP: '' }, 'IsWirelessOrVoIP is empty: must be 0 or 1'],
      [{ UTCOffset: '-5h' }, "UTCOffset is '-5h': must be minutes or empty"],
      [{ UTCOffset: '-05:00' }, 'UTCOffset is a string of 6 characters: must be minutes or empty'],
      [{ Phone: '2125550101' }, 'the row in its position is for another number'],
      [{ Phone: '+12125550100' }, 'the row in its position is for another number'],
      [{ Phone: '' }, 'the row in its position is for another number'],
    ])('%j', (more, expectedProblem) => {
      const row = scrubWire(number, { ...landline, ...more })
      expect(problem(readScrub(row))).toBe(expectedProblem)
    })
  })

  describe('a row that contradicts itself', () => {
    const ai = 'IsCallAllowedAI is 1, but '
    test.each<[string, WireRow, string]>([
      [
        'AI without calls by hand',
        { IsCallAllowedNonATDS: '0' },
        `${ai}IsCallAllowedNonATDS or IsCallAllowedATDS is 0; it implies both`,
      ],
      [
        'AI without calls by machine',
        { IsCallAllowedATDS: '0' },
        `${ai}IsCallAllowedNonATDS or IsCallAllowedATDS is 0; it implies both`,
      ],
      ['AI by a sale', { EBRType: 'S' }, `${ai}EBRType is not P`],
      ['AI without a record', { EBRType: '' }, `${ai}EBRType is not P`],
      ['AI on a clean number', { ResultCode: 'C' }, `${ai}ResultCode is C, not E, O, G or H`],
      ['AI on a listed number', { ResultCode: 'D' }, `${ai}ResultCode is D, not E, O, G or H`],
      [
        'AI in a wireless-prohibited state',
        { ResultCode: 'F' },
        `${ai}ResultCode is F, not E, O, G or H`,
      ],
      ['AI on a restricted day', { DoNotCallToday: '1' }, `${ai}DoNotCallToday is not 0`],
      ['AI on an unknown day', { DoNotCallToday: '' }, `${ai}DoNotCallToday is not 0`],
      [
        'AI at ten at night',
        { UTCOffset: '300' },
        `${ai}the local time is not inside CallingWindow`,
      ],
      [
        'AI on a closed day',
        { CallingWindow: '0:00-0:00;9:00-12:00;9:00-12:00' },
        `${ai}the local time is not inside CallingWindow`,
      ],
      [
        'AI without a window',
        { CallingWindow: '' },
        `${ai}the local time is not inside CallingWindow`,
      ],
      [
        'current consent without a record',
        { EBRType: '', IsCallAllowedATDS: '0', IsCallAllowedAI: '0' },
        'ResultCode is G, consent is current, but EBRType is empty',
      ],
      [
        'an overridden list match without a record',
        { ...landline, ResultCode: 'O' },
        'ResultCode is O, consent is current, but EBRType is empty',
      ],
      [
        'a machine to a wireless number without permission',
        { ...landline, IsWirelessOrVoIP: '1' },
        'IsCallAllowedATDS is 1 on a wireless or VoIP number, but EBRType is not P',
      ],
      [
        'a machine to a wireless number by a sale',
        { EBRType: 'S', IsCallAllowedAI: '0' },
        'IsCallAllowedATDS is 1 on a wireless or VoIP number, but EBRType is not P',
      ],
    ])('%s is not understood', (_case, more, expectedProblem) => {
      expect(problem(readScrub(scrubWire(number, more)))).toBe(expectedProblem)
    })
  })

  describe('the postal code of the row', () => {
    test.each([
      ['', '', true],
      ['', '10001', true],
      ['10001', '10001', true],
      ['10001', '', true],
      ['10001-1234', '10001', true],
      ['10001', '100011234', true],
      ['K1A 0B1', 'k1a0b1', true],
      ['10001', '90001', false],
      ['K1A 0B1', 'K1A 0B2', false],
      ['10001', 'K1A', false],
    ])('asked %j, used %j: fits %s', (asked, used, fits) => {
      const more = { asked: { postalCode: asked } }
      const found = problem(readScrub(scrubWire(number, { PostalCode: used }), more))
      expect(found).toBe(fits ? undefined : 'PostalCode differs from the requested one')
    })
  })

  test('one bad row spoils no other', () => {
    const others = ['2125550101', '2125550102'].map((one) => toPhoneNumber(one))
    const rows = [
      scrubWire(number),
      scrubWire('2125550101', { ResultCode: 'Q' }),
      scrubWire('2125550102', landline),
    ]
    const questions = [question, ...others.map((one) => ({ ...question, number: one }))]
    const read = scrubQuestion.parseReply(replyOf(rows), questions)
    expect(read.map((one) => ('value' in one ? one.value.letter : '?'))).toEqual(['G', '?', 'C'])
  })

  test('a reason is one line of bounded length', () => {
    const Reason = `National\r\nX-Injected: 1${'x'.repeat(1000)}`
    const { reason } = understood(readScrub(scrubWire(number, { Reason }))).value
    expect(reason).toMatch(/^National X-Injected: 1x+$/)
    expect(reason.length).toBeLessThanOrEqual(200)
  })
})

describe('internal list', () => {
  const listed = { onList: true, addedOn: '2026-01-31', lastModifiedOn: '2026-02-01' }
  test.each<[string, WireRow, boolean, string | undefined]>([
    ['not on it', {}, false, undefined],
    ['on it', listed, true, '2026-01-31T00:00:00Z'],
    ['on it since nobody knows when', { onList: true }, true, undefined],
  ])('%s', (_case, more, onList, addedAt) => {
    const { value, holdsUntil } = understood(readInternal(internalWire(number, more)))
    const added = value.addedAt === undefined ? undefined : formatInstant(value.addedAt)
    expect([value.onList, added, holds(holdsUntil)]).toEqual([onList, addedAt, 'for ever'])
  })

  const dates = 'must be a day as YYYY-MM-DD, or null'
  const notNull = 'onList is false, but addedOn or lastModifiedOn is not null'
  test.each<[WireRow, string]>([
    [{ phone: undefined }, 'phone is missing: must be text'],
    [{ phone: 2_125_550_100 }, 'phone is a number of 10 characters: must be text'],
    [{ phone: '2125550101' }, 'the row in its position is for another number'],
    [{ onList: undefined }, 'onList is missing: must be true or false'],
    [{ onList: null }, 'onList is null: must be true or false'],
    [{ onList: 0 }, 'onList is 0: must be true or false'],
    [{ onList: 'false' }, 'onList is a string of 5 characters: must be true or false'],
    [{ addedOn: undefined }, `addedOn is missing: ${dates}`],
    [{ lastModifiedOn: undefined }, `lastModifiedOn is missing: ${dates}`],
    [{ addedOn: '' }, `addedOn is '': ${dates}`],
    [{ addedOn: '01/31/2026' }, `addedOn is a string of 10 characters: ${dates}`],
    [{ addedOn: '2026-02-30' }, `addedOn is a string of 10 characters: ${dates}`],
    [{ addedOn: '2026-01-31' }, notNull],
    [{ lastModifiedOn: '2026-01-31' }, notNull],
    [{ invalid: true }, 'invalid is true: the number is exactly 10 digits'],
    [{ ...listed, invalid: true }, 'invalid is true: the number is exactly 10 digits'],
    [{ invalid: 'yes' }, "invalid is 'yes': must be true or absent"],
  ])('%j is not understood', (more, expected) => {
    expect(problem(readInternal(internalWire(number, more)))).toBe(expected)
  })
})

describe('litigator', () => {
  test.each([true, false])('IsLitigator %s', (isLitigator) => {
    const row = litigatorWire(number, { IsLitigator: isLitigator })
    expect(readLitigator(row)).toEqual({ value: { isLitigator } })
  })

  test.each<WireRow>([
    { Phone: number },
    { Phone: undefined },
    { Phone: 2_125_550_101 },
    { IsLitigator: undefined },
    { IsLitigator: null },
    { IsLitigator: 'false' },
    { IsLitigator: 0 },
    { IsLitigator: '' },
  ])('%j is not understood', (more) => {
    expect(problem(readLitigator(litigatorWire(number, more)))).toBeDefined()
  })
})

describe('legal time', () => {
  const open = { restrictedDay: undefined, placeSource: undefined, message: null }
  const closedRow = { IsCallPermitted: false, SecondsInCallWindow: 0 }

  test('permitted, until the window closes', () => {
    expect(readLegal(legalWire(number))).toEqual({
      value: {
        ...open,
        status: 'OK',
        permitted: true,
        secondsLeft: 600,
        opensAt: noon,
        says: [{ code: 'permitted-by-provider', params: { seconds: 600 } }],
      },
      holdsUntil: noon + 600_000,
    })
  })

  test('permitted at a proposed instant, until the window closes then', () => {
    const at = instant('2027-03-01T15:07:00Z')
    const { value, holdsUntil } = understood(readLegal(legalWire(number), { at }))
    expect([value.opensAt, holdsUntil]).toEqual([at, at + 600_000])
  })

  test.each([
    ['now', undefined, '2026-11-23T17:15:00Z'],
    ['at a proposed instant', instant('2027-03-01T15:07:00Z'), '2027-03-01T15:15:00Z'],
  ])('not permitted %s, until the next full quarter', (_case, at, until) => {
    const row = legalWire(number, { ...closedRow, SecondsInCallWindow: -7 })
    const { value, holdsUntil } = understood(readLegal(row, { at }))
    expect(value).toEqual({
      ...open,
      status: 'OK',
      permitted: false,
      secondsLeft: 0,
      opensAt: undefined,
      says: [{ code: 'closed-by-provider' }],
    })
    expect(holds(holdsUntil)).toBe(until)
  })

  const refusals = ['INVALID_PHONE', 'INVALID_PROJECT', 'INVALID_DATE', 'TOLL_FREE', 'UNKNOWN_NXX']
  test.each(refusals)('%s is no permission, for ever, in the words of the provider', (Status) => {
    const said = { ...closedRow, Status, StatusMessage: `the ${Status} is\r\nso` }
    const { value, holdsUntil } = understood(readLegal(legalWire(number, said)))
    const message = `the ${Status} is so`
    expect(value).toEqual({
      status: Status,
      permitted: false,
      secondsLeft: 0,
      opensAt: undefined,
      restrictedDay: undefined,
      placeSource: undefined,
      message,
      says: [{ code: 'hours-status', params: { status: Status }, quote: message }],
    })
    expect(holds(holdsUntil)).toBe('for ever')
  })

  test.each([null, '', ' '])('a refusal with the message %j says its status', (StatusMessage) => {
    const row = legalWire(number, { ...closedRow, Status: 'TOLL_FREE', StatusMessage })
    const { says, message } = understood(readLegal(row)).value
    expect([describeSaid(says), message]).toEqual(['toll-free number', 'TOLL_FREE'])
  })

  const permitted = 'IsCallPermitted is true, but '
  const statuses =
    'must be one of OK, INVALID_PHONE, INVALID_PROJECT, INVALID_DATE, TOLL_FREE, UNKNOWN_NXX'
  test.each<[WireRow, string]>([
    [{ PhoneNumber: undefined }, 'PhoneNumber is missing: must be text'],
    [{ PhoneNumber: '2125550101' }, 'the row in its position is for another number'],
    [{ PhoneNumber: 2_125_550_100 }, 'PhoneNumber is a number of 10 characters: must be text'],
    [{ IsCallPermitted: undefined }, 'IsCallPermitted is missing: must be true or false'],
    [{ IsCallPermitted: 1 }, 'IsCallPermitted is 1: must be true or false'],
    [{ Status: undefined }, `Status is missing: ${statuses}`],
    [{ Status: 'ok' }, `Status is 'ok': ${statuses}`],
    [{ Status: 'MAYBE' }, `Status is a string of 5 characters: ${statuses}`],
    [{ StatusMessage: undefined }, 'StatusMessage is missing: must be text or null'],
    ...[undefined, null, '600', 1.5, 2 ** 31].map((SecondsInCallWindow): [WireRow, string] => [
      { SecondsInCallWindow },
      'SecondsInCallWindow is ',
    ]),
    [{ SecondsInCallWindow: 0 }, `${permitted}SecondsInCallWindow is 0: nothing is left`],
    [{ SecondsInCallWindow: -1 }, `${permitted}SecondsInCallWindow is -1: nothing is left`],
    [{ StatusMessage: 'zone guessed' }, `${permitted}StatusMessage is not null`],
    ...refusals.map((Status): [WireRow, string] => [
      { Status },
      `${permitted}Status is ${Status}, not OK`,
    ]),
  ])('%j is not understood', (more, expected) => {
    expect(problem(readLegal(legalWire(number, more)))).toContain(expected)
  })
})
