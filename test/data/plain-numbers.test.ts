import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { BadLines } from '../../src/data/feeds/bad-lines.js'
import { readPlainNumbers } from '../../src/data/feeds/lists/plain-numbers.js'
import { numberText, seededRandom } from './random-numbers.js'

interface Outcome {
  readonly numbers: string[]
  readonly rows: number
  readonly blank: boolean
  readonly badLines: BadLines
}

/** `chunkBytes` cuts the text so that lines end in the middle of chunks. */
async function read(text: string, chunkBytes = 1 << 16, badLines = new BadLines(1e9)) {
  const bytes = Buffer.from(text, 'utf8')
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    chunks.push(bytes.subarray(at, at + chunkBytes))
  }
  const stream = Readable.from(chunks, { objectMode: false })
  const numbers: string[] = []
  const sink = (prefix: number, line: number) => numbers.push(numberText(prefix, line))
  const source = { name: 'l.txt', path: '/l.txt', stream }
  const { rows, isBlank } = await readPlainNumbers(source, sink, badLines)
  const outcome: Outcome = { numbers, rows, blank: isBlank, badLines }
  return outcome
}

describe('a line that is understood', () => {
  const table: [what: string, line: string][] = [
    ['ten digits', '2125550123'],
    ['area code, comma, seven digits', '212,5550123'],
    ['carriage return', '2125550123\r'],
    ['area code, comma and carriage return', '212,5550123\r'],
    ['quotes', '"2125550123"'],
    ['quoted area code and number', '"212","5550123"'],
    ['blanks around', '  2125550123\t'],
    ['more columns', '2125550123,2026-01-02,"on request, by mail"'],
    ['more columns that end in a quote', '2125550123,"Smith, D"\r'],
    ['a mark of another kind', '2125550123,class,A'],
    ['more columns after area code and number', '212,5550123,2026-01-02'],
    ['semicolons', '2125550123;litigator'],
    ['punctuation', '(212) 555-0123'],
    ['a plus', '+12125550123'],
    ['a decimal', '2125550123.0'],
    ['a formula', '="2125550123"'],
    ['an apostrophe', "'2125550123"],
    ['a dash of another script', '212\u2011555\u20130123'],
    ['a mark that is not seen', '\u200b2125550123'],
    ['tabs', '2125550123\tD'],
    ['quoted with more columns', '"2125550123","Smith, J.",A'],
    ['byte order mark', '\uFEFF2125550123'],
  ]
  it.each(table)('%s', async (_, line) => {
    const { numbers, rows, badLines } = await read(`${line}\n3105550000\n`)
    expect(numbers).toEqual(['2125550123', '3105550000'])
    expect(rows).toBe(2)
    expect(badLines.count).toBe(0)
  })

  it('needs no newline at the end of the file', async () => {
    expect((await read('2125550123\n3105550000')).numbers).toEqual(['2125550123', '3105550000'])
  })
})

describe('a line that holds no number and is no error', () => {
  const table: [what: string, text: string][] = [
    ['nothing', ''],
    ['blank lines', '\n\r\n  \n'],
    ['comments', '# from the registry\n#2125550123\n'],
    ['column names', 'phone,date\n'],
    ['quoted column names', '"Phone Number","Date"\r\n'],
    ['column names after comments', '# made today\n\nPhone1\n'],
    ['column names after a byte order mark', '\uFEFFphone\n'],
  ]
  it.each(table)('%s', async (_, text) => {
    const { numbers, badLines } = await read(`${text}9075550123\n`)
    expect(numbers).toEqual(['9075550123'])
    expect(badLines.count).toBe(0)
  })
})

describe('a bad line is reported', () => {
  const digits = 'number must be ten digits'
  const range = 'number must not have 0 or 1 first or fourth'
  const change = 'row is a row of a change list; only a full list can be imported'
  const table: [line: string, value: string, rule: string][] = [
    ['212555012', '212555012', digits],
    ['21255501234', '21255501234', digits],
    ['212,555012', '212', digits],
    ['212,55501234', '212', digits],
    ['21,25550123', '21', digits],
    ['2125550', '2125550', digits],
    ['212555O123', '212555O123', digits],
    ['phone,date', 'phone', digits],
    ['<!DOCTYPE html>', '<!DOCTYPE html>', digits],
    ['1125550123', '1125550123', range],
    ['0125550123', '0125550123', range],
    ['2121550123', '2121550123', range],
    ['212,0550123', '2120550123', range],
    ...[
      '2125550123,2026-11-18T08:00:00,A',
      '2125550123,2026-11-18,d',
      '212,5550123,2026-11-18,a',
      '2125550123,11/18/2026,D',
      '2125550123,D,2026-11-18',
      '212,5550123,D,2026-11-18',
      '212,5550123,20261118,D',
      '"2125550123","2026-11-18","D"',
      '2125550123,2026-11-18,"A"',
      '2125550123,"2026-11-18 08:00:00","D"',
      '2125550123,2026-11-18,D  \t',
    ].map((line): [string, string, string] => [line, line, change]),
  ]
  it.each(table)('%s', async (line, value, rule) => {
    const { numbers, badLines } = await read(`#\n3105550000,\n${line}\n3105550001\n`)
    expect(numbers).toEqual(['3105550000', '3105550001'])
    expect(badLines.first).toEqual([{ file: 'l.txt', line: 3, value, rule }])
  })

  it('a second line of column names is none', async () => {
    expect((await read('phone\nphone\n2125550123\n')).badLines.first).toMatchObject([{ line: 2 }])
  })

  it('only the first twenty are kept, all are counted', async () => {
    const { badLines } = await read(`2125550123\n${'-bad\n'.repeat(25)}`)
    expect(badLines.count).toBe(25)
    expect(badLines.first.map(({ line }) => line)).toEqual(
      Array.from({ length: 20 }, (_, nth) => nth + 2),
    )
  })
})

describe('too many bad lines refuse the file', () => {
  const lines = (good: number, bad: number) => '2125550123\n'.repeat(good) + '-bad\n'.repeat(bad)
  const table: [good: number, bad: number, allowed: number | undefined, refused: string | null][] =
    [
      [100_000, 0, undefined, null],
      [100_000, 1, undefined, '1 line is bad, 0 allowed'],
      [5000, 1, 0, '1 line is bad, 0 allowed'],
      [5000, 20, 0, '20 lines are bad, 0 allowed'],
      [5000, 500, 0, 'more than 20 lines are bad, 0 allowed'],
      [5, 5, 5, null],
      [5000, 6, 5, '6 lines are bad, 5 allowed (--bad-lines allows more'],
      [5000, 30, 30, null],
      [5000, 31, 30, 'more than 30 lines are bad, 30 allowed'],
    ]
  it.each(table)('%d good, %d bad, %s allowed: %s', async (good, bad, allowed, refused) => {
    const reading = read(lines(good, bad), 1 << 16, new BadLines(allowed))
    if (refused === null) expect((await reading).badLines.count).toBe(bad)
    else await expect(reading).rejects.toThrow(`l.txt: ${refused}`)
  })

  it('the lines of several files count together', async () => {
    const badLines = new BadLines(3)
    await read(lines(5, 2), 1 << 16, badLines)
    await expect(read(lines(5, 2), 1 << 16, badLines)).rejects.toThrow('4 lines are bad')
  })

  it.each([
    [1, 1],
    [20, 20],
    [21, 20],
    [300, 20],
  ])('of %d bad lines the refusal shows %d: file, line, value and rule', async (bad, shown) => {
    const message = await read(lines(7, bad), 1 << 16, new BadLines()).catch(String)
    const rule = "'-bad': number must be ten digits"
    const expected = Array.from({ length: shown }, (_, nth) => `  l.txt line ${nth + 8} ${rule}`)
    expect(String(message).split('\n').slice(1)).toEqual(expected)
  })

  it('text without line ends is no list', async () => {
    await expect(read('2'.repeat(70_000), 1000)).rejects.toThrow(/longer than 65536 bytes/)
  })
})

describe('a file that is wrong as a whole is refused, however many bad lines are allowed', () => {
  const page = 'this is a web page, not the file; download it again'
  const cut = 'the last line may be cut off; download it again'
  const table: [text: string, where: string, advice: string][] = [
    ['<!DOCTYPE html>\n<p>\n2125550123\n', "line 1 '<!DOCTYPE html>'", page],
    ['\uFEFF\r\n  <html><body>Log in</body></html>', "line 2 '<html>", page],
    ['<?xml version="1.0"?>\n<list/>', "line 1 '<?xml", 'this is XML, not a table'],
    ['{"phone": "2125550123"}\n', 'line 1 \'{"phone', 'this is JSON, not a table'],
    ['2125550123\n2', "line 2 '2'", cut],
    ['2125550123\n212555012', "line 2 '212555012'", cut],
    ['212,5550123\n212,', "line 2 '212,'", cut],
    ['212,5550123\n212,555012', "line 2 '212,555012'", cut],
    ['"212","5550123"\n"212","55', 'line 2 \'"212","55\'', cut],
    ['"2125550123"\n"', "line 2 '\"'", cut],
    ['212555', "line 1 '212555'", cut],
  ]
  it.each(table)('%j', async (text, where, advice) => {
    const reading = read(text, 4)
    await expect(reading).rejects.toThrow(`/l.txt: ${where}`)
    await expect(reading).rejects.toThrow(advice)
  })

  it.each([
    ['2125550123\n3105550000', 0],
    ['212,5550123\n310,5550000', 0],
    ['2125550123\n3105550000\r', 0],
    ['2125550123\n3105550000\n-- end of file', 1],
    ['2125550123\n3105550000\n212555\n', 1],
    ['2125550123\n3105550000\n# 212', 0],
  ])('%j is whole, with %d bad lines', async (text, bad) => {
    const { numbers, badLines } = await read(text, 4)
    expect(numbers).toEqual(['2125550123', '3105550000'])
    expect(badLines.count).toBe(bad)
  })
})

it.each([
  ['', true],
  ['\n \r\n\t', true],
  ['\uFEFF# none this month\n#', true],
  ['phone\n', false],
  ['Access denied: quota exceeded', false],
  ['-bad\n', false],
  ['2125550123\n', false],
])('%j has nothing but blanks and comments: %s', async (text, blank) => {
  expect((await read(text)).blank).toBe(blank)
})

it.each([1, 2, 3, 7, 11, 12, 13, 100])('chunks of %d bytes change nothing', async (chunkBytes) => {
  const random = seededRandom(chunkBytes)
  const expected: string[] = []
  let text = 'Number\r\n'
  for (let nth = 0; nth < 400; nth += 1) {
    const number = numberText(200_200 + random(100), random(10_000))
    const commaForm = `${number.slice(0, 3)},${number.slice(3)}`
    const forms = [`${number}\n`, `${number}\r\n`, `${commaForm}\n`, `"${number}",x\r\n`]
    text += (forms[random(4)] ?? '') + (random(5) === 0 ? '# note\n' : '')
    expected.push(number)
  }
  const { numbers, badLines } = await read(text, chunkBytes)
  expect(numbers).toEqual(expected)
  expect(badLines.count).toBe(0)
})

describe('lines may end with a carriage return alone', () => {
  it.each([
    ['2125550123\r3105550000\r9075550123\r'],
    ['2125550123,Smith\r3105550000,Jones\r9075550123\r'],
    ['2125550123,Smith\r3105550000,Jones\n9075550123\n'],
    ['# today\r2125550123\r3105550000\r9075550123'],
    ['phone,name\r2125550123,Smith\r3105550000,\r9075550123,Lee\r'],
    ['2125550123,Smith\n3105550000,Jones\r9075550123,Lee\n'],
    ['2125550123,Smith\r\n3105550000,x\r\r\n9075550123\r\n'],
  ])('%j', async (text) => {
    for (const chunkBytes of [1, 3, 1 << 16]) {
      expect(await read(text, chunkBytes)).toMatchObject({
        numbers: ['2125550123', '3105550000', '9075550123'],
        badLines: { count: 0 },
      })
    }
  })

  it('in a file of any size', async () => {
    const text = '2125550123,Smith\r'.repeat(20_000)
    expect((await read(text, 5_000)).numbers).toHaveLength(20_000)
  })
})
