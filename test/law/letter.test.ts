import { describe, expect, it } from 'vitest'
import type { LineClass } from '../../src/domain/place.js'
import type { ScrubVersion } from '../../src/domain/scrub-row.js'
import {
  computeLetter,
  type ResultLetterInput,
  toVersionLetter,
} from '../../src/law/records/result-letter.js'

const clean: ResultLetterInput = {
  numberStatus: 'in-service',
  listsCover: true,
  onNationalList: false,
  onStateList: false,
  isLitigator: false,
  internalList: 'absent',
  relationship: 'none',
  lineClass: 'wireline',
  wirelessProhibited: false,
  voipRestricted: false,
  industryExemption: false,
}

interface Line {
  readonly name: string
  readonly facts: Partial<ResultLetterInput>
}

const line = (
  lineClass: LineClass,
  more: Partial<ResultLetterInput> = {},
): Partial<ResultLetterInput> => ({
  lineClass,
  ...more,
})
const restricted = { wirelessProhibited: true }

/** The columns of the grids below. */
const lines: readonly Line[] = [
  { name: 'landline', facts: line('wireline') },
  { name: 'landline in a wireless state', facts: line('wireline', restricted) },
  { name: 'wireless', facts: line('wireless') },
  { name: 'wireless in a wireless state', facts: line('wireless', restricted) },
  { name: 'unknown class', facts: line('unknown') },
  { name: 'unknown class in a wireless state', facts: line('unknown', restricted) },
  { name: 'VoIP', facts: line('voip') },
  { name: 'VoIP in a wireless state', facts: line('voip', restricted) },
  {
    name: 'VoIP in a wireless state, restricted by the project',
    facts: line('voip', { wirelessProhibited: true, voipRestricted: true }),
  },
  {
    name: 'VoIP elsewhere, restricted by the project',
    facts: line('voip', { voipRestricted: true }),
  },
]

interface Row {
  readonly when: string
  readonly facts: Partial<ResultLetterInput>
  /** One letter per line of `lines`, in versions 3 to 8, 2 and 1. */
  readonly now: string
  readonly version2: string
  readonly version1: string
}

const national = { onNationalList: true }
const state = { onStateList: true }
const exempt = { industryExemption: true }
const current = { relationship: 'current' } as const
const expired = { relationship: 'expired' } as const
const overridden = { internalList: 'overridden' } as const
const listed = { internalList: 'listed' } as const

const lettersOfClean = {
  now: 'C C W L W L Y Y L Y',
  version2: 'C C W L W L W W L W',
  version1: 'C C W D W D W W D W',
}
const lettersOfExpired = {
  now: 'R R W L W L Y Y L Y',
  version2: 'R R W L W L W W L W',
  version1: 'R R W D W D W W D W',
}
const lettersOfExempt = {
  now: 'X X W L W L Y Y L Y',
  version2: 'X X W L W L W W L W',
  version1: 'X X W D W D W W D W',
}
const lettersOfRelated = {
  now: 'E E G F G F G G F G',
  version2: 'E E G F G F G G F G',
  version1: 'E E E D E D E E D E',
}
const lettersOfRelatedAndListed = {
  now: 'O O H V H V H H V H',
  version2: 'O O H V H V H H V H',
  version1: 'O O O D O D O O D O',
}
const always = (letter: string) => {
  const all = lines.map(() => letter).join(' ')
  return { now: all, version2: all, version1: all }
}

const rows: readonly Row[] = [
  { when: 'clean', facts: {}, ...lettersOfClean },
  { when: 'clean, exemption', facts: exempt, ...lettersOfClean },
  { when: 'expired record', facts: expired, ...lettersOfExpired },
  { when: 'expired record, exemption', facts: { ...expired, ...exempt }, ...lettersOfExpired },
  { when: 'national list', facts: national, ...always('D') },
  { when: 'state list', facts: state, ...always('D') },
  { when: 'both lists', facts: { ...national, ...state }, ...always('D') },
  { when: 'national list, expired record', facts: { ...national, ...expired }, ...always('D') },
  { when: 'national list, exemption', facts: { ...national, ...exempt }, ...lettersOfExempt },
  { when: 'state list, exemption', facts: { ...state, ...exempt }, ...lettersOfExempt },
  {
    when: 'state list, exemption, expired record',
    facts: { ...state, ...exempt, ...expired },
    ...lettersOfExempt,
  },
  { when: 'current record', facts: current, ...lettersOfRelated },
  { when: 'current record, exemption', facts: { ...current, ...exempt }, ...lettersOfRelated },
  {
    when: 'current record, national list',
    facts: { ...current, ...national },
    ...lettersOfRelatedAndListed,
  },
  {
    when: 'current record, state list',
    facts: { ...current, ...state },
    ...lettersOfRelatedAndListed,
  },
  {
    when: 'current record, national list, exemption',
    facts: { ...current, ...national, ...exempt },
    ...lettersOfRelatedAndListed,
  },
  {
    when: 'permission newer than the internal list entry',
    facts: { ...current, ...overridden },
    ...lettersOfRelatedAndListed,
  },
  {
    when: 'permission newer than the internal list entry, national list',
    facts: { ...current, ...overridden, ...national },
    ...lettersOfRelatedAndListed,
  },
  { when: 'internal list', facts: listed, ...always('P') },
  { when: 'internal list, exemption', facts: { ...listed, ...exempt }, ...always('P') },
  { when: 'internal list, current record', facts: { ...listed, ...current }, ...always('P') },
  { when: 'internal list, national list', facts: { ...listed, ...national }, ...always('P') },
  { when: 'internal list, litigator', facts: { ...listed, isLitigator: true }, ...always('P') },
  { when: 'litigator', facts: { isLitigator: true }, ...always('D') },
  {
    when: 'litigator, current record',
    facts: { isLitigator: true, ...current },
    ...always('D'),
  },
  {
    when: 'litigator, permission newer than the internal list entry',
    facts: { isLitigator: true, ...current, ...overridden },
    ...always('D'),
  },
  { when: 'litigator, exemption', facts: { isLitigator: true, ...exempt }, ...always('D') },
  { when: 'no list for the area code', facts: { listsCover: false }, ...always('B') },
  {
    when: 'no list for the area code, permission record',
    facts: { listsCover: false, ...current },
    ...always('B'),
  },
  {
    when: 'no list for the area code, internal list, litigator',
    facts: { listsCover: false, ...listed, isLitigator: true },
    ...always('B'),
  },
  {
    when: 'not in service',
    facts: { numberStatus: 'not-in-service', listsCover: false, ...listed },
    ...always('I'),
  },
  {
    when: 'malformed',
    facts: { numberStatus: 'malformed', listsCover: false, ...current },
    ...always('M'),
  },
]

const versions: readonly { version: ScrubVersion; letters: (row: Row) => string }[] = [
  { version: 1, letters: (row) => row.version1 },
  { version: 2, letters: (row) => row.version2 },
  ...([3, 4, 5, 6, 7, 8] as const).map((version) => ({ version, letters: (row: Row) => row.now })),
]

describe('result letter', () => {
  for (const row of rows) {
    for (const { version, letters } of versions) {
      it(`of version ${version}: ${row.when}`, () => {
        const given = lines.map(({ facts }) =>
          toVersionLetter(computeLetter({ ...clean, ...row.facts, ...facts }), version),
        )
        const expected = letters(row).split(' ')
        expect(Object.fromEntries(lines.map(({ name }, at) => [name, given[at]]))).toEqual(
          Object.fromEntries(lines.map(({ name }, at) => [name, expected[at]])),
        )
      })
    }
  }
})
