/** What a center takes from its edges. */
import { expect, it } from 'vitest'
import { edgeDecisionsEndpoint } from '../../src/api/edges.js'

it.each([
  ['{"regions":{}}', true],
  ['regions: {}', false],
])('calling rules must be JSON: %s', (text, isTaken) => {
  const sent = { origin: '0'.repeat(64), firstSeq: 1, records: [], rules: [text] }
  expect(edgeDecisionsEndpoint.request.safeParse(sent).success).toBe(isTaken)
})
