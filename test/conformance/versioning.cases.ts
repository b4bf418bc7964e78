import { expect } from 'vitest'
import { calls } from './support/calls.js'
import { ask } from './support/client.js'
import { plainRow } from './support/scrubbed.js'
import { section, sentence, sentences } from './support/sentence.js'
import { askTimeLegal, flat } from './support/time-legal.js'

const versioned = calls.filter(({ ask: { path } }) => /^\/v1\.[45]\//.test(path))

section('versioning', () => {
  sentences(
    versioned,
    ({ name }) => `the version is part of the path: ${name} exists`,
    async ({ ask: asked }) => {
      // Without a key, so that nothing is done.
      expect((await ask({ ...asked, key: null })).status).toBe(401)
    },
  )

  sentences(
    versioned,
    ({ name }) => `another version does not mean the same: ${name.replace(/v1\.[45]/, 'v9.9')}`,
    async ({ ask: { path, ...asked } }) => {
      const other = path.replace(/^\/v1\.[45]\//, '/v9.9/')
      expect((await ask({ ...asked, path: other })).status).toBe(404)
    },
  )

  sentence('the scrub call selects its output with the query parameter version', async () => {
    expect(await plainRow('5')).not.toHaveProperty('IsCallAllowedAI')
    expect(await plainRow('8')).toHaveProperty('IsCallAllowedAI')
  })

  sentence('time-legal of version 1.5 returns 200 with a per-row Status', async () => {
    const reply = await askTimeLegal([{ PhoneNumber: '2125550100' }, { PhoneNumber: 'bad' }])
    expect(reply.status).toBe(200)
    expect(flat(reply.json())).toMatchObject([{}, { Status: 'INVALID_PHONE' }])
  })

  sentence('time-legal: batch-level errors still return 400', async () => {
    expect((await askTimeLegal([])).status).toBe(400)
  })
})
