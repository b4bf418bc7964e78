/** Compares look-ups in a number list, Redis, SQLite and PostgreSQL on the same machine. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openNumberList } from '../../src/data/number-list/format/number-list.js'
import { NumberListBuilder } from '../../src/data/number-list/format/number-list-builder.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { heapGrowth } from '../heap-growth.js'
import { seededRandom } from '../random.js'
import { figure, printTable, spreadOf } from '../rounds.js'
import { postgresStore } from './postgres-store.js'
import { redisStore } from './redis-store.js'
import type { Registry } from './registry.js'
import { sqliteStore } from './sqlite-store.js'
import { isMissing, type Store } from './store.js'

const rounds = 3

export interface Amounts {
  readonly numbers: number
  readonly questions: number
}

export async function benchAgainstStores(registry: Registry, amounts: Amounts): Promise<void> {
  const numbers = numbersOf(registry, amounts.numbers)
  const asked = questions(numbers, registry, amounts.questions)
  const list = listStore()
  const wanted = [list, await redisStore(), sqliteStore(), await postgresStore()]
  const stores = wanted.flatMap((store) => (isMissing(store) ? [] : [store]))
  try {
    const rows: { name: string; bytes: number; fillSeconds: number; ns: number[] }[] = []
    for (const store of stores) {
      const started = performance.now()
      await store.fill(numbers)
      const fillSeconds = (performance.now() - started) / 1000
      rows.push({ name: store.name, bytes: await store.bytes(), fillSeconds, ns: [] })
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const [nth, store] of stores.entries()) rows[nth]?.ns.push(await store.lookUp(asked))
    }
    print(rows, numbers.length)
  } finally {
    for (const store of stores) await store.close()
  }
  for (const store of wanted) {
    if (isMissing(store)) process.stdout.write(`  not measured: ${store.name}: ${store.why}\n`)
  }
}

function print(
  rows: readonly { name: string; bytes: number; fillSeconds: number; ns: readonly number[] }[],
  count: number,
): void {
  const [list] = rows
  const median = (ns: readonly number[]) => spreadOf(ns).median
  printTable(
    [
      `${figure(count / 1e6)} million numbers`,
      'MB',
      'times the list',
      'ns a look-up',
      'times the list',
      's to fill',
    ],
    rows.map(({ name, bytes, fillSeconds, ns }) => [
      name,
      figure(bytes / 1e6),
      figure(bytes / (list?.bytes ?? Number.NaN)),
      figure(median(ns)),
      figure(median(ns) / median(list?.ns ?? [])),
      figure(fillSeconds),
    ]),
  )
}

function numbersOf(registry: Registry, wanted: number): Float64Array {
  const numbers = new Float64Array(wanted)
  let count = 0
  for (const prefix of registry.prefixes) {
    for (let line = 0; line < 10_000 && count < wanted; line += 1) {
      if (!registry.has(prefix, line)) continue
      numbers[count] = prefix * 10_000 + line
      count += 1
    }
    if (count === wanted) break
  }
  return numbers.subarray(0, count)
}

/** Half of them are random listed numbers, half are random numbers close to these. */
function questions(numbers: Float64Array, registry: Registry, count: number): Float64Array {
  const below = seededRandom(12)
  const last = numbers.at(-1) ?? 0
  const prefixes = registry.prefixes.filter((prefix) => prefix * 10_000 <= last)
  return Float64Array.from({ length: count }, () =>
    below(2) === 0
      ? (numbers[below(numbers.length)] ?? 0)
      : (prefixes[below(prefixes.length)] ?? 0) * 10_000 + below(10_000),
  )
}

function listStore(): Store {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  const path = join(folder, 'custom-bench.cglist')
  let opened = { made: undefined as ReturnType<typeof openNumberList> | undefined, bytes: 0 }
  return {
    name: 'number list, in process',
    async fill(numbers) {
      const builder = new NumberListBuilder()
      for (const number of numbers) builder.addDigits(Math.floor(number / 1e4), number % 1e4)
      await builder.write(path, {
        name: 'custom-bench',
        asOf: 0,
        importedAt: 0,
        coverage: 'all',
        sources: [],
        feed: 'list',
        previous: null,
      })
      opened = await heapGrowth(() => openNumberList(path))
    },
    bytes: async () => opened.bytes,
    async lookUp(numbers) {
      const { made } = opened
      if (!made) throw new Error('the list is not filled')
      const texts = Array.from(numbers, (number) => toPhoneNumber(String(number)))
      let found = 0
      const started = performance.now()
      for (const text of texts) if (made.has(text)) found += 1
      const elapsedMs = performance.now() - started
      if (found === 0 || found === texts.length) throw new Error('this measures nothing')
      return (elapsedMs * 1e6) / texts.length
    },
    async close() {
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
