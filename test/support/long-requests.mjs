/**
 * The built program as a server whose main thread measures itself. To the message `measure` it answers
 * once it measures, to `read` with the longest stretch of its main thread, in milliseconds, and the endpoints
 * that service threads answered. It ends when its parent does.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureStretches } from './stretches.mjs'

const dist = new URL('../../dist/', import.meta.url)
const load = (path) => import(new URL(path, dist).href)
const { openCallgate } = await load('app/callgate.js')
const { ServiceThreads } = await load('app/service-threads.js')
const { loadSettings } = await load('config/load.js')
const { createFirstKeys } = await load('commands/serve/first-keys.js')
const { openHttpServer } = await load('commands/serve/http-server.js')
const { nodeRuntime } = await load('runtime/runtime.js')

const dataDir = mkdtempSync(join(tmpdir(), 'callgate-long-requests-'))
const noLimits = ['SCRUB', 'LITIGATOR', 'REASSIGNED', 'REPUTATION', 'PDNC', 'EBR', 'TIME_LEGAL']
const settings = loadSettings({
  environment: {
    CALLGATE_DATA_DIR: dataDir,
    CALLGATE_HTTP_PORT: '0',
    CALLGATE_GATE_CACHE_MAX_ENTRIES: '1000000',
    ...Object.fromEntries(noLimits.map((name) => [`CALLGATE_LIMITS_${name}_PER_MINUTE`, '0'])),
  },
})
const quiet = () => undefined
const log = { error: (...line) => console.error(...line), warn: quiet, info: quiet, debug: quiet }
const callgate = await openCallgate(settings, { ...nodeRuntime, log, processMetrics: false })
await callgate.journal.open()
const { db } = callgate.storage
await callgate.accounts.set('main', { numbersPerScrub: 100_000, mayScan: true })
await fillMonitor(50_000)
const jobId = await storeScan(10_000)
const threads = new ServiceThreads(callgate, { count: 1 })
const answeredInThreads = []
const answer = threads.answer.bind(threads)
threads.answer = (endpoint, ...rest) => {
  answeredInThreads.push(endpoint)
  return answer(endpoint, ...rest)
}
const server = await openHttpServer(callgate, [], threads)
const keys = await createFirstKeys(callgate, async () => undefined)

async function insert(table, rows) {
  for (let at = 0; at < rows.length; at += 500) {
    await db
      .insertInto(table)
      .values(rows.slice(at, at + 500))
      .execute()
  }
}

async function fillMonitor(count) {
  const rows = Array.from({ length: count }, (_, index) => ({
    ...{ account_id: 'main', number: String(3_035_000_000 + index), label: null },
    ...{ legal_entity_id: null, service_type: null, added_at: index, due_at: Date.now() + 1e9 },
  }))
  await insert('monitored_numbers', rows)
}

async function storeScan(count) {
  const id = '11111111-1111-4111-8111-111111111111'
  const job = { id, account_id: 'main', status: 'Complete', scan_type: 'carrier' }
  const url = { notification_url: 'https://example.com', notification_key: null }
  const counts = { phone_count: count, processed_count: count, credits_taken: 0, idle_passes: 0 }
  await insert('scan_jobs', [{ ...job, ...url, ...counts, due_at: 0, created_at: Date.now() }])
  const states = { CarrierAScore: 'Clean', CarrierBScore: 'Clean', CarrierCScore: 'Clean' }
  const rows = Array.from({ length: count }, (_, position) => {
    const number = String(3_035_000_000 + position)
    const result = { Phone: number, CurrScore: 'Clean', ...states, AppAStatus: null }
    const text = JSON.stringify({ ...result, AppBStatus: null, FTCComplaints: null })
    return { job_id: id, position, number, result: text }
  })
  await insert('scan_numbers', rows)
  return id
}

const stretches = measureStretches()

process.on('message', async (message) => {
  if (message === 'measure') {
    stretches.beginRound()
    process.send('measuring')
    return
  }
  stretches.stop()
  await new Promise((resolve) => setTimeout(resolve, 50))
  const longestMs = stretches.longestOfRounds().at(-1)
  process.send({ longestMs, inThreads: answeredInThreads.splice(0) })
})
process.on('disconnect', () => {
  rmSync(dataDir, { recursive: true, force: true })
  process.exit()
})
process.send({ url: server.url, key: keys.get('main'), jobId })
