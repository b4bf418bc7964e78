/** When a key was last used outlives a clean stop, and is shown at the command line. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { callgate, serve } from '../../support/program.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-uses-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('is stored when the server ends', async () => {
  const environment = { CALLGATE_DATA_DIR: join(folder, 'data') }
  const listUses = async () => {
    const { out } = await callgate(['keys', 'list', '--account', 'sandbox'], environment)
    const [head = '', ...rows] = out.trimEnd().split('\n')
    const at = head.indexOf('last use')
    return rows.map((row) => row.slice(at).split(' ')[0]).join()
  }
  const server = await serve(environment)
  const reply = await fetch(`${server.url}/v1/keys`, { headers: { loginId: server.keys.sandbox } })
  expect(reply.status).toBe(200)
  expect(await listUses()).toMatch(/^-(?:,-)*$/)
  expect(await server.end('SIGTERM')).toBe(0)
  expect(await listUses()).toMatch(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:00Z\b/)
})
