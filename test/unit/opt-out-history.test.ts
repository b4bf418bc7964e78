import { expect, it } from 'vitest'
import {
  findForbidden,
  findForbiddenAllows,
  type SeenChange,
  type SeenDecision,
} from '../support/opt-out-history.js'

const change = (
  kind: SeenChange['kind'],
  sentAt: number,
  acknowledgedAt = Number.POSITIVE_INFINITY,
): SeenChange => ({ kind, number: '2125550100', server: 'one', sentAt, acknowledgedAt })
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
  expect(judge(change('forbid', 0, 10), allow(1_009))).toEqual([0, 1])
  expect(judge(change('forbid', 0, 10), allow(1_010))).toEqual([1, 1])
  expect(judge(change('forbid', 0, 10), allow(9_000, '2125550101'))).toEqual([0, 1])
  expect(judge(change('forbid', 0, 10), { ...allow(9_000), isAllowed: false })).toEqual([0, 1])
})

it('does not know what becomes of an opt-out without an acknowledgement', () => {
  expect(judge(change('forbid', 0), allow(5_000))).toEqual([0, 0])
})

it('lets a removal permit, also one that may have been stored later or at any time', () => {
  expect(judge(change('forbid', 0, 10), change('permit', 20, 30), allow(5_000))).toEqual([0, 0])
  expect(judge(change('forbid', 0, 10), change('permit', 5, 8), allow(5_000))).toEqual([0, 0])
  expect(judge(change('permit', 0), change('forbid', 20, 30), allow(5_000))).toEqual([0, 0])
})

it('counts no removal that had ended before, or was sent after the allow', () => {
  expect(judge(change('permit', 0, 10), change('forbid', 20, 30), allow(5_000))).toEqual([1, 1])
  expect(judge(change('forbid', 0, 10), allow(5_000), change('permit', 6_000, 6_010))).toEqual([
    1, 0,
  ])
})
