/**
 * Loaded into a server with `--import`: while a file exists, the thread that writes the database does not end
 * the next commit (`<STORE_FAULTS>/stall`), or ends itself (`<STORE_FAULTS>/crash`).
 */
import { existsSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { isMainThread, workerData } from 'node:worker_threads'

const isAsked = (fault) => existsSync(join(process.env.STORE_FAULTS, fault))
const clock = new Int32Array(new SharedArrayBuffer(4))

function stall() {
  if (!isAsked('stall')) return
  writeSync(2, 'a commit stalls\n')
  while (isAsked('stall')) Atomics.wait(clock, 0, 0, 10)
}

function crash() {
  if (!isAsked('crash')) return
  setImmediate(() => {
    throw new Error('thrown for the test')
  })
}

if (!isMainThread && workerData?.thread === 'store') {
  const Sqlite = createRequire(new URL('../../package.json', import.meta.url))('better-sqlite3')
  const statement = Object.getPrototypeOf(new Sqlite(':memory:').prepare('select 1'))
  const { run } = statement
  statement.run = function (...values) {
    const result = run.apply(this, values)
    if (this.source === 'commit') {
      stall()
      crash()
    }
    return result
  }
}
