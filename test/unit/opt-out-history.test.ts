import { expect, it } from 'vitest'
import {
  findForbiddenAllows,
  findOptedOut,
  type ListChange,
  type SeenDecision,
} from '../support/opt-out-history.js'

const change = (
  kind: ListChange['kind'],
  sentAt: number,
  acknowledgedAt = Number.POSITIVE_INFINITY,
): ListChange => ({ kind, number: '2125550100', server: 'one', sentAt, acknowledgedAt })
const allow = (notBefore: number, number = '2125550100'): SeenDecision => ({
  kind: 'decision',
  number,
  server: 'two',
  notBefore,
  receivedAt: notBefore + 10,
  isAllowed: true,
})
const judge = (...history: (ListChange | SeenDecision)[]) => [
  findForbiddenAllows(history).length,
  findOptedOut(history).length,
]

it('forbids an allow from a second after the acknowledgement, of that number', () => {
  expect(judge(change('add', 0, 10), allow(1_009))).toEqual([0, 1])
  expect(judge(change('add', 0, 10), allow(1_010))).toEqual([1, 1])
  expect(judge(change('add', 0, 10), allow(9_000, '2125550101'))).toEqual([0, 1])
  expect(judge(change('add', 0, 10), { ...allow(9_000), isAllowed: false })).toEqual([0, 1])
})

it('does not know what becomes of an opt-out without an acknowledgement', () => {
  expect(judge(change('add', 0), allow(5_000))).toEqual([0, 0])
})

it('lets a removal permit, also one that may have been stored later or at any time', () => {
  expect(judge(change('add', 0, 10), change('remove', 20, 30), allow(5_000))).toEqual([0, 0])
  expect(judge(change('add', 0, 10), change('remove', 5, 8), allow(5_000))).toEqual([0, 0])
  expect(judge(change('remove', 0), change('add', 20, 30), allow(5_000))).toEqual([0, 0])
})

it('counts no removal that had ended before, or was sent after the allow', () => {
  expect(judge(change('remove', 0, 10), change('add', 20, 30), allow(5_000))).toEqual([1, 1])
  expect(judge(change('add', 0, 10), allow(5_000), change('remove', 6_000, 6_010))).toEqual([1, 0])
})
