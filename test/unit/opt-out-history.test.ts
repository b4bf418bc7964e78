import { expect, it } from 'vitest'
import {
  findForbidden,
  findForbiddenAllows,
  type SeenChange,
  type SeenDecision,
} from '../support/opt-out-history.js'

const answered = (kind: SeenChange['kind'], sentAt: number, endedAt: number): SeenChange => ({
  kind,
  number: '2125550100',
  server: 'one',
  sentAt,
  endedAt,
  isAcknowledged: true,
})
const lost = (...change: Parameters<typeof answered>): SeenChange => ({
  ...answered(...change),
  isAcknowledged: false,
})
const allow = (notBefore: number, number = '2125550100'): SeenDecision => ({
  kind: 'decision',
  number,
  server: 'two',
  notBefore,
  receivedAt: notBefore + 10,
  isAllowed: true,
})
const judge = (...history: (SeenChange | SeenDecision)[]) => [
  findForbiddenAllows(history).length,
  findForbidden(history).length,
]

it('forbids an allow from a second after the acknowledgement, of that number', () => {
  expect(judge(answered('forbid', 0, 10), allow(1_009))).toEqual([0, 1])
  expect(judge(answered('forbid', 0, 10), allow(1_010))).toEqual([1, 1])
  expect(judge(answered('forbid', 0, 10), allow(9_000, '2125550101'))).toEqual([0, 1])
  expect(judge(answered('forbid', 0, 10), { ...allow(9_000), isAllowed: false })).toEqual([0, 1])
})

it('does not know what becomes of an opt-out without an acknowledgement', () => {
  expect(judge(lost('forbid', 0, 10), allow(5_000))).toEqual([0, 0])
})

it('lets a removal permit, also one that may have been stored later', () => {
  expect(judge(answered('forbid', 0, 10), answered('permit', 20, 30), allow(5_000))).toEqual([0, 0])
  expect(judge(answered('forbid', 0, 10), answered('permit', 5, 8), allow(5_000))).toEqual([0, 0])
})

it('counts no removal that had ended before, or was sent after the allow', () => {
  expect(judge(answered('permit', 0, 10), answered('forbid', 20, 30), allow(5_000))).toEqual([1, 1])
  expect(judge(answered('forbid', 0, 10), allow(5_000), answered('permit', 6_000, 6_010))).toEqual([
    1, 0,
  ])
})

it('lets a removal whose answer was lost permit, unless the opt-out was sent after that was known', () => {
  const removal = lost('permit', 10, 25)
  expect(judge(answered('forbid', 0, 5), removal, allow(5_000))).toEqual([0, 0])
  expect(judge(removal, answered('forbid', 20, 30), allow(5_000))).toEqual([0, 0])
  expect(judge(removal, answered('forbid', 26, 30), allow(5_000))).toEqual([1, 1])
})
