import { describe, expect, it } from 'vitest'
import type { EbrType } from '../../src/domain/compliance.js'
import { parseDay } from '../../src/domain/time/dates.js'
import type { EbrRecord } from '../../src/law/records/ebr-record.js'
import { evaluateRelationship } from '../../src/law/records/relationship.js'
import { candidate } from '../support/fake-numbering.js'
import { testLaw } from '../support/service-subjects.js'
import { instant } from '../support/test-clock.js'

const newYork = ['NY America/New_York']
const guam = ['GU Pacific/Guam']

interface Told {
  readonly type?: EbrType
  readonly on?: string
  readonly at?: string
  readonly obligation?: string
  readonly recorded?: string
  readonly added?: string
  readonly removed?: string
  /** A further opt-out while the number was on the list. */
  readonly again?: string
  /** The opt-out was imported: dates alone count. */
  readonly byDate?: boolean
  readonly liftsOptOut?: boolean
  readonly places?: readonly string[]
  readonly now?: string
}

function judge(told: Told) {
  const { places = newYork, now = '2026-11-23T17:00:00Z' } = told
  const record: EbrRecord | undefined = told.type && {
    type: told.type,
    contactOn: day(told.on ?? '2026-09-01'),
    contactAt: told.at === undefined ? undefined : instant(told.at),
    obligationEndsOn: told.obligation === undefined ? undefined : day(told.obligation),
    storedSeq: instant(told.recorded ?? '2026-11-01'),
    liftsOptOut: told.liftsOptOut ?? true,
  }
  const { added, removed, again = added, byDate = false } = told
  const removedAt = removed === undefined ? null : instant(removed)
  const optedOutAt = instant(again ?? '2026-10-01')
  const entry =
    added === undefined
      ? undefined
      : { addedAt: instant(added), removedAt, optedOutAt, optedOutSeq: byDate ? 0 : optedOutAt }
  const found = evaluateRelationship({
    entry,
    record,
    places: places.map(candidate),
    at: instant(now),
    law: testLaw,
  })
  return `${found.internalList} ${found.relationship} ${found.ebrType}`.trim()
}

function day(text: string): number {
  const found = parseDay(text)
  if (found === undefined) throw new TypeError(text)
  return found
}

describe('which came last, permission or list entry', () => {
  const cases: readonly (Told & { readonly is: string; readonly because: string })[] = [
    { because: 'nothing on file', is: 'absent none' },
    { because: 'entry alone', added: '2026-10-01T10:00:00Z', is: 'listed none' },
    { because: 'permission alone', type: 'P', is: 'absent current P' },
    {
      because: 'permission after the entry',
      type: 'P',
      on: '2026-10-02',
      added: '2026-10-01T10:00:00Z',
      is: 'overridden current P',
    },
    {
      because: 'permission before the entry',
      type: 'P',
      on: '2026-09-30',
      added: '2026-10-01T10:00:00Z',
      is: 'listed expired P',
    },
    {
      because: 'both on one UTC day: the entry wins',
      type: 'P',
      on: '2026-10-01',
      added: '2026-10-01T00:00:00Z',
      is: 'listed expired P',
    },
    {
      because: 'the entry is of the evening before in UTC, west of it',
      type: 'P',
      on: '2026-10-02',
      added: '2026-10-01T23:59:59Z',
      is: 'overridden current P',
    },
    {
      because: 'east of UTC the local day has begun before the entry',
      type: 'P',
      on: '2026-10-02',
      added: '2026-10-01T14:00:00Z',
      is: 'listed expired P',
      places: guam,
    },
    {
      because: 'east of UTC the entry is a second before the local day',
      type: 'P',
      on: '2026-10-02',
      added: '2026-10-01T13:59:59Z',
      places: guam,
      is: 'overridden current P',
    },
    {
      because: 'of several places the earliest start of the day counts',
      type: 'P',
      on: '2026-10-02',
      added: '2026-10-01T14:00:00Z',
      places: [...newYork, ...guam],
      is: 'listed expired P',
    },
    {
      because: 'a consent with a time is one second later',
      type: 'P',
      on: '2026-10-01',
      at: '2026-10-01T10:00:01Z',
      added: '2026-10-01T10:00:00Z',
      is: 'overridden current P',
    },
    {
      because: 'times in one second are a tie',
      type: 'P',
      on: '2026-10-01',
      at: '2026-10-01T10:00:00.900Z',
      added: '2026-10-01T10:00:00.100Z',
      is: 'listed expired P',
    },
    {
      because: 'a newer permission of an Agent does not override the entry',
      type: 'P',
      on: '2026-10-02',
      added: '2026-10-01T10:00:00Z',
      liftsOptOut: false,
      is: 'listed current P',
    },
    {
      because: 'it counts once somebody else has taken the number off the list',
      type: 'P',
      on: '2026-10-02',
      added: '2026-10-01T10:00:00Z',
      liftsOptOut: false,
      removed: '2026-10-05T10:00:00Z',
      is: 'absent current P',
    },
    {
      because: 'a newer sale does not override the entry',
      type: 'S',
      on: '2026-10-02',
      added: '2026-10-01T10:00:00Z',
      is: 'listed current S',
    },
    {
      because: 'a newer inquiry does not override the entry',
      type: 'I',
      on: '2026-10-02',
      added: '2026-10-01T10:00:00Z',
      is: 'listed current I',
    },
    {
      because: 'taking a number off the list does not revive an older permission',
      type: 'P',
      on: '2026-09-30',
      added: '2026-10-01T10:00:00Z',
      removed: '2026-10-05T10:00:00Z',
      is: 'absent expired P',
    },
    {
      because: 'nor an older sale',
      type: 'S',
      on: '2026-09-30',
      added: '2026-10-01T10:00:00Z',
      removed: '2026-10-05T10:00:00Z',
      is: 'absent expired S',
    },
    {
      because: 'a permission of that day, stored after the entry, counts once the entry is gone',
      type: 'P',
      on: '2026-10-01',
      added: '2026-10-01T10:00:00Z',
      recorded: '2026-10-01T10:00:01Z',
      removed: '2026-10-01T11:00:00Z',
      is: 'absent current P',
    },
    {
      because: 'stored in the same moment as the entry it does not',
      type: 'P',
      on: '2026-10-01',
      added: '2026-10-01T10:00:00Z',
      recorded: '2026-10-01T10:00:00Z',
      removed: '2026-10-01T11:00:00Z',
      is: 'absent expired P',
    },
    {
      because: 'a permission of an earlier day does not, however late it is stored',
      type: 'P',
      on: '2026-09-29',
      added: '2026-10-01T10:00:00Z',
      recorded: '2026-10-03T10:00:00Z',
      removed: '2026-10-02T11:00:00Z',
      is: 'absent expired P',
    },
    {
      because: 'nor does a sale of an earlier day',
      type: 'S',
      on: '2026-09-29',
      added: '2026-10-01T10:00:00Z',
      recorded: '2026-10-03T10:00:00Z',
      removed: '2026-10-02T11:00:00Z',
      is: 'absent expired S',
    },
    {
      because: 'a second opt-out after the permission ends it, though the entry is older',
      type: 'P',
      on: '2026-10-02',
      added: '2026-10-01T10:00:00Z',
      again: '2026-10-03T10:00:00Z',
      is: 'listed expired P',
    },
    {
      because: 'a permission after the second opt-out overrides the entry again',
      type: 'P',
      on: '2026-10-04',
      added: '2026-10-01T10:00:00Z',
      again: '2026-10-03T10:00:00Z',
      is: 'overridden current P',
    },
    {
      because: 'a permission dated after the entry, but stored before it',
      type: 'P',
      on: '2026-10-02',
      added: '2026-10-01T10:00:00Z',
      recorded: '2026-10-01T09:59:59Z',
      is: 'listed expired P',
    },
    {
      because: 'so too with a time of day, and after the entry is gone',
      type: 'P',
      on: '2026-10-02',
      at: '2026-10-02T12:00:00Z',
      added: '2026-10-01T10:00:00Z',
      recorded: '2026-10-01T09:59:59Z',
      removed: '2026-10-05T10:00:00Z',
      is: 'absent expired P',
    },
    {
      because: 'the same while the entry stands',
      type: 'P',
      on: '2026-10-01',
      added: '2026-10-01T10:00:00Z',
      recorded: '2026-10-01T10:30:00Z',
      is: 'listed expired P',
    },
    {
      because: 'a permission after an entry that is gone',
      type: 'P',
      on: '2026-10-02',
      added: '2026-10-01T10:00:00Z',
      removed: '2026-10-05T10:00:00Z',
      is: 'absent current P',
    },
  ]
  it.each(cases)('$because: $is', ({ is, because: _, ...told }) => {
    expect(judge(told)).toBe(is)
  })
})

describe('an imported opt-out of which only the day is known', () => {
  const onTheFifth = { type: 'P', added: '2026-10-05T23:59:59.999Z', byDate: true } as const
  const cases: readonly (Told & { readonly is: string; readonly because: string })[] = [
    { because: 'a permission of the day before', on: '2026-10-04', is: 'listed expired P' },
    { because: 'one of the same day', on: '2026-10-05', is: 'listed expired P' },
    { because: 'one of the next day', on: '2026-10-06', is: 'overridden current P' },
    {
      because: 'one of the next day east of UTC, which begins before the day has ended in UTC',
      on: '2026-10-06',
      places: guam,
      is: 'listed expired P',
    },
    {
      because: 'one of the same evening, the next day in UTC',
      on: '2026-10-06',
      at: '2026-10-06T03:59:59Z',
      is: 'listed expired P',
    },
    {
      because: 'one of the first second of the next day there',
      on: '2026-10-06',
      at: '2026-10-06T04:00:00Z',
      is: 'overridden current P',
    },
    {
      because: 'one stored before the import, of a later day',
      on: '2026-10-06',
      recorded: '2026-10-01',
      is: 'overridden current P',
    },
    {
      because: 'taking the number off revives none of the same day',
      on: '2026-10-05',
      removed: '2026-10-07T10:00:00Z',
      is: 'absent expired P',
    },
    {
      because: 'one of the next day counts after the removal',
      on: '2026-10-06',
      removed: '2026-10-07T10:00:00Z',
      is: 'absent current P',
    },
  ]
  it.each(cases)('$because: $is', ({ is, because: _, ...told }) => {
    expect(judge({ ...onTheFifth, ...told })).toBe(is)
  })
})

describe('how long a record holds', () => {
  const connecticut = ['CT America/New_York']
  const newJersey = ['NJ America/New_York']
  const cases: readonly (Told & { readonly is: string; readonly because: string })[] = [
    {
      because: 'a sale on its last local day in New York',
      type: 'S',
      on: '2025-05-24',
      now: '2026-11-24T04:59:59Z',
      is: 'absent current S',
    },
    {
      because: 'a second later it is the first day without',
      type: 'S',
      on: '2025-05-24',
      now: '2026-11-24T05:00:00Z',
      is: 'absent expired S',
    },
    {
      because: 'an inquiry of three months ago less a day',
      type: 'I',
      on: '2026-08-24',
      is: 'absent current I',
    },
    {
      because: 'an inquiry of three months ago',
      type: 'I',
      on: '2026-08-23',
      is: 'absent expired I',
    },
    {
      because: 'a sale where the state honours twelve months',
      type: 'S',
      on: '2025-11-23',
      places: connecticut,
      is: 'absent expired S',
    },
    {
      because: 'of several places the strictest counts',
      type: 'S',
      on: '2025-11-23',
      places: [...newYork, ...connecticut],
      is: 'absent expired S',
    },
    {
      because: 'a sale of yesterday where the record gives no exemption',
      type: 'S',
      on: '2026-11-22',
      places: newJersey,
      is: 'absent expired S',
    },
    {
      because: 'there, while a written obligation runs',
      type: 'S',
      on: '2026-11-22',
      obligation: '2026-12-31',
      places: newJersey,
      is: 'absent current S',
    },
    {
      because: 'a trial, which no state honours',
      type: 'T',
      on: '2026-11-22',
      is: 'absent expired T',
    },
    { because: 'a permission of long ago', type: 'P', on: '1999-01-01', is: 'absent current P' },
    {
      because: 'a region the rules do not know',
      type: 'S',
      on: '2026-11-22',
      places: ['ZZ America/New_York'],
      is: 'absent expired S',
    },
  ]
  it.each(cases)('$because: $is', ({ is, because: _, ...told }) => {
    expect(judge(told)).toBe(is)
  })
})
