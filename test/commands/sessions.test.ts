/** `callgate sessions`: who is signed in, and their end. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { registerSessions } from '../../src/commands/accounts/sessions.js'
import { openConsoleClient } from '../support/console-client.js'
import { runCommand } from '../support/run-command.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate({ at: Date.now() })
})
afterAll(() => running.end())

const run = (...args: string[]) =>
  runCommand(registerSessions, ['sessions', ...args], { dataDir: running.dataDir })

it('shows a session, and ends it while the server runs', async () => {
  const client = await openConsoleClient(running, running.keys.main)
  const { out } = await run('list')
  const [, keyId = ''] = /main +(key-\S+) +- /.exec(out) ?? []
  expect((await run('end', keyId)).err).toContain('--reason')
  expect((await client.get('/console/search')).path).toBe('/console/search')
  expect((await run('end', keyId, '--reason', 'has left')).err).toBe(`${keyId}: ended 1 session\n`)
  expect((await client.get('/console/search')).path).toBe('/console/sign-in')
  expect((await run('end', keyId, '--reason', 'again')).err).toContain('has no session')
})
