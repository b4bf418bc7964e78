/** A number list of five million against a JavaScript Set of the same numbers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importList } from '../src/data/number-list/list-import.js'
import { openNumberList } from '../src/data/number-list/number-list.js'
import { systemClock } from '../src/domain/clock.js'
import type { NumberSet } from '../src/domain/number-set.js'
import { type PhoneNumber, phoneNumber } from '../src/domain/phone-number.js'
import { heapGrowth } from './heap-growth.js'
import { seededRandom } from './random.js'
import { type Contender, compare, figure, printTable } from './rounds.js'

const size = 5_000_000
const rounds = 5
const queries = 500_000
const fewNumbers = 1_000
const firstAreaCode = 201
const areaCodes = 12
const prefixes = areaCodes * 800

type Members = Pick<NumberSet, 'has'>

export async function benchLists(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  try {
    const numbers = drawNumbers()
    const imported = await timed(() => importNumbers(folder, numbers))
    const list = await heapGrowth(() => openNumberList(imported.made))
    const set = await heapGrowth(() => timed(() => new Set(texts(numbers, size))))
    printTable(
      [`${size / 1e6} million numbers`, 'MB in memory', 'million/s built'],
      [
        ['number list, import of a text file', megabytes(list.bytes), rate(imported.seconds)],
        ['Set of strings, filled in memory', megabytes(set.bytes), rate(set.made.seconds)],
      ],
    )
    await compare('ns a look-up', lookUps(numbers, list.made, set.made.made), rounds)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Different numbers of a few area codes, in no order. Squaring crowds them into some prefixes, so
 * that both kinds of container occur.
 */
function drawNumbers(): Float64Array {
  const below = seededRandom(11)
  const taken = new Uint8Array(prefixes * 10_000)
  const numbers = new Float64Array(size)
  for (let count = 0; count < size; ) {
    const drawn = below(2 ** 32) / 2 ** 32
    const place = Math.floor(drawn * drawn * prefixes) * 10_000 + below(10_000)
    if (taken[place] === 1) continue
    taken[place] = 1
    numbers[count] = numberAt(place)
    count += 1
  }
  return numbers
}

/** Exchanges run from 200 to 999. */
function numberAt(place: number): number {
  const prefix = Math.floor(place / 10_000)
  const areaCode = firstAreaCode + Math.floor(prefix / 800)
  return (areaCode * 1000 + 200 + (prefix % 800)) * 10_000 + (place % 10_000)
}

async function importNumbers(folder: string, numbers: Float64Array): Promise<string> {
  const file = join(folder, 'numbers.txt')
  writeFileSync(file, numbers.join('\n'))
  const options = { name: 'custom-bench', files: [file], folder, clock: systemClock }
  return (await importList({ ...options, areaCodes: 'all' })).path
}

/** Half of the questions are about numbers that are on the list. */
function lookUps(numbers: Float64Array, list: Members, set: Members): readonly Contender[] {
  const below = seededRandom(12)
  const anywhere = () =>
    below(2) === 0 ? (numbers[below(size)] ?? 0) : numberAt(below(prefixes * 10_000))
  const few = Float64Array.from({ length: fewNumbers }, anywhere)
  const many = Float64Array.from({ length: queries }, anywhere)
  return [
    { name: 'number list, numbers at random', run: () => ask(list, many) },
    { name: 'Set, numbers at random', run: () => ask(set, many) },
    { name: 'number list, the same thousand', run: () => ask(list, few) },
    { name: 'Set, the same thousand', run: () => ask(set, few) },
  ]
}

/** Texts are new in each round, as those of requests are. */
function ask(members: Members, numbers: Float64Array): number {
  const asked = [...texts(numbers, queries)]
  let found = 0
  const started = performance.now()
  for (const number of asked) if (members.has(number)) found += 1
  const elapsedMs = performance.now() - started
  if (found === 0 || found === queries) throw new Error(`${found} of ${queries} numbers found`)
  return (elapsedMs * 1e6) / queries
}

function* texts(numbers: Float64Array, count: number): Generator<PhoneNumber> {
  for (let index = 0; index < count; index += 1) {
    yield phoneNumber(String(numbers[index % numbers.length]))
  }
}

async function timed<Made>(make: () => Made | Promise<Made>) {
  const started = performance.now()
  const made = await make()
  return { made, seconds: (performance.now() - started) / 1000 }
}

function rate(seconds: number): string {
  return figure(size / 1e6 / seconds)
}

function megabytes(bytes: number): string {
  return figure(bytes / 1e6)
}
