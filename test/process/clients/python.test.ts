/** The client for Python, with the built program and the hostile server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runChild } from '../../../scripts/children.mjs'
import { hostileCases, hostileKey, openHostileGate } from '../../support/hostile-gate.js'
import { serve } from '../../support/program.js'

const folder = join(import.meta.dirname, '../../../clients/python')

/** For AI calls alone. */
async function requestToken({ url, keys }: { url: string; keys: { sandbox: string } }) {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'sandbox',
    client_secret: keys.sandbox,
    authorization_details: JSON.stringify([{ type: 'callgate_dial', kinds: ['ai'] }]),
  })
  const answer = await fetch(`${url}/oauth/token`, { method: 'POST', body })
  return ((await answer.json()) as { access_token: string }).access_token
}

test('the client for Python', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-python-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const hostile = await openHostileGate()
  onTestFinished(() => hostile.close())
  const running = await serve({
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
  })
  onTestFinished(async () => void (await running.end('SIGTERM')))
  const token = await requestToken(running)
  const cases = Object.entries(hostileCases).map(([name, { expected }]) => [name, expected])
  const { code, out, err } = await runChild('python3', ['-B', '-W', 'error', '-m', 'unittest'], {
    cwd: folder,
    timeout: 110_000,
    env: {
      ...process.env,
      CALLGATE_TEST_URL: running.url,
      CALLGATE_TEST_KEY: running.keys.sandbox,
      CALLGATE_TEST_TOKEN: token,
      CALLGATE_TEST_HOSTILE_URL: hostile.url,
      CALLGATE_TEST_HOSTILE_KEY: hostileKey,
      CALLGATE_TEST_HOSTILE_CASES: JSON.stringify(Object.fromEntries(cases)),
    },
  })
  expect(code, out + err).toBe(0)
  expect(err).toMatch(/^Ran \d\d tests/m)
})
