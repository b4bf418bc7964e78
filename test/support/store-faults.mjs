/**
 * Loaded into a server with `--import`: while a file exists, the thread that writes the database does not end
 * the next commit (`<STORE_FAULTS>/stall`), or ends itself (`<STORE_FAULTS>/crash`), and each commit
 * (`<STORE_FAULTS>/slow-commit`) or flush of the journal (`<STORE_FAULTS>/slow-flush`) takes as many milliseconds longer
 * as the file says.
 */
import fs, { existsSync, promises, readFileSync, writeSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isMainThread, workerData } from 'node:worker_threads'

const isAsked = (fault) => existsSync(join(process.env.STORE_FAULTS, fault))
const clock = new Int32Array(new SharedArrayBuffer(4))

function stall() {
  if (!isAsked('stall')) return
  writeSync(2, 'a commit stalls\n')
  while (isAsked('stall')) Atomics.wait(clock, 0, 0, 10)
}

const delayOf = (fault) =>
  isAsked(fault) ? Number(readFileSync(join(process.env.STORE_FAULTS, fault), 'utf8')) : 0
const delay = (fault) => Atomics.wait(clock, 0, 0, delayOf(fault))

const { fdatasyncSync } = fs
fs.fdatasyncSync = (file) => {
  delay('slow-flush')
  fdatasyncSync(file)
}
syncBuiltinESMExports()

if (isMainThread) {
  const file = await promises.open(import.meta.filename)
  const files = Object.getPrototypeOf(file)
  const { datasync } = files
  files.datasync = async function () {
    await setTimeout(delayOf('slow-flush'))
    await datasync.call(this)
  }
  await file.close()
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
    // What changes nothing is a commit of its own.
    if (/^(?:commit|pragma user_version)/.test(this.source)) delay('slow-commit')
    return result
  }
}
