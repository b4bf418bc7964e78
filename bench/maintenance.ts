/**
 * The longest hold of the event loop of a server that decides 200 calls a second while opt-outs are imported,
 * the database is copied as a backup, and its write-ahead log is brought into it. An idle process is measured
 * at the same time. Then the same with the journal on a disk of its own. (An import of the largest list is part of `lists`.)
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import type { HoldReading } from './holds-probe.js'
import { decisionsOf } from './http.js'
import { measuredCommand } from './lists/measured-command.js'
import { type Load, type LoadResult, latenciesOf, quantileOf, startLoad } from './load.js'
import { randomNumbers } from './random.js'
import { figure, printTable } from './rounds.js'
import { type Serving, serveCallgate, startIdleProbe } from './serving.js'

const perSecond = 200
const aimMs = 10
const quietMs = 10_000
/** A running server uses what was imported within a second. */
const takenUpWithinMs = 2_000
/** The load is stopped and looked at after so long. */
const stretchSeconds = 1
/** A disk in memory, on Linux, as a disk that nobody else writes to. */
const memory = '/dev/shm'

export async function benchMaintenance({ small }: { readonly small: boolean }): Promise<void> {
  const count = small ? 200_000 : 10_000_000
  await benchOnDisk(count)
  if (existsSync(memory)) await benchOnDisk(count, memory)
}

/** The journal is in a new folder below `journalDisk`, which is another disk than that of the data folder; in the data folder when absent. */
async function benchOnDisk(count: number, journalDisk?: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  const dataDir = join(folder, 'var')
  const elsewhere = journalDisk && mkdtempSync(join(journalDisk, 'callgate-bench-'))
  if (elsewhere !== undefined) {
    mkdirSync(dataDir)
    symlinkSync(elsewhere, join(dataDir, 'journal'))
  }
  const environment = { CALLGATE_DATA_DIR: dataDir, CALLGATE_SANDBOX_AT: '2026-11-23T18:00:00Z' }
  const optOuts = join(folder, 'opt-outs.csv')
  writeOptOuts(optOuts, count)
  const probe = join(import.meta.dirname, 'holds-probe.js')
  const load = startLoad()
  const idle = startIdleProbe(probe)
  const serving = await serveCallgate(environment, { probe })
  const withDatabase = async (work: (database: Sqlite.Database) => unknown) => {
    const database = new Sqlite(join(dataDir, 'callgate.sqlite'), { timeout: 60_000 })
    await work(database)
    database.close()
  }
  const jobs: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['nothing else (baseline)', () => sleep(quietMs)],
    [
      `import of ${figure(count)} opt-outs`,
      async () => {
        await measuredCommand(['records', 'import', 'opt-outs', optOuts], environment)
        await sleep(takenUpWithinMs)
      },
    ],
    ['checkpoint', () => withDatabase((one) => one.pragma('wal_checkpoint(TRUNCATE)'))],
    ['backup', () => withDatabase((one) => one.backup(join(folder, 'backup.sqlite')))],
  ]
  try {
    await measure({ load, serving, idle }, () => sleep(quietMs / 4))
    const rows: (readonly string[])[] = []
    for (const [name, work] of jobs) {
      rows.push([name, ...(await measure({ load, serving, idle }, work))])
    }
    printTable(
      [
        `${perSecond} decisions a second${journalDisk ? `, journal in ${journalDisk},` : ''} beside`,
        'seconds',
        `longest hold, ms, GC aside (aim: ${aimMs})`,
        'with GC',
        'of an idle process',
        'p50 ms',
        'p99 ms',
        'slowest',
        'not allowed',
      ],
      rows,
    )
  } finally {
    await serving.end()
    await idle.end()
    load.end()
    rmSync(folder, { recursive: true, force: true })
    if (elsewhere !== undefined) rmSync(elsewhere, { recursive: true, force: true })
  }
}

/** In parts: a text of all lines would take hundreds of megabytes. */
function writeOptOuts(path: string, count: number): void {
  const file = openSync(path, 'w')
  writeSync(file, 'number,date\n')
  const partSize = 100_000
  for (let written = 0; written < count; written += partSize) {
    const numbers = randomNumbers(Math.min(partSize, count - written), written + 1, () => true)
    writeSync(file, numbers.map((number) => `${number},2026-11-20\n`).join(''))
  }
  closeSync(file)
}

interface Measuring {
  readonly load: Load
  readonly serving: Serving
  readonly idle: Pick<Serving, 'ask'>
}

async function measure(
  { load, serving, idle }: Measuring,
  work: () => Promise<unknown>,
): Promise<readonly string[]> {
  const { url, sandboxKey } = serving
  const decisions = decisionsOf(url, sandboxKey, '"decision":"allow"')
  const order = { ...decisions, connections: 8, seconds: stretchSeconds, perSecond }
  for (const { ask } of [serving, idle]) await ask('reset')
  const results: LoadResult[] = []
  let isWorking = true
  const startedAt = performance.now()
  const working = work().finally(() => {
    isWorking = false
  })
  while (isWorking) results.push(await load.run(order))
  await working
  const seconds = (performance.now() - startedAt) / 1_000
  const held = (await serving.ask('read')) as HoldReading
  const idling = (await idle.ask('read')) as HoldReading
  const ms = latenciesOf(results)
  const allowed = latenciesOf(results, 'allow').length
  const asked = results.length * stretchSeconds * perSecond
  return [
    ...[seconds, held.longestBesideGcMs, held.longestMs, idling.longestMs],
    ...[0.5, 0.99, 1].map((share) => quantileOf(ms, share)),
    asked - allowed,
  ].map(figure)
}
