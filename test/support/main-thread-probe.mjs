/**
 * Loaded into a server with `--import`: records what its main thread does that can make decisions wait. From
 * the first SIGUSR2 to SIGTERM it notes each synchronous call of `node:fs` and each call of better-sqlite3,
 * with its stack, and its longest stretches. Each SIGUSR2 begins a round, and says how long the longest
 * stretch of the round before it was. Writes a JSON report at the end.
 */
import fs from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { measureStretches } from './stretches.mjs'

const { readdirSync, readFileSync, writeFileSync, writeSync } = fs
const maxStackFrames = 30

/** How often each call was made, by its name and stack. */
const calls = new Map()
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

/** The nice values of the process's threads, of each value one. */
function readNiceness() {
  const tasks = '/proc/self/task'
  const stats = readdirSync(tasks).map((id) => readFileSync(`${tasks}/${id}/stat`, 'utf8'))
  return [...new Set(stats.map((stat) => Number(stat.split(') ')[1].split(' ')[16])))]
}

let niceness = []

if (isMainThread) {
  wrapFileCalls()
  wrapDatabaseCalls()
  const stretches = measureStretches()
  process.on('SIGUSR2', () => {
    niceness = readNiceness()
    isRecording = true
    const longestMs = stretches.longestOfRounds().at(-1) ?? 0
    stretches.beginRound()
    writeSync(2, `longest stretch: ${longestMs} ms\n`)
  })
  process.prependListener('SIGTERM', () => {
    isRecording = false
    stretches.stop()
  })
  process.on('exit', () => {
    const report = {
      niceness,
      longestStretchMsOfRounds: stretches.longestOfRounds().slice(0, -1),
      calls: [...calls].map(([key, count]) => ({ ...JSON.parse(key), count })),
    }
    writeFileSync(process.env.PROBE_REPORT, JSON.stringify(report))
  })
}
