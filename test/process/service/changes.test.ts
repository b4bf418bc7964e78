/** Changes that need two people in the built program: through a service thread, and in the settings of a running server. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { callgate, type Serving, serve } from '../../support/program.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-changes-'))
const settingsFile = join(folder, 'callgate.yaml')
const environment = { CALLGATE_DATA_DIR: join(folder, 'var'), CALLGATE_CONFIG: settingsFile }
const twoPeople = { for: ['remove-opt-outs', 'allow-unknown'] }
let server: Serving
let second: string

beforeAll(async () => {
  writeFileSync(settingsFile, stringify({ twoPeople }))
  server = await serve(environment)
  const made = await callgate(
    ['--person', 'ben', 'keys', 'create', '--label', 'second', '--role', 'Supervisor'],
    environment,
  )
  second = made.out.trim()
  // It approves what is asked for a day later.
  const database = new Sqlite(join(folder, 'var', 'callgate.sqlite'))
  database
    .prepare('update api_keys set created_at = created_at - 86400000 where is_personal = 1')
    .run()
  database.close()
})
afterAll(async () => {
  await server.end('SIGTERM')
  rmSync(folder, { recursive: true, force: true })
})

async function post(path: string, body: object, key: string) {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', loginId: key },
    body: JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

test('a long request waits and is carried out in a service thread', async () => {
  const numbers = Array.from({ length: 1_000 }, (_, index) => String(2_125_559_000 + index))
  const phoneList = numbers.join(',')
  const pdnc = (body: object) => post('/app/main/rpc/pdnc', body, server.keys.main)
  expect((await pdnc({ actionType: 'add', phoneList })).status).toBe(200)
  const asked = await pdnc({ actionType: 'remove', phoneList })
  expect(asked.status).toBe(409)
  const path = `/v1/changes/${/\bch-[0-9a-f]{20}\b/.exec(asked.text)?.[0]}`
  const shown = await fetch(server.url + path, { headers: { loginId: second } })
  const { requestHash, what } = (await shown.json()) as { requestHash: string; what: string }
  expect(what).toBe('ending 1000 opt-outs of the Master Project')
  const done = await post(`${path}/approve`, { requestHash }, second)
  expect(done).toMatchObject({ status: 200, text: expect.stringContaining('"state":"done"') })
  const count = await pdnc({ actionType: 'count' })
  expect(JSON.parse(count.text)).toMatchObject({ count: 0 })
})

test('a reload refuses an exception that nobody has approved', async () => {
  const litigator = { onUnknown: 'allow', reason: 'late', until: '2036-12-01T00:00:00Z' }
  writeFileSync(settingsFile, stringify({ twoPeople, policy: { litigator } }))
  const refused = await callgate(['reload'], environment)
  expect(refused.code).toBe(2)
  expect(refused.err + refused.out).toContain('no second person has approved it')
  const doctor = await callgate(['doctor'], environment)
  expect(doctor.out).toContain('policy.litigator.onUnknown: allow is not in force')
})
