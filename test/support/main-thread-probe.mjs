/**
 * Loaded into a server with `--import`: records what its main thread does that can make decisions wait. From
 * the first SIGUSR2 to SIGTERM it notes each synchronous call of `node:fs` and each call of better-sqlite3,
 * with its stack, and the processor time of each stretch: what runs from one event to the next before the
 * thread turns to another. Each SIGUSR2 begins a round. Writes a JSON report at the end.
 *
 * The processor time is that of the main thread alone, from /proc, so other programs, other threads and the
 * disk do not count. The pauses of the garbage collector are subtracted.
 */
import { createHook } from 'node:async_hooks'
import fs from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { PerformanceObserver } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

const { openSync, readSync, writeFileSync, writeSync } = fs
const longStretchMs = 5
const maxStackFrames = 30

/** How often each call was made, by its name and stack. */
const calls = new Map()
/** Of each round, the long stretches. */
const rounds = []
const collections = []
let isRecording = false

function note(name) {
  if (!isRecording) return
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = maxStackFrames
  const { stack } = new Error()
  Error.stackTraceLimit = stackTraceLimit
  const frames = stack
    .split('\n')
    .slice(1)
    .filter((line) => line.includes('/dist/'))
    .map((line) => line.trim().replace(/^at |file:\/\/.*\/dist\//g, ''))
  const key = JSON.stringify({ name, frames })
  calls.set(key, (calls.get(key) ?? 0) + 1)
}

function wrap(owner, name, describe) {
  const original = owner[name]
  owner[name] = function (...values) {
    note(describe(this, values))
    return original.apply(this, values)
  }
}

function wrapFileCalls() {
  const names = Object.keys(fs).filter((name) => name.endsWith('Sync'))
  for (const name of names) wrap(fs, name, (_, [first]) => `fs.${name} ${first}`)
  syncBuiltinESMExports()
}

function wrapDatabaseCalls() {
  const require = createRequire(new URL('../../package.json', import.meta.url))
  const Sqlite = require('better-sqlite3')
  const Noted = (...values) => {
    note(`sqlite.open ${values[0]}`)
    return new Sqlite(...values)
  }
  require.cache[require.resolve('better-sqlite3')].exports = Object.assign(Noted, Sqlite)
  const memory = new Sqlite(':memory:')
  const statement = Object.getPrototypeOf(memory.prepare('select 1'))
  for (const name of ['exec', 'pragma', 'close'])
    wrap(Sqlite.prototype, name, (database) => `sqlite.${name} ${database.name}`)
  for (const name of ['run', 'get', 'all', 'iterate']) {
    wrap(statement, name, ({ database, source }) => {
      const access = database.readonly ? 'read-only' : 'writable'
      return `sqlite.${name} ${access} ${database.name} ${source}`
    })
  }
}

/** What the event loop calls. A type that is missing here counts as part of the stretch before it. */
const events = new Set([
  'FSREQCALLBACK',
  'FSREQPROMISE',
  'Immediate',
  'MESSAGEPORT',
  'TCPCONNECTWRAP',
  'TCPSERVERWRAP',
  'TCPWRAP',
  'Timeout',
])

function measureStretches() {
  const ids = new Set()
  let depth = 0
  let current = { at: 0, cpuMs: Number.POSITIVE_INFINITY }
  const beginStretch = () => {
    const next = { at: performance.now(), cpuMs: readCpuMs() }
    const cpuMs = next.cpuMs - current.cpuMs
    if (cpuMs >= longStretchMs) rounds.at(-1).push({ from: current.at, until: next.at, cpuMs })
    current = next
  }
  createHook({
    init: (id, type) => events.has(type) && ids.add(id),
    before: (id) => {
      if (!isRecording || !ids.has(id)) return
      depth += 1
      if (depth === 1) beginStretch()
    },
    after: (id) => {
      if (isRecording && ids.has(id)) depth = Math.max(0, depth - 1)
    },
    destroy: (id) => ids.delete(id),
  }).enable()
  new PerformanceObserver((list) => collections.push(...list.getEntries())).observe({
    entryTypes: ['gc'],
  })
}

const schedulerStatistics = openSync(`/proc/self/task/${process.pid}/schedstat`)
const statisticsText = Buffer.alloc(64)

/** Of the main thread. */
function readCpuMs() {
  // Linux brings the statistics up to date when it is asked for the usage of the process.
  process.cpuUsage()
  readSync(schedulerStatistics, statisticsText, 0, statisticsText.length, 0)
  return Number(statisticsText.toString('latin1', 0, statisticsText.indexOf(' '))) / 1e6
}

function collectedMs({ from, until }) {
  const own = collections.filter(({ startTime }) => startTime >= from && startTime < until)
  return own.reduce((sum, { duration }) => sum + duration, 0)
}

function report() {
  return {
    longestStretchMsOfRounds: rounds.map((stretches) =>
      Math.max(0, ...stretches.map((stretch) => stretch.cpuMs - collectedMs(stretch))),
    ),
    calls: [...calls].map(([key, count]) => ({ ...JSON.parse(key), count })),
  }
}

if (isMainThread) {
  wrapFileCalls()
  wrapDatabaseCalls()
  measureStretches()
  process.on('SIGUSR2', () => {
    isRecording = true
    rounds.push([])
    writeSync(2, `recording round ${rounds.length}\n`)
  })
  process.prependListener('SIGTERM', () => {
    isRecording = false
  })
  process.on('exit', () => writeFileSync(process.env.PROBE_REPORT, JSON.stringify(report())))
}
