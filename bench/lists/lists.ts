/**
 * Lists at the size of a national registry: import, load, look-ups, a day's changes, the same look-ups
 * in other stores, and how an import affects the answers of a running server. `--small` measures a few
 * million numbers instead of 258.5 million.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import {
  openNumberList,
  openNumberListInBackground,
} from '../../src/data/number-list/format/number-list.js'
import { readNumberingTable } from '../../src/data/numbering/numbering-table.js'
import { type PhoneNumber, toPhoneNumber } from '../../src/domain/phone-number.js'
import { listAreaCodes } from '../../src/law/area-codes.js'
import { heapGrowth } from '../heap-growth.js'
import { importNumberingIfPresent } from '../numbering-data.js'
import { seededRandom } from '../random.js'
import { figure, printTable, spreadOf } from '../rounds.js'
import { benchAgainstStores } from './against-stores.js'
import { measuredCommand, type Taken } from './measured-command.js'
import { Registry, writeChanges, writeRegistry } from './registry.js'
import { benchSwap } from './swap.js'

const rounds = 5
const registrySize = 258_500_000
/** As dense as the full list, so with fewer prefixes. */
const smallShare = 1 / 64

export async function benchLists({ small }: { readonly small: boolean }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  try {
    const { prefixes, from } = await assignedPrefixes(join(folder, 'numbering'))
    const share = small ? smallShare : 1
    const used = prefixes.subarray(0, Math.ceil(prefixes.length * share))
    const registry = new Registry(used, registrySize * share)
    const { files, numbers } = writeRegistry(registry, join(folder, 'registry'))
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
    process.stdout.write(
      `  ${numbers.toLocaleString('en-US')} made-up numbers of ${used.length.toLocaleString('en-US')} ` +
        `prefixes (${from}) in ${files.length} flat files, ${figure(bytes / 1e6)} MB\n`,
    )
    const bench: Bench = { folder, registry, files, numbers, small }
    const imported = await importAll(bench)
    const read = await benchReading(bench)
    const changed = await importChanges(bench)
    printTable(
      ['work', 'figure', 'aim at 258.5 million', 'unit'],
      [...imported, ...read, ...changed].map(({ work, value, aim, unit }) => [
        work,
        figure(value),
        aim,
        unit,
      ]),
    )
    await benchSwap(bench)
    const compared = small ? 500_000 : 10_000_000
    await benchAgainstStores(registry, { numbers: compared, questions: small ? 2_000 : 200_000 })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface Bench {
  /** Contains all files; removed at the end. */
  readonly folder: string
  readonly registry: Registry
  readonly files: readonly string[]
  readonly numbers: number
  readonly small: boolean
}

interface Figure {
  readonly work: string
  readonly value: number
  readonly aim: string
  readonly unit: string
}

async function assignedPrefixes(folder: string) {
  mkdirSync(folder, { recursive: true })
  await importNumberingIfPresent(folder)
  const us = readNumberingTable(folder, 'US')
  if (us) return { prefixes: us.keys, from: 'those assigned in the US' }
  const made = listAreaCodes().flatMap((areaCode) =>
    Array.from({ length: 800 }, (_, nth) => Number(areaCode) * 1000 + 200 + nth),
  )
  return {
    prefixes: Uint32Array.from(made).sort(),
    from: 'all that area codes in service can have',
  }
}

const listPath = ({ folder }: Bench) => join(folder, 'var/lists/us-dnc.cglist')

export function environmentOf({ folder }: Pick<Bench, 'folder'>): Readonly<Record<string, string>> {
  return { CALLGATE_DATA_DIR: join(folder, 'var'), CALLGATE_LISTS_KEEP_VERSIONS: '1' }
}

const asOf = '2026-11-18'

async function importAll(bench: Bench): Promise<readonly Figure[]> {
  const args = ['import', 'us-dnc', '--as-of', asOf, ...bench.files]
  const taken = await measuredCommand(args, environmentOf(bench))
  return [
    ...figuresOf('import of the flat files', taken, { seconds: '150', peakMb: '1,000' }),
    {
      work: 'lines a second',
      value: bench.numbers / taken.seconds / 1e6,
      aim: '',
      unit: 'million',
    },
    { work: 'list on disk', value: statSync(listPath(bench)).size / 1e6, aim: '', unit: 'MB' },
  ]
}

/** Applies the changes of a day: reads, changes and writes the list. */
async function importChanges(bench: Bench): Promise<readonly Figure[]> {
  const rows = bench.small ? 20_000 : 1_000_000
  const path = join(bench.folder, 'changes.txt')
  writeChanges(bench.registry, path, rows, '2026-11-18T12:00:00')
  const taken = await measuredCommand(['import', 'us-dnc-changes', path], environmentOf(bench))
  const work = `changes of a day, ${rows.toLocaleString('en-US')} lines`
  return figuresOf(work, taken, { seconds: '5', peakMb: '' })
}

function figuresOf(work: string, taken: Taken, aims: { seconds: string; peakMb: string }) {
  return [
    { work, value: taken.seconds, aim: aims.seconds, unit: 's' },
    { work: `${work}: memory`, value: taken.peakMb, aim: aims.peakMb, unit: 'MB resident' },
  ]
}

async function benchReading(bench: Bench): Promise<readonly Figure[]> {
  const path = listPath(bench)
  const loads: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now()
    openNumberList(path)
    loads.push((performance.now() - started) / 1000)
  }
  const list = await heapGrowth(() => openNumberList(path))
  const looks: number[] = []
  const reads: number[] = []
  const memory = new Uint16Array(Math.ceil(list.bytes / 2)).fill(1)
  for (let round = 0; round < rounds; round += 1) {
    looks.push(lookUps(bench, list.made, round))
    reads.push(randomReads(memory, round))
  }
  const wrong = countWrong(bench, list.made)
  const held = await longestHold(path)
  return [
    { work: 'memory of the list', value: list.bytes / 1e6, aim: '300', unit: 'MB' },
    { work: 'load at start', value: spreadOf(loads).median, aim: '2', unit: 's' },
    { work: 'look-up, hits and misses', value: spreadOf(looks).median, aim: '100', unit: 'ns' },
    { work: 'the slowest of 5 rounds', value: spreadOf(looks).max, aim: '', unit: 'ns' },
    {
      work: 'baseline: one read of as much memory',
      value: spreadOf(reads).median,
      aim: '',
      unit: 'ns',
    },
    { work: 'answers proved', value: wrong.asked / 1e6, aim: '', unit: 'million' },
    { work: 'wrong answers', value: wrong.wrong, aim: '0', unit: '' },
    { work: 'longest hold while a running server loads', value: held, aim: '20', unit: 'ms' },
  ]
}

interface Members {
  has(number: PhoneNumber): boolean
}

/** Half of the look-ups are of listed numbers. Strings are new, like those of requests. */
function lookUps({ registry }: Bench, list: Members, seed: number): number {
  const below = seededRandom(seed + 100)
  const { prefixes } = registry
  const texts: PhoneNumber[] = []
  while (texts.length < 500_000) {
    const prefix = prefixes[below(prefixes.length)] ?? 0
    const line = below(10_000)
    const wantsListed = texts.length % 2 === 0
    if (registry.has(prefix, line) === wantsListed) texts.push(numberOf(prefix, line))
  }
  let found = 0
  const started = performance.now()
  for (const text of texts) if (list.has(text)) found += 1
  const elapsedMs = performance.now() - started
  if (found !== texts.length / 2) throw new Error(`${found} of ${texts.length} numbers found`)
  return (elapsedMs * 1e6) / texts.length
}

/** Memory access time of this machine, independent of the data structure. */
function randomReads(memory: Uint16Array, seed: number): number {
  const below = seededRandom(seed + 200)
  const places = Uint32Array.from({ length: 500_000 }, () => below(memory.length))
  let sum = 0
  const started = performance.now()
  for (const place of places) sum += memory[place] ?? 0
  const elapsedMs = performance.now() - started
  if (sum !== places.length) throw new Error('the memory is not what it was')
  return (elapsedMs * 1e6) / places.length
}

/** Compares every line of some prefixes, spread over all of them, with the input. */
function countWrong({ registry, small }: Bench, list: Members) {
  const every = small ? 7 : 101
  let [asked, wrong] = [0, 0]
  for (let nth = 0; nth < registry.prefixes.length; nth += every) {
    const prefix = registry.prefixes[nth] ?? 0
    for (let line = 0; line < 10_000; line += 1) {
      if (list.has(numberOf(prefix, line)) !== registry.has(prefix, line)) wrong += 1
      asked += 1
    }
  }
  return { asked, wrong }
}

function numberOf(prefix: number, line: number): PhoneNumber {
  return toPhoneNumber(`${prefix}${String(line).padStart(4, '0')}`)
}

/** Longest block of the event loop, in milliseconds, while the list was read in the background. */
async function longestHold(path: string): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await openNumberListInBackground(path)
  delay.disable()
  return delay.max / 1e6
}
