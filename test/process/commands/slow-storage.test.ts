/** A journal or a database that is slower than a call can wait for it: what calls, `/readyz` and the doctor say. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import { nodeRuntime } from '../../../src/runtime/runtime.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import { startPostgres } from '../../support/postgres-server.js'
import { callgate, type Serving, serve } from '../../support/program.js'
import { openTcpProxy } from '../../support/tcp-proxy.js'

/** Long enough for a call on a busy machine. */
const deadlineMs = 500
const slowMs = '900'

let dataDir: string
let serving: Serving

async function start(more: Readonly<Record<string, string>>): Promise<void> {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-slow-'))
  const environment = {
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_GATE_DEADLINE_MS: String(deadlineMs),
    CALLGATE_POLICY_CALLING_HOURS_MODE: 'shadow',
    STORE_FAULTS: dataDir,
    ...more,
  }
  const preload = join(import.meta.dirname, '../../support/store-faults.mjs')
  serving = await serve(environment, [], { preload })
  const file = join(dataDir, 'numbers.txt')
  writeFileSync(file, '2127360001\n')
  const folder = join(dataDir, 'lists')
  for (const name of ['us-dnc', 'canada-dnc', 'litigators']) {
    await importList({ name, files: [file], folder, areaCodes: 'all', clock: nodeRuntime.clock })
  }
  await until('calls are allowed', async () => (await decide()) === 'allow permitted')
  await untilReady()
}

async function decide(): Promise<string> {
  const response = await fetch(`${serving.url}/v1/decisions`, {
    method: 'POST',
    headers: {
      loginId: serving.keys.main,
      'content-type': 'application/json',
      connection: 'close',
    },
    body: JSON.stringify({ number: '2127360002', callKind: 'manual' }),
  })
  const { decision, reason } = (await response.json()) as { decision?: string; reason: string }
  return decision === undefined ? `status ${response.status}` : `${decision} ${reason}`
}

async function readyz(): Promise<string> {
  const response = await fetch(`${serving.url}/readyz`, { headers: { connection: 'close' } })
  return `${response.status} ${await response.text()}`
}

const untilReady = () => until('it is ready', async () => (await readyz()).startsWith('200'))
const untilNotReady = (why: string) =>
  until(`it is not ready: ${why}`, async () => {
    const answer = await readyz()
    return answer.startsWith('503') && answer.includes(why)
  })

const doctor = () => callgate(['doctor', '--url', serving.url], { CALLGATE_DATA_DIR: dataDir })

/** All calls are blocked for the reason, which is named wherever somebody looks. */
async function expectBlocked(reason: string, why: string): Promise<void> {
  expect(await decide()).toBe(`block ${reason}`)
  // The answer to others, of up to a second ago, is shared.
  await untilNotReady(`main: every call is blocked: the latest calls got ${reason}`)
  for (let call = 0; call < 2; call += 1) {
    expect(await decide()).toBe(`block ${reason}`)
    expect(await readyz()).toMatch(new RegExp(`^503 .*${why}`))
  }
  const { code, out } = await doctor()
  expect(code).toBe(2)
  expect(out).toContain(
    `[NOW ] decisions: calls of account main are blocked: the latest calls got ${reason}`,
  )
}

async function expectHealed(): Promise<void> {
  await until('calls are allowed', async () => (await decide()) === 'allow permitted')
  await untilReady()
}

describe('a server whose disk is slow', () => {
  beforeAll(() => start({ CALLGATE_GATE_HOUSE_LIMITS: '[{ calls: 1000, seconds: 60 }]' }))
  afterAll(async () => {
    await serving.end('SIGTERM')
    rmSync(dataDir, { recursive: true, force: true })
  })
  afterEach(() => {
    for (const fault of ['slow-flush', 'slow-commit']) {
      rmSync(join(dataDir, fault), { force: true })
    }
  })

  it('is not ready while the journal takes too long, before and after calls come', async () => {
    writeFileSync(join(dataDir, 'slow-flush'), slowMs)
    await untilNotReady('an append to the journal takes')
    await expectBlocked('not-recorded', '"name":"records","ready":false')
    rmSync(join(dataDir, 'slow-flush'))
    await expectHealed()
  })

  it('is not ready while the database takes too long and all calls are counted in it', async () => {
    writeFileSync(join(dataDir, 'slow-commit'), slowMs)
    await untilNotReady('the database takes')
    await expectBlocked('check-unanswered', 'the attempts could not be counted: no answer in time')
    rmSync(join(dataDir, 'slow-commit'))
    await expectHealed()
  })
})

it('is not ready while PostgreSQL answers too late', async () => {
  const postgres = await startPostgres()
  const { port, username, hostname } = new URL(postgres.address)
  const proxy = await openTcpProxy(Number(port))
  await start({
    CALLGATE_STORAGE_ENGINE: 'postgres',
    CALLGATE_STORAGE_URL: `postgres://${username}@${hostname}:${proxy.port}/postgres`,
    CALLGATE_STORAGE_TLS: 'false',
  })
  try {
    proxy.delay(Number(slowMs) / 2)
    await untilNotReady('"name":"changes","ready":false')
    await until('calls are refused', async () => !(await decide()).startsWith('allow'))
    for (let look = 0; look < 3; look += 1) {
      expect(await decide()).toMatch(/^(?:block |status 503)/)
      expect(await readyz()).toMatch(/^503 /)
    }
    expect((await doctor()).code).toBe(2)
    proxy.delay(0)
    await expectHealed()
  } finally {
    await serving.end('SIGTERM')
    proxy.close()
    await postgres.end()
    rmSync(dataDir, { recursive: true, force: true })
  }
})
