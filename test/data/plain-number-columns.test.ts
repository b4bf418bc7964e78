import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { BadLines } from '../../src/data/feeds/bad-lines.js'
import {
  type PlainNumbersOptions,
  readPlainNumbers,
} from '../../src/data/feeds/lists/plain-numbers.js'
import { formatDay, parseDay } from '../../src/domain/time/dates.js'
import { numberText } from './random-numbers.js'

const today = parseDay('2026-11-20') ?? 0

async function read(text: string, options: PlainNumbersOptions = {}) {
  const stream = Readable.from([Buffer.from(text)], { objectMode: false })
  const found: string[] = []
  const sink = (prefix: number, line: number, day?: number) =>
    found.push(numberText(prefix, line) + (day === undefined ? '' : ` ${formatDay(day)}`))
  const badLines = new BadLines(1e6)
  const source = { name: 'l.csv', path: '/lists/l.csv', stream }
  const result = await readPlainNumbers(source, sink, badLines, { today, ...options })
  return { found, bad: badLines.first.map(({ line, rule }) => `${line}: ${rule}`), ...result }
}

const one = '2125550123'
const named = (...number: readonly string[]) => ({ table: { columns: { number } } })

describe('the column of the numbers is the one', () => {
  const table: [what: string, text: string, options?: PlainNumbersOptions][] = [
    ['named phone, in the middle', `name,phone,state\nSmith,${one},NY\n`],
    ['named Phone Number, quoted', `"Name","Phone Number"\n"Smith, J.","${one}"\n`],
    ['named tel, after semicolons', `name;tel\nSmith;${one}\n`],
    ['named TN, after tabs', `id\tTN\n7\t${one}\n`],
    ['named telephone, after a blank cell', `,telephone\n0,${one}\n`],
    ['named phone, after a byte order mark and a comment', `\uFEFF# new\nname,phone\nA,${one}\n`],
    ['that is first, whatever it is called', `listed,phon\n${one},x\n`],
    ['that is asked for', `phone,litigant\n3105550000,${one}\n`, named('Litigant')],
    ['that is asked for in French', `nom,Téléphone (1)\nA,${one}\n`, named('téléphone 1')],
    ['asked for under a first line of any look', `1,2\nA,${one}\n`, named('2')],
  ]
  it.each(table)('%s', async (_, text, options) => {
    expect(await read(text, options)).toMatchObject({ found: [one], bad: [], rows: 1 })
  })

  it.each([
    '(212) 555-0123',
    '+1 212 555 0123',
    '1-212-555-0123',
    '212.555.0123',
    '"212-555-0123"',
  ])('and there a number may be written as %s', async (cell) => {
    for (const text of [`phone\n${cell}\n`, `phone,why\n${cell},x\n`, `why,phone\nx,${cell}\n`]) {
      expect(await read(text)).toMatchObject({ found: [one], bad: [] })
    }
    expect((await read(`${cell}\n`)).found).toEqual([one])
  })

  it('and area code and number in two columns stay one number', async () => {
    expect((await read('Area Code,Number\n212,5550123\n"212","5550124"\n')).found).toEqual([
      '2125550123',
      '2125550124',
    ])
  })
})

describe('a header is refused', () => {
  const table: [text: string, options: PlainNumbersOptions, rule: string][] = [
    ['name,phone\n', named('tel'), "has no column 'tel'; its columns are name, phone"],
    [`${one},x\n`, named('tel'), "has no column 'tel'; its columns are 2125550123, x"],
    ['phone,day\n', { table: { columns: { day: ['listed'] } } }, "has no column 'listed'; its"],
    ['phone,cell\n', {}, "'phone' and 'cell' could each be the column number; choose one with"],
    ['phone,cell\n', {}, "the columns with numbers are 'phone', 'cell'; name the columns to read"],
    ['DNC list 2026\nname,phone\n', {}, "line 1 'DNC list 2026' is not the header, which seems"],
  ]
  it.each(table)('%j with %j', async (text, options, rule) => {
    await expect(read(`${text}${one},${one}\n`, options)).rejects.toThrow(rule)
  })
})

describe('a row under a header that names the column is bad', () => {
  const table: [row: string, rule: string][] = [
    ['A', 'number is missing: the row has 1 cells'],
    ['A,', 'number must be ten digits'],
    ['A,212555', 'number must be ten digits'],
    ['A,1125550123', 'number must not have 0 or 1 first or fourth'],
    [`"A,${one.slice(1)}`, 'row has a misplaced or unclosed quote'],
  ]
  it.each(table)('%s', async (row, rule) => {
    expect(await read(`name,phone\n${row}\nB,${one}\n`)).toMatchObject({
      found: [one],
      bad: [`2: ${rule}`],
    })
  })

  it('a row of a change list', async () => {
    for (const header of ['phone', 'phone,date', 'phone,date,x']) {
      const { found, bad } = await read(`${header}\n${one},2026-11-18,D\n`)
      expect([found, bad]).toEqual([
        [],
        ['2: row is a row of a change list; only a full list can be imported'],
      ])
    }
  })

  it.each([
    ['name,phone\nA,21255501', true],
    ['phone\n(212) 555-01', true],
    ['phone,date\n212555', true],
    [`name,phone\nA,${one}`, false],
    [`phone,date\n${one},2026-11-1`, false],
  ])('%j without line end is cut off: %s', async (text, isCut) => {
    const reading = read(text)
    if (isCut)
      await expect(reading).rejects.toThrow('the last line may be cut off; download it again')
    else expect((await reading).rows).toBe(1)
  })
})

describe('the day of a number', () => {
  const table: [text: string, found: string, unread: number, options?: PlainNumbersOptions][] = [
    [`phone,date\n${one},2026-11-18\n`, `${one} 2026-11-18`, 0],
    [`phone,Date Added\n${one},11/18/2026\n`, `${one} 2026-11-18`, 0],
    [`name,phone,added\nA,${one},20261118\n`, `${one} 2026-11-18`, 0],
    [`date,phone\n2026-11-18T09:00:00Z,${one}\n`, `${one} 2026-11-18`, 0],
    [
      `phone,x\n${one},2026-11-18\n`,
      `${one} 2026-11-18`,
      0,
      { table: { columns: { day: ['x'] } } },
    ],
    [`phone,x\n${one},2026-11-18\n`, one, 0],
    [`${one},2026-11-18\n`, one, 0],
    [`phone,date\n${one},\n`, one, 0],
    [`phone,date\n${one}\n`, one, 0],
    [`phone,date\n${one},soon\n`, one, 1],
    [`phone,date\n${one},2026-11-22\n`, one, 1],
    [`phone,date\n${one},2026-11-21\n`, `${one} 2026-11-21`, 0],
    [`phone,date\n${one},1970-01-01\n`, one, 1],
    [`phone,date\n${one},1900-01-01\n`, one, 1],
  ]
  it.each(table)('%j: %s, %d unread', async (text, found, unreadDays, options) => {
    expect(await read(text, options)).toMatchObject({ found: [found], unreadDays, bad: [] })
  })
})
