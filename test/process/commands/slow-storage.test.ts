/** A journal or a database that is slower than a call can wait for it: what calls, `/readyz` and the doctor say. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import { nodeRuntime } from '../../../src/runtime/runtime.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import { startPostgres } from '../../support/postgres-server.js'
import { type Serving, serve } from '../../support/program.js'
import { expectState, type ShownState, shownBy } from '../../support/states-page.js'
import { openTcpProxy } from '../../support/tcp-proxy.js'

/** Long enough for a call on a busy machine. */
const deadlineMs = 500
const slowMs = '900'

let dataDir: string
let serving: Serving
let shown: ShownState
let serverEnvironment: Readonly<Record<string, string>>

async function start(more: Readonly<Record<string, string>>): Promise<void> {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-slow-'))
  serverEnvironment = {
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_GATE_DEADLINE_MS: String(deadlineMs),
    // A scrub row does not permit a call at night either.
    CALLGATE_POLICY_CALLING_HOURS_MODE: 'shadow',
    CALLGATE_POLICY_PERMISSION_MODE: 'shadow',
    STORE_FAULTS: dataDir,
    ...more,
  }
  const preload = join(import.meta.dirname, '../../support/store-faults.mjs')
  serving = await serve(serverEnvironment, [], { preload })
  shown = shownBy(serving, serverEnvironment, { number: '2127360002', callKind: 'manual' })
  const file = join(dataDir, 'numbers.txt')
  writeFileSync(file, '2127360001\n')
  const folder = join(dataDir, 'lists')
  for (const name of ['us-dnc', 'canada-dnc', 'litigators']) {
    await importList({ name, files: [file], folder, areaCodes: 'all', clock: nodeRuntime.clock })
  }
  await until('calls are allowed', async () => (await shown.callGets()) === 'allow permitted')
  await untilReady()
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

async function expectHealed(): Promise<void> {
  await until('calls are allowed', async () => (await shown.callGets()) === 'allow permitted')
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
    await expectState('the journal takes longer than a call can wait', shown)
    await untilNotReady('main: every call is blocked: the latest calls got not-recorded')
    rmSync(join(dataDir, 'slow-flush'))
    await expectHealed()
  })

  it('is not ready while the database takes too long and all calls are counted in it', async () => {
    writeFileSync(join(dataDir, 'slow-commit'), slowMs)
    await untilNotReady('the database takes')
    await expectState('the database takes longer, and all calls are counted', shown)
    await untilNotReady('main: every call is blocked: the latest calls got check-unanswered')
    await untilNotReady('the attempts could not be counted: no answer in time')
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
    // The doctor has a line of its own: over the slow one it takes minutes.
    const own = { ...serverEnvironment, CALLGATE_STORAGE_URL: `${postgres.address}/postgres` }
    const shownBeside = { ...shown, doctor: shownBy(serving, own, {}).doctor }
    proxy.delay(Number(slowMs) / 2)
    await untilNotReady('"name":"changes","ready":false')
    await expectState('PostgreSQL answers too late', shownBeside)
    proxy.delay(0)
    await expectHealed()
  } finally {
    await serving.end('SIGTERM')
    proxy.close()
    await postgres.end()
    rmSync(dataDir, { recursive: true, force: true })
  }
})
