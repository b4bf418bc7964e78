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
  const shape = 'must begin with a number of ten digits, or with AAA,NNNNNNN'
  const range = 'area code and exchange must begin with 2 to 9'
  const change = 'is a row of a change list; only a full list can be imported'
  const table: [line: string, rule: string][] = [
    ['212555012', shape],
    ['21255501234', shape],
    ['212,555012', shape],
    ['212,55501234', shape],
    ['21,25550123', shape],
    ['212555', shape],
    ['2125550', shape],
    ['+12125550123', shape],
    ['212-555-0123', shape],
    ['212555O123', shape],
    ['phone,date', shape],
    ['<!DOCTYPE html>', shape],
    [',2125550123', shape],
    ['1125550123', range],
    ['0125550123', range],
    ['2121550123', range],
    ['212,0550123', range],
    ['2125550123,2026-11-18T08:00:00,A', change],
    ['2125550123,2026-11-18,d', change],
    ['212,5550123,2026-11-18,a', change],
    ['2125550123|2026-11-18|D', change],
    ['2125550123;2026-11-18T08:00:00;D', change],
    ['2125550123\t20261118\tD', change],
    ['2125550123,11/18/2026,D', change],
    ['2125550123,2026-11-18,D', change],
    ['212,5550123,20261118,D', change],
    ['"2125550123","2026-11-18","D"', change],
    ['2125550123,2026-11-18,"A"', change],
    ['2125550123,"2026-11-18 08:00:00","D"', change],
  ]
  it.each(table)('%s', async (line, rule) => {
    const { numbers, badLines } = await read(`#\n3105550000\n${line}\n3105550001\n`)
    expect(numbers).toEqual(['3105550000', '3105550001'])
    expect(badLines.count).toBe(1)
    expect(badLines.first).toEqual([{ file: 'l.txt', line: 3, value: line, rule }])
  })

  it('blanks and a carriage return do not hide a row of a change list', async () => {
    const { badLines, numbers } = await read('2125550123,2026-11-18,D  \t\r\n')
    expect(numbers).toEqual([])
    expect(badLines.first).toMatchObject([{ line: 1, rule: change }])
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
    const rule = "'-bad': must begin with a number of ten digits, or with AAA,NNNNNNN"
    const expected = Array.from({ length: shown }, (_, nth) => `  l.txt line ${nth + 8} ${rule}`)
    expect(String(message).split('\n').slice(1)).toEqual(expected)
  })

  it('text without line ends is no list', async () => {
    await expect(read('2'.repeat(70_000), 1000)).rejects.toThrow(/longer than 65536 bytes/)
  })
})

describe('a file that is wrong as a whole is refused, however many bad lines are allowed', () => {
  const page = 'this is a web page, not a list; download it again'
  const cut = 'the last line is cut off; download it again'
  const table: [text: string, where: string, advice: string][] = [
    ['<!DOCTYPE html>\n<p>\n2125550123\n', "line 1 '<!DOCTYPE html>'", page],
    ['\uFEFF\r\n  <html><body>Log in</body></html>', "line 2 '<html>", page],
    ['2125550123\n2', "line 2 '2'", cut],
    ['2125550123\n212555012', "line 2 '212555012'", cut],
    ['2125550123\r\n212555012\r', "line 2 '212555012'", cut],
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
    ['"2125550123","x"\n"3105550000","cut in a later col', 0],
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

describe('a carriage return inside a line refuses the file', () => {
  it.each([
    ['2125550123\r3105550000\r', 1],
    ['2125550123,Smith\r3105550000,Jones\r', 1],
    ['2125550123,Smith\r3105550000,Jones\n9075550123\n', 1],
    ['# today\r2125550123\r', 1],
    ['phone,name\r2125550123,Smith\r', 1],
    ['2125550123,Smith\n3105550000,Jones\r9075550123,Lee\n', 2],
  ])('%j', async (text, line) => {
    const rule = 'contains a carriage return; lines must end with LF or CR LF'
    const reading = read(text)
    await expect(reading).rejects.toThrow(`line ${line} '`)
    await expect(reading).rejects.toThrow(rule)
  })

  it('but not before the line end', async () => {
    expect((await read('2125550123,Smith\r\n3105550000,x\r\r\n')).numbers).toHaveLength(2)
  })
})
