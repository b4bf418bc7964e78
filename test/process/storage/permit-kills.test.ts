/** Permits of a server that is killed between the permit and its use, and during uses; over both engines. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openCluster } from '../../support/cluster.js'
import { callgate, type Serving, serve } from '../../support/program.js'

const settings = {
  CALLGATE_GATE_DEADLINE_MS: '5000',
  CALLGATE_PERMITS_ISSUER: 'https://gate.example',
  CALLGATE_PERMITS_EDGES: '{ edge-a: { asks: true, accounts: [sandbox] } }',
}
const [number, callerId] = ['2125550100', '2125550199']

interface Server {
  readonly environment: Readonly<Record<string, string>>
  readonly key: string
  readonly serving: Serving
  restart(): Promise<void>
  close(): Promise<void>
}

async function openOverSqlite(): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-permit-kills-'))
  const environment = {
    CALLGATE_DATA_DIR: join(folder, 'data'),
    CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
    ...settings,
  }
  let serving = await serve(environment)
  return {
    environment,
    key: serving.keys.sandbox,
    get serving() {
      return serving
    },
    async restart() {
      serving = await serve(environment)
    },
    async close() {
      await serving.end('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function openOverPostgres(): Promise<Server> {
  const cluster = await openCluster({ count: 1, settings })
  const [node] = cluster.nodes
  if (!node) throw new Error('there is no server')
  return {
    environment: cluster.environment,
    key: cluster.key,
    get serving() {
      return node.serving
    },
    restart: () => node.restart(),
    close: () => cluster.close(),
  }
}

describe.each([
  ['SQLite', openOverSqlite],
  ['PostgreSQL', openOverPostgres],
])('over %s', (_, open) => {
  let server: Server

  beforeAll(async () => {
    server = await open()
  })
  afterAll(() => server.close())

  const post = async (path: string, body: object, key = server.key) => {
    const response = await fetch(`${server.serving.url}${path}`, {
      method: 'POST',
      headers: { loginId: key, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify(body),
    })
    const json = (await response.json()) as { reason: string; permit?: { value: string } }
    return { status: response.status, json }
  }
  const ask = async (key?: string) =>
    (await post('/v1/permits', { number, callKind: 'manual', callerId }, key)).json
  const use = async (value: string) =>
    (await post('/v1/permits/use', { value, number, callerId })).status
  /** A server that has just started may not know yet what is stored. */
  const getPermit = async (key?: string): Promise<string> => {
    let value: string | undefined
    await expect
      .poll(async () => {
        const asked = await ask(key)
        value = asked.permit?.value
        return asked.reason
      })
      .toBe('permitted')
    return value ?? ''
  }
  const killAndRestart = async () => {
    expect(await server.serving.end('SIGKILL')).toBe('SIGKILL')
    await server.restart()
  }

  it('a permit and its attempt outlive the server, and it is used once', async () => {
    const args = ['keys', 'create', '--account', 'sandbox', '--attempts-per-day', '1']
    const { out } = await callgate(args, server.environment)
    const key = /\S{44}/.exec(out)?.[0] ?? out
    const value = await getPermit(key)
    await killAndRestart()
    await expect.poll(() => use(value)).toBe(200)
    expect((await ask(key)).reason).toBe('key-attempts')
    await killAndRestart()
    expect(await use(value)).not.toBe(200)
    await expect.poll(() => use(value)).toBe(409)
    expect((await ask(key)).reason).toBe('key-attempts')
  })

  it('of uses that a kill interrupts, and those after it, at most one is granted', async () => {
    for (let round = 0; round < 3; round += 1) {
      const value = await getPermit()
      const statuses: number[] = []
      const note = async () => statuses.push(await use(value).catch(() => 0))
      const uses = Array.from({ length: 5 }, note)
      // The first answer may be on its way.
      if (round > 0) await Promise.race(uses)
      await killAndRestart()
      await Promise.all(uses)
      await expect.poll(() => note().then(() => statuses.includes(409))).toBe(true)
      expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(1)
    }
  })
})
