/**
 * Decisions kept: how long new decisions, reading one and searching take with few and with many decisions
 * in the journal and its index, and how much disk each takes. The servers take turns.
 */
import { rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DecisionIndex } from '../src/gate/journal/decision-index.js'
import { decisionsOf } from './http.js'
import { type KeptJournal, makeJournal, serverSettings } from './kept-journal.js'
import {
  type Load,
  type LoadOrder,
  type LoadResult,
  latenciesOf,
  quantileOf,
  startLoad,
} from './load.js'
import { readMemoryMb } from './machine.js'
import { seededRandom } from './random.js'
import { figure, printTable } from './rounds.js'
import { type Serving, serveCallgate } from './serving.js'

const usual = { rounds: 5, seconds: 4 }
const quick = { rounds: 2, seconds: 2 }
const perSecond = 100
/** With `--full`, or as many as the disk has room for. */
const manyDecisions = 50_000_000
const searches = 40
/** Decisions that one search finds. */
const found = 100

interface Kept {
  readonly journal: KeptJournal
  readonly serving: Serving
  readonly startMs: number
  readonly decided: LoadResult[]
  readonly read: LoadResult[]
  readonly searchedMs: number[]
}

export async function benchKept(form: {
  readonly small: boolean
  readonly full: boolean
}): Promise<void> {
  const { rounds, seconds } = form.small ? quick : usual
  const counts = form.small ? [10_000, 100_000] : [10_000, 1_000_000]
  if (form.full) counts.push(manyDecisions)
  const load = startLoad()
  const journals: KeptJournal[] = []
  const all: Kept[] = []
  try {
    for (const wanted of counts) {
      const count = Math.min(wanted, countThatFits(journals.at(-1)))
      process.stderr.write(`kept: making ${figure(count)} decisions\n`)
      journals.push(await makeJournal(count))
    }
    printJournals(journals)
    for (const journal of journals) all.push(await serve(journal))
    for (const kept of all) await measure(kept, load, seconds)
    for (const kept of all) {
      for (const values of [kept.decided, kept.read, kept.searchedMs]) values.length = 0
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const kept of all) await measure(kept, load, seconds)
    }
    printLatencies(all)
  } finally {
    for (const { serving } of all) await serving.end()
    for (const { dataDir } of journals) rmSync(dataDir, { recursive: true, force: true })
    load.end()
  }
}

/** Leaves a tenth of the free space. */
function countThatFits(last: KeptJournal | undefined): number {
  const { bavail, bsize } = statfsSync(tmpdir())
  const bytesEach = last ? last.compressedBytesEach + last.indexBytesEach : Number.NaN
  // It is not known after the smallest journal, of which no segment is complete.
  return Number.isNaN(bytesEach) ? Infinity : Math.floor((bavail * bsize * 0.9) / bytesEach)
}

async function serve(journal: KeptJournal): Promise<Kept> {
  const startedAt = performance.now()
  const serving = await serveCallgate({ ...serverSettings, CALLGATE_DATA_DIR: journal.dataDir })
  const startMs = performance.now() - startedAt
  return { journal, serving, startMs, decided: [], read: [], searchedMs: [] }
}

const below = seededRandom(50)

async function measure(kept: Kept, load: Load, seconds: number): Promise<void> {
  const { serving, journal, decided, read, searchedMs } = kept
  const { url, sandboxKey } = serving
  const shape = { connections: 4, seconds, perSecond }
  decided.push(await load.run({ ...decisionsOf(url, sandboxKey, '"decision":"allow"'), ...shape }))
  const requests = Array.from({ length: seconds * perSecond }, () => {
    const id = journal.ids[below(journal.ids.length)]
    return { method: 'GET', path: `/v1/decisions/${id}` } as const
  })
  const expected = { record: { text: '"decision":"' } }
  const order: LoadOrder = { url, requests, headers: { loginId: sandboxKey }, ...shape, expected }
  read.push(await load.run(order))
  searchedMs.push(...search(journal))
}

/** Milliseconds of each search: the first decisions since an instant, as `callgate compare` reads them. */
function search({ dataDir, firstAt, lastAt }: KeptJournal): readonly number[] {
  const index = new DecisionIndex(join(dataDir, 'index.sqlite'), join(dataDir, 'journal'))
  const ms = Array.from({ length: searches }, () => {
    const since = firstAt + below(lastAt - firstAt)
    const startedAt = performance.now()
    const decisions = index.decisionsSince('sandbox', since)
    for (let count = 0; count < found && !decisions.next().done; count += 1);
    decisions.return(undefined)
    return performance.now() - startedAt
  })
  index.close()
  return ms
}

function printJournals(journals: readonly KeptJournal[]): void {
  printTable(
    [
      'decisions',
      'bytes each, written',
      'compressed (aim: below 500)',
      'in the index',
      'made/s',
      'written/s',
      'indexed/s',
      'compressed/s',
    ],
    journals.map((journal) => [
      figure(journal.count),
      figure(journal.writtenBytesEach),
      figure(journal.compressedBytesEach),
      figure(journal.indexBytesEach),
      ...[journal.madePerSecond, journal.writtenPerSecond, journal.indexedPerSecond].map(figure),
      figure(journal.compressedPerSecond),
    ]),
  )
}

function printLatencies(all: readonly Kept[]): void {
  const [least] = all
  const p99 = (results: readonly LoadResult[]) => quantileOf(latenciesOf(results), 0.99)
  const p50 = (results: readonly LoadResult[]) => quantileOf(latenciesOf(results), 0.5)
  const shareOf = (ms: readonly number[], share: number) =>
    quantileOf(Float64Array.from(ms).sort(), share)
  const rows = all.map(({ journal, serving, startMs, decided, read, searchedMs }) => [
    figure(journal.count),
    figure(startMs),
    figure(readMemoryMb(serving.pid)),
    `${figure(p50(decided))}, ${figure(p99(decided))}`,
    `${figure(p50(read))}, ${figure(p99(read))}`,
    `${figure(shareOf(searchedMs, 0.5))}, ${figure(shareOf(searchedMs, 0.99))}`,
    least
      ? [
          p50(decided) / p50(least.decided),
          p50(read) / p50(least.read),
          shareOf(searchedMs, 0.5) / shareOf(least.searchedMs, 0.5),
        ]
          .map(figure)
          .join(', ')
      : '',
    String([...decided, ...read].reduce((sum, one) => sum + one.wrong + one.cut, 0)),
  ])
  printTable(
    [
      'decisions kept',
      'start ms',
      'MB',
      'new: p50, p99 ms',
      'read: p50, p99 ms',
      `search of ${found}: p50, p99 ms`,
      'p50s to the least (aim: 1)',
      'wrong',
    ],
    rows,
  )
}
