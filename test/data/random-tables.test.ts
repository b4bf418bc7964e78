/**
 * Random tables against a slow reader: no telephone number of a column of numbers is neither read nor named in an error. Set
 * CALLGATE_TEST_RUNS for a longer search.
 */
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { BadLines } from '../../src/data/feeds/bad-lines.js'
import { readPlainNumbers } from '../../src/data/feeds/lists/plain-numbers.js'
import { readOptOuts } from '../../src/data/feeds/record-files.js'
import type { TableOptions } from '../../src/data/feeds/table-layout.js'
import { DataFileError } from '../../src/errors.js'
import { shortOrLong } from '../support/long.js'
import { readSlowly, type SlowTable } from '../support/slow-table.js'
import { numberText, seededRandom } from './random-numbers.js'

type Random = ReturnType<typeof seededRandom>

const numberHeaders = [
  'phone',
  'Phone Number',
  'mobile',
  'Home Phone',
  'Téléphone',
  'Alt',
  'number',
]
const otherHeaders = ['name', 'city', 'notes', 'id', 'State', 'Zip', 'Straße']
const decidingHeaders = ['status', 'Do Not Call', 'action', 'expires']
const words = ['Ann', 'Zoé', 'x', '', '10001', 'call later', 'a-b', '17', 'Núñez', 'says "no"']
const flags = ['DNC', 'NI', '1', '0', 'TRUE', 'delete']

function makeNumber(random: Random): string {
  return numberText(200_200 + random(799) * 1_000 + random(700) + 100, random(10_000)).replace(
    /^(\d{3})[01]/,
    '$15',
  )
}

/** As people and programs write it. */
function writeNumber(number: string, random: Random): string {
  const [area, exchange, line] = [number.slice(0, 3), number.slice(3, 6), number.slice(6)]
  const forms = [
    ...[number, number, number, `1${number}`, `+1${number}`, `${area}-${exchange}-${line}`],
    ...[`(${area}) ${exchange}-${line}`, `+1 ${area} ${exchange} ${line}`, `001${number}`],
    ...[`${area}.${exchange}.${line}`, `${number}.0`, `'${number}`, `="${number}"`],
    ...[`${area}\u2011${exchange}\u2013${line}`, ` ${number} `],
  ]
  return forms[random(forms.length)] ?? number
}

/** What is damaged is no number, and must be named. */
function damage(number: string, random: Random): string {
  const forms = [
    ...[
      number.slice(1),
      `${number}7`,
      `${number.slice(0, 9)}.0`,
      '2.12555E+09',
      `0${number.slice(1)}`,
    ],
    ...[`${number} x12`, 'n/a', `${number} (old)`],
  ]
  return forms[random(forms.length)] ?? ''
}

interface Made {
  readonly bytes: Buffer
  readonly text: string
  /** Every number that was put into it, as ten digits. */
  readonly numbers: ReadonlySet<string>
}

function makeTable(random: Random): Made {
  const chance = (oneIn: number) => random(oneIn) === 0
  const pick = <Value>(values: readonly Value[]): Value => values[random(values.length)] as Value
  const columns = Array.from({ length: 1 + random(5) }, (_, index) => {
    if (index === 0 || chance(4)) return 'number'
    return pick(['other', 'other', 'other', 'date', chance(4) ? 'deciding' : 'other'])
  }).sort(() => random(3) - 1)
  const headers = columns.map((kind) => {
    if (kind === 'number') return pick(numberHeaders)
    if (kind === 'date') return pick(['date', 'added on', 'Created'])
    return pick(kind === 'deciding' ? decidingHeaders : otherHeaders)
  })
  const hasHeader = !chance(4)
  const numbers = new Set<string>()
  const damagedIn = chance(5) ? 4 : 1_000
  const rows = Array.from({ length: 1 + random(12) }, () =>
    columns.map((kind) => {
      if (kind === 'date') return pick(['2026-11-01', '2026-10-31', '20261101', '2026-11-01 09:30'])
      if (kind === 'deciding') return pick(flags)
      if (kind === 'other')
        return chance(40) ? writeNumber(makeNumber(random), random) : pick(words)
      const made = Array.from({ length: chance(12) ? 2 : 1 }, () => makeNumber(random))
      if (chance(damagedIn)) return damage(made[0] ?? '', random)
      if (chance(8)) return ''
      for (const one of made) numbers.add(one)
      return made
        .map((one) => writeNumber(one, random).trim())
        .join(pick([', ', '; ', '\n', ' / ']))
    }),
  )
  const delimiter = pick([',', ',', ',', ';', '\t', '|'])
  const end = pick(['\n', '\n', '\r\n', '\r'])
  const quotesAll = chance(4)
  const write = (cell: string) =>
    quotesAll || /["\n\r]/.test(cell) || cell.includes(delimiter)
      ? `"${cell.replaceAll('"', '""')}"`
      : cell
  const lines = [...(hasHeader ? [headers] : []), ...rows].map((cells) => {
    const kept = chance(15) ? [...cells, pick(['', 'extra', makeNumber(random)])] : cells
    return kept.map(write).join(delimiter)
  })
  if (chance(8))
    lines.splice(random(lines.length), 0, pick(['', '# a comment', delimiter.repeat(2)]))
  if (chance(25)) lines.unshift('DNC list of 2026')
  if (chance(25)) lines.push('Total')
  if (chance(20)) lines.unshift(`sep=${delimiter}`)
  if (chance(30)) lines[lines.length - 1] += ',"stray'
  const text = lines.join(end) + (chance(10) ? '' : end)
  const utf16 = Buffer.from(`\ufeff${text}`, 'utf16le')
  const encodings = [
    Buffer.from(text),
    ...[Buffer.from(text), Buffer.from(text), Buffer.from(`\ufeff${text}`), utf16],
    Buffer.from(utf16).swap16(),
    /[^\0-\xff]/.test(text) ? Buffer.from(text) : Buffer.from(text, 'latin1'),
  ]
  return { bytes: pick(encodings), text, numbers }
}

interface Outcome {
  readonly taken: ReadonlySet<string>
  /** What is said of what was not taken. */
  readonly said: string
  readonly badLines: ReadonlySet<number>
  readonly isRefused: boolean
}

async function read(
  kind: 'list' | 'opt-outs',
  bytes: Buffer,
  table: TableOptions,
  cut: number,
): Promise<Outcome> {
  const taken = new Set<string>()
  const said: string[] = []
  const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)].filter((part) => part.length > 0)
  const source = { name: 't', path: '/t', stream: Readable.from(chunks, { objectMode: false }) }
  const lines = new Set<number>()
  const badLines = new BadLines(1e6, ({ line, value, rule }) => {
    lines.add(line)
    said.push(`${line} ${value} ${rule}`)
  })
  try {
    const { notes } =
      kind === 'list'
        ? await readPlainNumbers(
            source,
            (prefix, line) => taken.add(numberText(prefix, line)),
            badLines,
            { table },
          )
        : await readOptOuts({
            ...{ source, badLines, options: table, undated: true, now: Date.UTC(2026, 10, 28) },
            onRow: () => undefined,
            keep: ({ number }) => void taken.add(number),
          })
    return { taken, said: [...said, ...notes].join('\n'), badLines: lines, isRefused: false }
  } catch (cause) {
    if (!(cause instanceof DataFileError)) throw cause
    return { taken: new Set(), said: cause.message, badLines: lines, isRefused: true }
  }
}

it('reads or names every number of every column of numbers', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const runs = Number(process.env.CALLGATE_TEST_RUNS ?? shortOrLong(10_000, 100_000))
  const random = seededRandom(seed)
  const counts = { read: 0, refused: 0, numbers: 0, readWhenNamed: 0 }
  for (let run = 0; run < runs; run += 1) {
    const { bytes, text } = makeTable(random)
    const slow = readSlowly(bytes)
    const kind = random(2) === 0 ? 'list' : 'opt-outs'
    const cut = random(bytes.length + 1)
    const fail = (what: string, { said }: Outcome) => {
      throw new Error(
        `seed ${seed}, run ${run}, ${kind}, ${what}: ${JSON.stringify(text)}\n${said}`,
      )
    }
    const outcome = await read(kind, bytes, { dates: 'mdy' }, cut)
    if ([...outcome.taken].some((one) => !text.includes(one.slice(-4)))) fail('invented', outcome)
    if (outcome.isRefused) {
      counts.refused += 1
      if (!/line \d|column|is empty/.test(outcome.said)) fail('refused without a reason', outcome)
    } else {
      counts.read += 1
      counts.numbers += outcome.taken.size
      if (findLost(slow, outcome).length > 0) fail('lost', outcome)
    }
    // What a refusal asks for is enough to read it, unless a line is cut off or no header.
    const named = slow.numberColumns.map((at) => slow.header?.[at] ?? String(at + 1))
    if (!outcome.isRefused || named.length === 0 || named.includes('')) continue
    const columns = { number: [...new Set(named)] }
    const again = await read(kind, bytes, { dates: 'mdy', allRows: true, columns }, cut)
    if (again.isRefused) continue
    counts.readWhenNamed += 1
    if (findLost(slow, again).length > 0) fail('lost although named', again)
  }
  console.info(`random tables: ${runs} runs, seed ${seed}, ${JSON.stringify(counts)}`)
  expect(counts.read).toBeGreaterThan(runs / 5)
  expect(counts.readWhenNamed).toBeGreaterThan(runs / 20)
})

function findLost({ numbers }: SlowTable, { taken, badLines, said }: Outcome) {
  // Columns of a table without a header that were not chosen are named as a whole.
  if (said.includes('not read: column')) return []
  // A row with a stray quote is named, but its cells do not count for what the columns hold.
  if (badLines.size > 0 && said.includes('not read: numbers in the text of')) return []
  return numbers.filter(({ number, line }) => {
    return !taken.has(number) && !badLines.has(line) && !said.includes(number)
  })
}
