import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { BadLines } from '../../src/data/feeds/bad-lines.js'
import { readUsDncChanges } from '../../src/data/feeds/lists/us-dnc-changes.js'
import { formatInstant, parseInstant } from '../../src/domain/time/dates.js'
import { numberText, seededRandom } from './random-numbers.js'

const latest = parseInstant('2026-11-21T12:00:00Z') ?? 0

async function read(text: string, chunkBytes = 1 << 16) {
  const bytes = Buffer.from(text)
  const chunks: Buffer[] = []
  for (let from = 0; from < bytes.length; from += chunkBytes) {
    chunks.push(bytes.subarray(from, from + chunkBytes))
  }
  const stream = Readable.from(chunks, { objectMode: false })
  const found: string[] = []
  const badLines = new BadLines(1e6)
  const { rows, isBlank } = await readUsDncChanges(
    { name: 'c.txt', path: '/c.txt', stream },
    {
      onRow: ({ prefix, line, at, isAdded }) =>
        found.push(`${numberText(prefix, line)} ${formatInstant(at)} ${isAdded ? 'A' : 'D'}`),
      covers: (areaCode) => areaCode !== 907,
      maxInstant: latest,
    },
    badLines,
  )
  return {
    found,
    bad: badLines.first.map(({ line, rule }) => `${line}: ${rule}`),
    rows,
    blank: isBlank,
  }
}

describe('a row of a change file', () => {
  const at8 = '2026-11-18T08:00:00Z'
  const midnight = '2026-11-18T00:00:00Z'
  const table: [line: string, stamp: string, mark?: string][] = [
    ['8505550123,2026-11-18T08:00:00,A', at8],
    ['8505550123,2026-11-18T08:00:00,D', at8, 'D'],
    ['850,5550123,2026-11-18T08:00:00,D', at8, 'D'],
    ['8505550123,2026-11-18T08:00:00,A\r', at8],
    ['8505550123,2026-11-18T08:00:00Z,A', at8],
    ['8505550123,2026-11-18T03:00:00-05:00,A', at8],
    ['8505550123,2026-11-18T08:00:00.25,A', '2026-11-18T08:00:00.250Z'],
    ['8505550123,2026-11-18 08:00:00,A', at8],
    ['8505550123,2026-11-18,A', midnight],
    ['850,5550123,2026-11-18,A', midnight],
    ['"8505550123","2026-11-18T08:00:00","D"', at8, 'D'],
    ['"850","5550123","2026-11-18","A"', midnight],
    ['8505550123, 2026-11-18T08:00:00 , a', at8],
    ['8505550123,2026-11-21T12:00:00,A', '2026-11-21T12:00:00Z'],
  ]
  it.each(table)('%s', async (line, stamp, mark = 'A') => {
    const found = [`8505550123 ${stamp} ${mark}`]
    for (const text of [`${line}\n`, line, `\uFEFF# day\nnumber,when,what\n\n${line}\n`]) {
      expect(await read(text)).toEqual({ found, bad: [], rows: 1, blank: false })
    }
  })
})

describe('a bad row of a change file', () => {
  const shape = 'must be a number, a timestamp and A or D, such as'
  const table: [line: string, rule: string][] = [
    ['8505550123', shape],
    ['8505550123,2026-11-18', shape],
    ['8505550123,2026-11-18,X', shape],
    ['8505550123,A,2026-11-18', shape],
    ['850555012,2026-11-18,A', shape],
    ['8505550123,2026-11-18,AA', shape],
    ['8505550123,2026-13-18,A', "'2026-13-18' is not a date"],
    ['8505550123,18.11.2026,A', "'18.11.2026' is not a date"],
    ['8505550123,,A', "'' is not a date"],
    ['8505550123,2026-11-21T12:00:01,A', "'2026-11-21T12:00:01' must not be in the future"],
    [
      '9075550123,2026-11-18,A',
      'area code 907 is not covered by the list; import the full list of that area code',
    ],
    [
      '9075550123,2026-11-18,D',
      'area code 907 is not covered by the list; import the full list of that area code',
    ],
    ['1505550123,2026-11-18,A', 'area code and exchange must begin with 2 to 9'],
  ]
  it.each(table)('%s', async (line, rule) => {
    const good = '8505550123,2026-11-18,A\n'
    const { rows, bad } = await read(`${good}${line}\n${good}`)
    expect(rows).toBe(2)
    expect(bad).toHaveLength(1)
    expect(bad[0]).toContain(`2: ${rule}`)
  })

  it.each([
    '8',
    '850555',
    '850,555',
    '8505550123',
    '8505550123,',
    '850,5550123,2026-1',
    '8505550123,2026-11-18T08',
    '8505550123,2026-11-18T08:00:00',
    '8505550123,2026-11-18T08:00:00,',
    '"8505550123","2026-11-18","',
  ])('that ends the file in the middle, %s, refuses it', async (line) => {
    const reading = read(`8505550123,2026-11-18,A\n${line}`)
    await expect(reading).rejects.toThrow('/c.txt: line 2')
    await expect(reading).rejects.toThrow('the last line is cut off; download it again')
  })

  it('a web page is no change file', async () => {
    await expect(read('<html>\n')).rejects.toThrow('this is a web page')
  })
})

it.each([1, 5, 31, 32, 33, 1000])('chunks of %d bytes change nothing', async (chunkBytes) => {
  const random = seededRandom(chunkBytes)
  const expected: string[] = []
  let text = ''
  for (let nth = 0; nth < 300; nth += 1) {
    const number = numberText(212_200 + random(100), random(10_000))
    const day = `2026-11-${10 + random(9)}`
    const stamp = random(2) === 0 ? day : `${day}T08:00:${10 + random(50)}`
    const mark = random(2) === 0 ? 'A' : 'D'
    const asked = random(2) === 0 ? number : `${number.slice(0, 3)},${number.slice(3)}`
    text += `${asked},${stamp},${mark}${random(2) === 0 ? '\n' : '\r\n'}`
    expected.push(`${number} ${stamp === day ? `${day}T00:00:00` : stamp}Z ${mark}`)
  }
  expect(await read(text, chunkBytes)).toMatchObject({ found: expected, bad: [] })
})
