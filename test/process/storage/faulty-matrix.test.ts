/**
 * The built program on files that fail: a sample of the matrix, or with `SEED=` as many cells chosen by it. `CELLS=`
 * with a regular expression runs each such cell and prints a table.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../data/random-numbers.js'
import { compileFaultyFiles, operationNames } from '../../support/faulty-files.js'
import {
  allCells,
  type Cell,
  type CellResult,
  describeCell,
  effectNames,
  observe,
  runCell,
} from '../../support/faulty-matrix.js'
import { serve } from '../../support/program.js'
import { makeDecision, testJournal } from '../../support/test-journal.js'

/** What of the whole matrix runs, as a regular expression of its descriptions: `CELLS='^load: .*, once$'`. */
const chosen = new RegExp(process.env.CELLS ?? '')
/** Cells at a time. */
const parallel = Number(process.env.PARALLEL ?? 2)
const isLong = process.env.CELLS !== undefined

let folder: string
let template: string
let library: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-matrix-'))
  template = join(folder, 'template')
  library = compileFaultyFiles(folder)
  await writeTemplate()
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** With decisions to be removed by the next start: of weeks more than six years ago, and of enough recent days to know what day it is. */
async function writeTemplate(): Promise<void> {
  mkdirSync(template)
  const msPerDay = 86_400_000
  const today = Math.floor(Date.now() / msPerDay)
  const days = [...[0, 7, 14, 21].map((day) => day - 6 * 366), ...[-9, -8, -7, -6, -5, -4, -3, -2]]
  let now = 0
  const { journal, append } = testJournal(template, () => now, { keepYears: 100 })
  for (const [nth, day] of days.entries()) {
    now = (today + day) * msPerDay
    if (nth === 0) await journal.open()
    const id = `${nth}`.padStart(29, '0')
    await append(await makeDecision({ id, decidedAt: now, accountId: 'sandbox' }))
  }
  await journal.drain()
  await journal.close()
  writeFileSync(join(template, 'callgate.yaml'), '{}\n')
  const keeping = { CALLGATE_DATA_DIR: template, CALLGATE_JOURNAL_KEEP_YEARS: '100' }
  expect(await (await serve(keeping, ['--init'])).end('SIGTERM')).toBe(0)
}

async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item, folder: string) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  const waiting = [...items.entries()]
  const run = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [nth, item] = next
      results[nth] = await work(item, join(folder, `${nth}`))
    }
  }
  await Promise.all(Array.from({ length: parallel }, run))
  return results
}

async function runAndPrint(cell: Cell, place: string): Promise<CellResult> {
  const result = await runCell(cell, { template, folder: place, library })
  const { hits, problem } = result
  console.log(`${describeCell(cell)}: ${hits} hits${problem ? `: ${problem}` : ''}`)
  return result
}

describe('files that fail', () => {
  it.runIf(isLong)(
    'lose nothing, cell by cell of the matrix',
    async () => {
      const groups = groupCells(allCells.filter((cell) => chosen.test(describeCell(cell))))
      const rows = await inParallel([...groups], async ([name, cells], place) => {
        const [first] = cells
        if (!first) return []
        const seen = await observe(first, { template, folder: place, library })
        const never = operationNames.filter((one) => !seen.includes(one))
        console.log(`${name}: never ${never.join(', ')}`)
        const results: CellResult[] = []
        for (const cell of cells) {
          if (seen.includes(cell.operation)) results.push(await runAndPrint(cell, place))
        }
        return results
      })
      const results = rows.flat()
      console.log(formatTable(results))
      expect(results.flatMap(({ cell, problem }) => problem && describeCell(cell))).toEqual(
        results.map(() => undefined),
      )
    },
    86_400_000,
  )

  it.skipIf(isLong)('lose nothing, in a sample', async () => {
    const cells = process.env.SEED === undefined ? sample : chooseCells(Number(process.env.SEED))
    const results = await inParallel(cells, runAndPrint)
    expect(results.flatMap(({ cell, problem }) => problem ?? describeCell(cell))).toEqual(
      cells.map((cell) => describeCell(cell)),
    )
    if (process.env.SEED === undefined) {
      expect(results.filter(({ hits }) => hits === 0).map(({ cell }) => cell)).toEqual([])
    }
  })
})

const sample: readonly Cell[] = [
  { when: 'start', kind: 'database', operation: 'stat', effect: 'once' },
  { when: 'start', kind: 'serving.lock', operation: 'read', effect: 'once' },
  { when: 'start', kind: 'checkpoint', operation: 'read', effect: 'once' },
  { when: 'load', kind: 'segment', operation: 'flush', effect: 'once' },
  { when: 'load', kind: 'database -wal', operation: 'flush', effect: '300 ms' },
]

function chooseCells(seed: number): readonly Cell[] {
  console.log(`SEED=${seed}`)
  const random = seededRandom(seed)
  return sample.map(() => allCells[random(allCells.length)] as Cell)
}

/** A row for each operation on a kind of file: how often each effect was met, or that it failed. */
function formatTable(results: readonly CellResult[]): string {
  const rows = new Map<string, Map<string, string>>()
  for (const { cell, hits, problem } of results) {
    const name = `${cell.when}: ${cell.operation} of ${cell.kind}`
    const row = rows.get(name) ?? new Map<string, string>()
    row.set(cell.effect, problem === undefined ? `${hits || 'not met'}` : 'FAILED')
    rows.set(name, row)
  }
  const lines = [...rows].map(([name, row]) =>
    [name, ...effectNames.map((effect) => row.get(effect) ?? '-')].join(' | '),
  )
  return [['', ...effectNames].join(' | '), ...lines].join('\n')
}

function groupCells(cells: readonly Cell[]): ReadonlyMap<string, readonly Cell[]> {
  const groups = new Map<string, Cell[]>()
  for (const cell of cells) {
    const name = `${cell.when} ${cell.kind}`
    groups.set(name, [...(groups.get(name) ?? []), cell])
  }
  return groups
}
