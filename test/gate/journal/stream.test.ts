/** The stream of decisions over a search that ends its pages early, as that of a busy machine does. */
import { expect, it } from 'vitest'
import type { Caller } from '../../../src/domain/caller.js'
import { toIdPrefix } from '../../../src/gate/journal/projection/decision-months.js'
import type { DecisionSearch } from '../../../src/gate/journal/search/decision-search.js'
import { createStreamRoute } from '../../../src/gate/journal/search/stream-route.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'

const now = Date.parse('2026-11-20T12:00:00Z')
const caller = {
  accountId: 'main',
  limits: { rights: new Set(['decide']), projects: 'any', callKinds: 'any' },
} as unknown as Caller

const noFindings: DecisionDocument['findings'] = []

const decisionAt = (at: number, n: number) =>
  ({
    ...{ id: toIdPrefix(at) + String(n).padStart(20, '0'), number: '2125550100' },
    ...{ decision: 'allow', reason: 'permitted', findings: noFindings },
  }) as DecisionDocument

it('tells each decision that is recorded after it began, and no other, if each page has one', async () => {
  let recorded = [1, 2, 3].map((n) => decisionAt(now - 500, n))
  const search: DecisionSearch = {
    async search({ filter: { from = 0 }, before = '~', limit }) {
      const start = toIdPrefix(from)
      const found = recorded.filter(({ id }) => id >= start && id < before).reverse()
      const decisions = found.slice(0, Math.min(limit, 1))
      const next = found.length > 1 && decisions[0] ? { next: decisions[0].id } : {}
      return { decisions, completeUntil: now, ...next }
    },
  }
  const clock = { now: () => now }
  const route = createStreamRoute({ search, recordRead: async () => undefined, clock })
  const reply = await route.handle({ seconds: '2' }, { caller, jsonRequested: false })
  recorded = [...recorded, ...[4, 5, 6].map((n) => decisionAt(now, n))]
  let text = ''
  if ('parts' in reply) for await (const part of reply.parts) text += part
  const told = [...text.matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id)
  expect(told).toEqual(recorded.slice(3).map(({ id }) => id))
  expect(text.match(/"message":"every check passed"/g)).toHaveLength(3)
  expect(text).not.toContain('event: skipped')
})
