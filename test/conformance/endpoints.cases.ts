import { expect } from 'vitest'
import { calls } from './support/calls.js'
import { ask } from './support/client.js'
import { pdncPath } from './support/internal-dnc.js'
import { run } from './support/run.js'
import { section, sentences } from './support/sentence.js'

/** The monitor says so of its own calls. */
const withJson = calls.filter(
  ({ ask: { json, path } }) => json !== undefined && !/reputation/i.test(path),
)

section('endpoints', () => {
  sentences(
    ['loginId', 'LOGINID', 'loginid'],
    (name) => `all endpoints take the API key in a header: ${name}`,
    async (name) => {
      const query = { actionType: 'count' }
      const headers = { [name]: run.loginId }
      expect((await ask({ at: 'rpc', path: pdncPath, query, headers, key: null })).status).toBe(200)
    },
  )

  sentences(
    withJson,
    ({ name }) => `a JSON request body needs Content-Type: application/json: ${name}`,
    async ({ ask: { json, ...asked } }) => {
      const headers = { 'content-type': 'text/plain' }
      const { status } = await ask({ ...asked, body: JSON.stringify(json), headers })
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(500)
    },
  )
})
