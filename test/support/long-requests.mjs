/**
 * The built program as a server whose main thread measures itself. To the message `measure` it answers
 * once it measures, to `read` with the longest turn of its event loop, in milliseconds of
 * processor time without garbage collections, and the endpoints that service threads answered. It ends when its parent does.
 */
import { mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PerformanceObserver } from 'node:perf_hooks'

const dist = new URL('../../dist/', import.meta.url)
const load = (path) => import(new URL(path, dist).href)
const { openCallgate } = await load('app/callgate.js')
const { ServiceThreads } = await load('app/service-threads.js')
const { loadSettings } = await load('config/load.js')
const { createFirstKeys } = await load('commands/serve/first-keys.js')
const { openHttpServer } = await load('commands/serve/serve.js')
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

const schedule = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
const scheduleText = Buffer.alloc(64)
const cell = new Int32Array(new SharedArrayBuffer(4))

/**
 * Processor time of this thread, so that waiting for a processor of a busy machine does not count. The
 * kernel brings it up to date when the thread gives up the processor.
 */
function readProcessorMs() {
  Atomics.wait(cell, 0, 0, 0.05)
  const length = readSync(schedule, scheduleText, 0, scheduleText.length, 0)
  return Number(scheduleText.toString('latin1', 0, length).split(' ')[0]) / 1e6
}

let isMeasuring = false
let turns = []
let last = { at: 0, processorMs: 0 }
let collections = []
const collector = new PerformanceObserver((list) => collections.push(...list.getEntries()))
collector.observe({ entryTypes: ['gc'] })

const now = () => ({ at: performance.now(), processorMs: readProcessorMs() })

function turn() {
  const next = now()
  const ms = next.processorMs - last.processorMs
  if (ms > 0.5) turns.push({ ms, from: last.at, until: next.at })
  last = next
  if (isMeasuring) setImmediate(turn)
}

/** Without garbage collections: they are reported with their time on the clock, in a later turn. */
async function findLongestTurn() {
  await new Promise((resolve) => setTimeout(resolve, 50))
  const lengths = turns.map(({ ms, from, until }) => {
    const own = collections.filter(({ startTime }) => startTime >= from && startTime < until)
    return ms - own.reduce((sum, { duration }) => sum + duration, 0)
  })
  return Math.max(0, ...lengths)
}

process.on('message', async (message) => {
  if (message === 'read') {
    isMeasuring = false
    process.send({ longestMs: await findLongestTurn(), inThreads: answeredInThreads.splice(0) })
    return
  }
  turns = []
  collections = []
  last = now()
  isMeasuring = true
  setImmediate(turn)
  process.send('measuring')
})
process.on('disconnect', () => {
  rmSync(dataDir, { recursive: true, force: true })
  process.exit()
})
process.send({ url: server.url, key: keys.get('main'), jobId })
