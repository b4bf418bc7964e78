import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { BadLines } from '../../src/data/feeds/bad-lines.js'
import { detectPortedList, readPortedNumbers } from '../../src/data/feeds/lists/ported-numbers.js'
import { formatDay, parseDay } from '../../src/domain/time/dates.js'
import { numberText } from './random-numbers.js'

async function read(text: string) {
  const stream = Readable.from([Buffer.from(text)], { objectMode: false })
  const found: string[] = []
  const sink = (prefix: number, line: number, day?: number) =>
    found.push(numberText(prefix, line) + (day === undefined ? '' : ` ${formatDay(day)}`))
  const badLines = new BadLines(1e6)
  const source = { name: 'p.txt', path: '/p.txt', stream }
  const today = parseDay('2026-11-20')
  const result = await readPortedNumbers(source, sink, badLines, { today })
  return { found, bad: badLines.first.map(({ line, rule }) => `${line}: ${rule}`), ...result }
}

const number = '8505550100'
const range = ['8505550100', '8505550101', '8505550102', '8505550103']

describe('a line of ported numbers', () => {
  const table: [line: string, found: readonly string[]][] = [
    [number, [number]],
    [`${number}\r`, [number]],
    [`"${number}"`, [number]],
    [` ${number} `, [number]],
    [`${number}|0103`, range],
    [`${number}|0103\r`, range],
    [`${number},0103`, range],
    [`${number}-0103`, range],
    [`${number} - 0103`, range],
    [`${number};0103`, range],
    [`"${number}","0103"`, range],
    [`${number}|0100`, [number]],
    [`${number}|`, [number]],
    ['8505550998|1001', ['8505550998', '8505550999', '8505551000', '8505551001']],
    [`${number},2026-11-02`, [`${number} 2026-11-02`]],
    [`${number},20261102`, [`${number} 2026-11-02`]],
    [`${number}|0103|2026-11-02`, range.map((one) => `${one} 2026-11-02`)],
    [`${number}||2026-11-02|Carrier`, [`${number} 2026-11-02`]],
    [`${number}-0103,11/20/2026`, range.map((one) => `${one} 2026-11-20`)],
  ]
  it.each(table)('%j', async (line, found) => {
    const read1 = await read(`${line}\n3105550000\n`)
    expect(read1).toMatchObject({ found: [...found, '3105550000'], bad: [], unreadDays: 0 })
    expect(read1.rows).toBe(found.length + 1)
  })

  it('may be preceded by column names and comments', async () => {
    const text = `# daily\nStart|End\n${number}|0103\n`
    expect(await read(text)).toMatchObject({ found: range, bad: [], isBlank: false })
  })

  it.each(['2026-11-22', '1970-01-01'])('with the day %s is taken without it', async (day) => {
    expect(await read(`${number},${day}\n`)).toMatchObject({ found: [number], unreadDays: 1 })
  })
})

describe('a bad line of ported numbers', () => {
  const shape = 'must be a number of ten digits, or a range such as 8505550100|0123'
  const table: [line: string, rule: string][] = [
    [`${number}|0099`, 'the range ends with 0099, before its start'],
    [`${number}-0099`, 'the range ends with 0099, before its start'],
    [`${number}|103`, "the range ends with '103', not with four digits"],
    [`${number}|8505550103`, "the range ends with '8505550103', not with four digits"],
    [`${number}|x`, "the range ends with 'x', not with four digits"],
    ['850555010', shape],
    [`1${number}`, shape],
    [`${number}0103`, shape],
    ['1505550100', 'area code and exchange must begin with 2 to 9'],
    ['8501550100|0103', 'area code and exchange must begin with 2 to 9'],
    ['Start|End', shape],
  ]
  it.each(table)('%s', async (line, rule) => {
    const { found, bad } = await read(`3105550000\n${line}\n3105550001\n`)
    expect(found).toEqual(['3105550000', '3105550001'])
    expect(bad).toHaveLength(1)
    expect(bad[0]).toContain(`2: ${rule}`)
  })

  it.each([`${number}|01`, `${number}|`, '85055', `${number}-012`])(
    'that ends the file in the middle, %s, refuses it',
    async (line) => {
      const reading = read(`3105550000\n${line}`)
      if (line.endsWith('|')) expect((await reading).rows).toBe(2)
      else await expect(reading).rejects.toThrow('the last line is cut off')
    },
  )

  it('a web page is no list', async () => {
    await expect(read('<html>\n')).rejects.toThrow('this is a web page')
  })
})

it.each([
  ['WIRELINE-TO-WIRELESS.TXT', 'ported-wireless'],
  ['WIRELINE-TO-WIRELESS-NORANGE.TXT', 'ported-wireless'],
  ['WIRELESS-TO-WIRELINE-NORANGE.TXT', 'ported-wireline'],
  ['daily.zip/2026-11-18_wireless_to_wireline.txt', 'ported-wireline'],
  ['/var/wireless-to-wireline/numbers.txt', undefined],
  ['wireless.txt', undefined],
  ['wireless-to-wireless.txt', undefined],
])('%s belongs to %s', (name, list) => {
  expect(detectPortedList(name)).toBe(list)
})
