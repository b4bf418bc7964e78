/**
 * Loaded into a server with `--import`: records what its main thread does that can make decisions wait. From
 * SIGUSR2 to SIGTERM it notes each synchronous call of `node:fs` and each call of better-sqlite3, with its
 * stack, and the processor time of each turn of the event loop. Writes a JSON report at the end.
 *
 * The processor time is that of the main thread alone, from /proc, so other programs, other threads and the
 * disk do not count. Linux updates it at each tick of its scheduler, 1 to 4 ms apart, so a turn is measured
 * to within one tick. The pauses of the garbage collector are subtracted.
 */
import fs from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { PerformanceObserver } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

const { openSync, readSync, writeFileSync, writeSync } = fs
const longTurnMs = 5
const maxStackFrames = 30

/** How often each call was made, by its name and stack. */
const calls = new Map()
const turns = []
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

function measureTurns() {
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`)
  const text = Buffer.alloc(64)
  const readCpuMs = () => {
    readSync(file, text, 0, text.length, 0)
    return Number(text.toString('latin1', 0, text.indexOf(' '))) / 1e6
  }
  let last = { at: performance.now(), cpuMs: readCpuMs() }
  const endTurn = () => {
    const at = performance.now()
    const cpuMs = readCpuMs()
    if (isRecording && cpuMs - last.cpuMs >= longTurnMs) {
      turns.push({ from: last.at, until: at, cpuMs: Math.min(cpuMs - last.cpuMs, at - last.at) })
    }
    last = { at, cpuMs }
    // Does not keep the loop turning.
    setImmediate(endTurn).unref()
  }
  endTurn()
  new PerformanceObserver((list) => collections.push(...list.getEntries())).observe({
    entryTypes: ['gc'],
  })
}

function collectedMs({ from, until }) {
  const own = collections.filter(({ startTime }) => startTime >= from && startTime < until)
  return own.reduce((sum, { duration }) => sum + duration, 0)
}

function report() {
  return {
    longestTurnMs: Math.max(0, ...turns.map((turn) => turn.cpuMs - collectedMs(turn))),
    turns: turns.map((turn) => [turn.cpuMs, collectedMs(turn)]),
    calls: [...calls].map(([key, count]) => ({ ...JSON.parse(key), count })),
  }
}

if (isMainThread) {
  wrapFileCalls()
  wrapDatabaseCalls()
  measureTurns()
  process.on('SIGUSR2', () => {
    isRecording = true
    writeSync(2, 'recording\n')
  })
  process.prependListener('SIGTERM', () => {
    isRecording = false
  })
  process.on('exit', () => writeFileSync(process.env.PROBE_REPORT, JSON.stringify(report())))
}
