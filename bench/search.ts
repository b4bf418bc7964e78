/**
 * Searching decisions: how long a page takes by each filter and by several together, the first page and one from the middle of the
 * journal, with few and with many decisions. The searches of all journals take turns.
 */
import { rmSync } from 'node:fs'
import { noLimits } from '../src/domain/caller.js'
import { toIdPrefix } from '../src/gate/journal/projection/decision-months.js'
import type { DecisionFilter } from '../src/gate/journal/search/decision-search.js'
import { IndexSearch } from '../src/gate/journal/search/index-search.js'
import type { DecisionDocument } from '../src/gate/record/decision-document.js'
import { systemClock } from '../src/runtime/runtime.js'
import { type KeptJournal, openKeptJournal } from './kept-journal.js'
import { quantileOf } from './load.js'
import { seededRandom } from './random.js'
import { figure, printTable } from './rounds.js'

const fewDecisions = 10_000
const manyDecisions = 1_000_000
/** With `--full`. */
const mostDecisions = 10_000_000
const smallCount = 100_000
const searches = 200
const limit = 50
const caller = { accountId: 'sandbox', keyId: '', limits: noLimits }
const below = seededRandom(61)

interface Searched {
  readonly journal: KeptJournal
  readonly search: IndexSearch
  /** Some decisions, whose values are looked for. */
  readonly samples: readonly DecisionDocument[]
}

interface Timing {
  readonly ms: number[]
  /** Of processor time, which other programs do not lengthen. */
  readonly processorMs: number[]
  decisions: number
  /** Pages that ended before the limit although there was more. */
  short: number
}

type MakeFilter = (sample: DecisionDocument, journal: KeptJournal) => DecisionFilter

const hour = 3_600_000

const filters: Readonly<Record<string, MakeFilter>> = {
  none: () => ({}),
  number: ({ number }) => ({ number }),
  reference: ({ reference }) => ({ reference }),
  'reason of a block': ({ decision, reason }) =>
    decision === 'block' ? { reason } : { reason: 'national-dnc' },
  'rare reason': () => ({ reason: 'litigator' }),
  block: () => ({ decision: 'block' }),
  allow: () => ({ decision: 'allow' }),
  kind: () => ({ callKind: 'ai' }),
  project: ({ projectId }) => ({ projectId }),
  'rare project': () => ({ projectId: 'RARE' }),
  'no such key': () => ({ keyId: 'none' }),
  hour: (_sample, { firstAt, lastAt }) => {
    const from = firstAt + below(Math.max(1, lastAt - firstAt - hour))
    return { from, to: from + hour }
  },
  'block, kind, project': ({ projectId }) => ({ decision: 'block', callKind: 'ai', projectId }),
  'block, no such key': () => ({ decision: 'block', keyId: 'none' }),
  'number, block, project': ({ number, projectId }) => ({ number, decision: 'block', projectId }),
}

export async function benchSearch(form: {
  readonly small: boolean
  readonly full: boolean
}): Promise<void> {
  const most = form.full ? mostDecisions : manyDecisions
  const counts = [fewDecisions, form.small ? smallCount : most]
  const all: Searched[] = []
  const temporary: string[] = []
  try {
    for (const count of counts) {
      process.stderr.write(`search: making ${figure(count)} decisions\n`)
      const { journal, stays } = await openKeptJournal(count)
      if (!stays) temporary.push(journal.dataDir)
      all.push(await open(journal))
    }
    printTable(
      ['decisions', 'bytes in the index, each', 'indexed/s'],
      all.map(({ journal: { count, indexBytesEach, indexedPerSecond } }) =>
        [count, indexBytesEach, indexedPerSecond].map(figure),
      ),
    )
    for (const depth of ['first', 'middle'] as const) await measure(all, depth)
  } finally {
    for (const { search } of all) search.close()
    for (const folder of temporary) rmSync(folder, { recursive: true, force: true })
  }
}

async function open(journal: KeptJournal): Promise<Searched> {
  const search = new IndexSearch({ dataDir: journal.dataDir, clock: systemClock })
  const samples: DecisionDocument[] = []
  for (let count = 0; count < searches; count += 1) {
    const before = `${journal.ids[below(journal.ids.length)]}~`
    const page = await search.search({ caller, filter: {}, before, limit: 1 })
    samples.push(...page.decisions)
  }
  return { journal, search, samples }
}

async function measure(all: readonly Searched[], depth: 'first' | 'middle'): Promise<void> {
  const rows: string[][] = []
  for (const [name, makeFilter] of Object.entries(filters)) {
    const timings = all.map((): Timing => ({ ms: [], processorMs: [], decisions: 0, short: 0 }))
    for (let turn = 0; turn < searches; turn += 1) {
      for (const [index, searched] of all.entries()) {
        const timing = timings[index]
        if (timing) await searchOnce(searched, { turn, depth, makeFilter, timing })
      }
    }
    const least = quantile(timings[0]?.processorMs, 0.5)
    for (const [index, timing] of timings.entries()) {
      rows.push([
        index === 0 ? name : '',
        figure(all[index]?.journal.count ?? 0),
        ...[0.5, 0.99, 1].map((share) => figure(quantile(timing.ms, share))),
        ...[0.5, 0.99].map((share) => figure(quantile(timing.processorMs, share))),
        figure(quantile(timing.processorMs, 0.5) / least),
        figure(timing.decisions / searches),
        `${figure((timing.short / searches) * 100)} %`,
      ])
    }
  }
  printTable(
    [
      `${depth} page, by`,
      'decisions',
      'p50 ms',
      'p99 ms',
      'max ms (aim: below 20)',
      'processor p50 ms',
      'p99 ms',
      'p50 to the least',
      `found, of ${limit}`,
      'ended early',
    ],
    rows,
  )
}

async function searchOnce(
  { journal, search, samples }: Searched,
  {
    turn,
    depth,
    makeFilter,
    timing,
  }: {
    readonly turn: number
    readonly depth: 'first' | 'middle'
    readonly makeFilter: MakeFilter
    readonly timing: Timing
  },
): Promise<void> {
  const sample = samples[turn % samples.length]
  if (sample === undefined) return
  const { firstAt, lastAt } = journal
  const filter = makeFilter(sample, journal)
  const before = depth === 'first' ? undefined : toIdPrefix(firstAt + below(lastAt - firstAt))
  const startedAt = performance.now()
  const usedBefore = process.cpuUsage()
  const page = await search.search({ caller, filter, before, limit })
  const { user, system } = process.cpuUsage(usedBefore)
  timing.ms.push(performance.now() - startedAt)
  timing.processorMs.push((user + system) / 1_000)
  timing.decisions += page.decisions.length
  if (page.next !== undefined && page.decisions.length < limit) timing.short += 1
}

const quantile = (ms: readonly number[] = [], share: number): number =>
  quantileOf(Float64Array.from(ms).sort(), share)
