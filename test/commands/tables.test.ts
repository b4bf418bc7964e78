/** Tables as CRMs, dialers, carriers and spreadsheets write them: what the commands take, and what they refuse by name. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RegisterCommand } from '../../src/commands/command.js'
import { registerImport } from '../../src/commands/import/import.js'
import { registerRecords } from '../../src/commands/records/records.js'
import { openNumberList } from '../../src/data/number-list/format/number-list.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { formatDay, toUtcDay } from '../../src/domain/time/dates.js'
import { resolveDatabasePath } from '../../src/storage/database-files.js'
import { zipBytes } from '../data/zip-bytes.js'
import { runCommand } from '../support/run-command.js'

let dataDir: string

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-tables-'))
})
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

const allTen = Array.from({ length: 10 }, (_, index) => `21255501${String(index).padStart(2, '0')}`)

function fileOf(content: string | Buffer, name = 'table.csv'): string {
  const path = join(dataDir, name)
  writeFileSync(path, content)
  return path
}

interface Taken {
  readonly code: number
  readonly said: string
  readonly numbers: readonly string[]
}

async function litigators(content: string | Buffer, ...more: readonly string[]): Promise<Taken> {
  const args = ['import', 'litigators', fileOf(content), '--allow-shrink', '--allow-older', ...more]
  const { code, out, err } = await runCommand(registerImport, args, { dataDir })
  const list = code === 0 ? openNumberList(join(dataDir, 'lists/litigators.cglist')) : undefined
  const numbers = allTen.filter((one) => list?.has(toPhoneNumber(one)))
  return { code, said: out + err, numbers }
}

/** Each number with its day, into an empty list. */
async function optOuts(content: string | Buffer, ...more: readonly string[]): Promise<Taken> {
  const run = (...args: readonly string[]) =>
    runCommand(registerRecords, ['records', ...args], { dataDir })
  const { code, out, err } = await run('import', 'opt-outs', fileOf(content), ...more)
  const taken = { code, said: out + err, numbers: [] }
  if (code !== 0) return taken
  const rows = (await run('export', 'opt-outs')).out.split('\r\n').slice(1, -1)
  const database = new Database(resolveDatabasePath(dataDir))
  database.exec('delete from internal_dnc')
  database.close()
  return { ...taken, numbers: rows.map((row) => row.replace(/^(\d+),([\d-]{10}).*$/, '$1 $2')) }
}

const number = (...headers: readonly string[]) =>
  headers.flatMap((header) => ['--column', `number=${header}`])

describe('a second column of numbers', () => {
  it.each([
    ['phone,phone2\n2125550101,2125550102\n', ['phone', 'phone2']],
    ['Phone 1,Phone 2,Case\n2125550101,2125550102,17\n', ['Phone 1', 'Phone 2']],
    ['Name,Phone Number,Mobile Phone Number\nA,,212-555-0102\nB,+12125550101,\n', ['Mobile Phone']],
    ['Home Phone,Cell Phone\n(212) 555-0101,(212) 555-0102\n', ['Home Phone', 'Cell Phone']],
    ['name,phone,phone2,mobile phone\nA,2125550101,2125550102,2125550103\n', ['phone2', 'mobile']],
    ['Last Name,DNC_Home,DNC_Cell\nSmith,212-555-0101,212-555-0102\n', ['DNC_Home', 'DNC_Cell']],
    ['2125550101,2125550102\n2125550103,2125550104\n', ['column 1', 'column 2']],
    ['2125550101;x\n2125550103;+1 212 555 0104\n', ['column 1', 'column 2']],
    ['phone,\n2125550101,\n2125550103,2125550104\n', ['phone', 'column 2']],
    ['phone,note\n2125550101,2125550102\n'.concat('2125550103,x\n'.repeat(8)), ['phone', 'note']],
  ])('is refused by name: %j', async (text, names) => {
    for (const { code, said } of [await litigators(text), await optOuts(text, '--undated')]) {
      expect(code, said).toBe(1)
      for (const name of names) expect(said).toContain(name)
      expect(said).toContain('--column number=')
      expect(said).not.toContain("'Last Name'")
    }
  })

  it('is read where it is named, also by its place', async () => {
    const text = 'Phone,Name,Mobile\n212-555-0101,A,\n,B,2125550102\n2125550101,C,(212) 555-0103\n'
    const taken = ['2125550101', '2125550102', '2125550103']
    expect(await litigators(text, '--column', 'Phone', '--column', 'mobile')).toMatchObject({
      code: 0,
      numbers: taken,
    })
    expect((await optOuts(text, ...number('Phone', 'Mobile'), '--undated')).numbers).toHaveLength(3)
    const bare = '2125550101,2125550102\n2125550103,\n'
    const placed = await litigators(bare, '--column', '1', '--column', '2')
    expect(placed.numbers).toEqual(taken)
  })

  it('that was not named is told, and so are numbers in other text', async () => {
    const text = 'phone,mobile,notes\n2125550101,2125550102,call 212-555-0103 instead\n'
    const { code, said, numbers } = await litigators(text, '--column', 'phone')
    expect([code, numbers]).toEqual([0, ['2125550101']])
    expect(said).toContain("not read: 'mobile', which also holds numbers")
    expect(said).toContain('numbers in the text of 1 cells of other columns')
  })

  it('is none with a few numbers among other things', async () => {
    const text = `phone,id\n2125550101,2125550102\n${'2125550103,x\n'.repeat(19)}`
    const { code, numbers } = await litigators(text)
    expect([code, numbers]).toEqual([0, ['2125550101', '2125550103']])
  })
})

describe('the bytes of a table', () => {
  const text = 'phone,name,date\n2125550101,Zoé,2026-11-01\n2125550102,Ada,2026-11-02\n'
  const days = ['2125550101 2026-11-01', '2125550102 2026-11-02']
  const utf16 = Buffer.from(`\ufeff${text}`, 'utf16le')
  const forms: readonly (readonly [string, string | Buffer])[] = [
    ['CR alone', text.replaceAll('\n', '\r')],
    ['CR LF', text.replaceAll('\n', '\r\n')],
    ['UTF-8 with a byte order mark', `\ufeff${text}`],
    ['UTF-16 little endian', utf16],
    ['UTF-16 big endian', Buffer.from(utf16).swap16()],
    ['Windows-1252', Buffer.from(text, 'latin1')],
    ['semicolons', text.replaceAll(',', ';')],
    ['tabs', text.replaceAll(',', '\t')],
    ['bars', text.replaceAll(',', '|')],
    ['sep=', `sep=;\r\n${text.replaceAll(',', ';')}`],
    ['quoted line breaks', text.replace('Ada', '"Ada\nsays ""stop"",\r\ntwice"')],
    ['formulas', text.replace(/(\d{10})/g, '="$1"')],
    ['quoted formulas', text.replace(/(\d{10})/g, '"=""$1"""')],
    ['apostrophes', text.replace(/(\d{10})/g, "'$1")],
    ['decimals', text.replace(/(\d{10})/g, '$1.0')],
    ['decimals with a 1', text.replace(/(\d{10})/g, '1$1.00')],
    ['dashes that do not break', text.replace(/(\d{3})(\d{7})/g, '$1\u2011$2')],
    ['times', text.replace(/(2026-11-0\d)/g, '$1 16:40:00')],
    ['blank rows', text.replace('\n2125550102', '\n,,\n\n2125550102')],
  ]
  it.each(forms)('may have %s', async (_what, content) => {
    expect(await optOuts(content)).toMatchObject({ code: 0, numbers: days })
  })

  it('keeps the rows around a stray quote', async () => {
    const rows = 'phone,name\n2125550101,"Ann\n2125550102,Bob\n2125550103,"Cy"\n2125550104,D"\n'
    const { code, said, numbers } = await litigators(rows, '--bad-lines', '2')
    expect([code, numbers]).toEqual([0, ['2125550102', '2125550103']])
    expect(said).toContain('line 2')
    expect(said).toContain('line 5')
  })

  const refused: readonly (readonly [string, string | Buffer, string])[] = [
    [
      'nine digits as a decimal',
      'phone,date\n212555010.0,2026-11-01\n',
      "'212555010.0': number must",
    ],
    ['a rounded number', 'phone,date\n2.12555E+09,2026-11-01\n', 'line 2'],
    ['XML', '<?xml version="1.0"?>\n<list><ph val="5550101"/></list>\n', 'this is XML'],
    ['an old workbook', Buffer.from('d0cf11e0a1b11ae100', 'hex'), 'save it as CSV'],
    ['nothing but a header', 'phone,date\n', 'has a header but no row'],
    ['rows below a title', 'List Q4,,\n,,\nphone,name,date\n2125550101,A,2026-11-20\n', 'line 3'],
    ['a total', 'phone,date\n2125550101,2026-11-20\n,\nTotal: 1,\n', "line 4 'Total: 1'"],
  ]
  it.each(refused)('are refused with %s', async (_what, content, message) => {
    const { code, said } = await optOuts(content)
    expect(code, said).toBe(1)
    expect(said).toContain(message)
  })

  it('of a workbook are refused by name', async () => {
    const parts = ['[Content_Types].xml', 'xl/workbook.xml', 'xl/worksheets/sheet1.xml']
    const book = zipBytes(parts.map((name) => ({ name, content: '<?xml version="1.0"?><x/>' })))
    for (const { code, said } of [await litigators(book), await optOuts(book)]) {
      expect([code, said]).toEqual([1, expect.stringContaining('Excel (.xlsx); save it as CSV')])
    }
  })
})

describe('a column that decides which rows count', () => {
  const flags: readonly (readonly [string, string, string])[] = [
    ['DoNotCall', 'TRUE', 'FALSE'],
    ['Do Not Call', '1', '0'],
    ['action', 'add', 'delete'],
    ['status', 'DNC', 'NI'],
    ['Unsubscribed from all email', 'true', 'false'],
    ['Disposition', 'Do Not Call', 'No Answer'],
    ['expires', '', '2026-01-01'],
    ['onList', 'Y', 'N'],
  ]
  it.each(flags)('is asked for by name: %s', async (header, yes, no) => {
    const text = `phone,${header}\n2125550101,${yes}\n2125550102,${no}\n`
    for (const run of [
      litigators,
      (...args: [string, ...string[]]) => optOuts(...args, '--undated'),
    ]) {
      const refused = await run(text)
      expect([refused.code, refused.numbers]).toEqual([1, []])
      expect(refused.said).toContain(`column '${header}' may decide which rows count`)
      const some = await run(text, '--where', `${header.toUpperCase()}=${yes}`)
      expect(some.numbers.map((one) => one.slice(0, 10))).toEqual(['2125550101'])
      expect(some.said).toContain('1 rows were left out by --where')
      expect((await run(text, '--all-rows')).numbers).toHaveLength(2)
    }
  })

  it('with a value of no row, or of no column, takes nothing', async () => {
    const text = 'phone,status\n2125550101,DNC\n2125550102,NI\n'
    const wrong = await litigators(text, '--where', 'status=DNCX')
    expect([wrong.code, wrong.said]).toEqual([
      1,
      expect.stringContaining("the values are 'DNC', 'NI'"),
    ])
    const none = await litigators(text, '--where', 'state=DNC')
    expect([none.code, none.said]).toEqual([1, expect.stringContaining("no column 'state'")])
    const both = await litigators(text, '--where', 'status=ni,dnc')
    expect(both.numbers).toEqual(['2125550101', '2125550102'])
  })

  it('is none with days or details', async () => {
    const text = 'phone,DNC date,DNC reason,Lead Status\n2125550101,2026-11-20,asked,OPEN\n'
    expect((await litigators(text)).code).toBe(0)
  })
})

describe('the order of day and month', () => {
  const file = (...dates: readonly string[]) =>
    `phone,date\n${dates.map((date, at) => `${allTen[at + 1]},${date}\n`).join('')}`
  const daysOf = ({ numbers }: Taken) => numbers.map((one) => one.split(' ')[1])

  it.each([
    [['05/11/2026', '20/11/2026'], "'20/11/2026' has the day before the month"],
    [['20/11/2026'], "'20/11/2026' has the day before the month"],
    [['05/11/2026'], "'05/11/2026' may have the month or the day first"],
    [['11/20/2026', '20/11/2026'], "'20/11/2026' has the day before the month and '11/20/2026'"],
  ])('of %j must be said, whatever may be bad', async (dates, message) => {
    const { code, said } = await optOuts(file(...dates), '--bad-lines', '5')
    expect([code, said]).toEqual([1, expect.stringContaining(message)])
    expect(said).toContain('--dates')
  })

  it.each([
    [
      ['05/11/2026', '20/11/2026'],
      ['--dates', 'dmy'],
      ['2026-11-05', '2026-11-20'],
    ],
    [['05/11/2026'], ['--dates', 'mdy'], ['2026-05-11']],
    [['05/11/2026', '11/20/2026'], [], ['2026-05-11', '2026-11-20']],
    [['10/10/2026'], [], ['2026-10-10']],
    [['05.11.2026', '20.11.2026'], [], ['2026-11-05', '2026-11-20']],
    [['2026/11/05', '20261120'], [], ['2026-11-05', '2026-11-20']],
    [['11/20/2026 4:40 PM', '5/6/2026 09:00'], [], ['2026-11-20', '2026-05-06']],
  ])('of %j with %j', async (dates, more, days) => {
    expect(daysOf(await optOuts(file(...dates), ...more))).toEqual(days)
  })
})

describe('the day of an opt-out', () => {
  it.each([
    ['2125550101,2020-01-01,2026-10-01\n'],
    ['phone,addedOn,lastModifiedOn\n2125550101,2020-01-01,2026-10-01\n'],
    ['phone,lastModifiedOn,addedOn\n2125550101,2026-10-01,2020-01-01\n'],
    ['2125550101,2026-10-01,2020-01-01\n'],
    ['2125550101,2020-01-01T00:00:00Z,2026-10-01\n'],
  ])('is the later one of the status form: %j', async (text) => {
    expect((await optOuts(text)).numbers).toEqual(['2125550101 2026-10-01'])
  })

  it('in a cell that no header names is not lost', async () => {
    const { code, said } = await optOuts('2125550101,2020-01-01,2020-01-02,2026-10-01\n')
    expect([code, said]).toEqual([1, expect.stringContaining('has 4 cells')])
  })
})

describe('exports', () => {
  const today = formatDay(toUtcDay(Date.now()))
  const hubspot =
    '"Record ID","First Name","Phone Number","Mobile Phone Number","Lead Status","Create Date"\n' +
    '"1001","Ana","+1 212-555-0101","(212) 555-0102","UNQUALIFIED","2026-01-14 09:12"\n' +
    '"1002","Ben","","+12125550103","OPEN","2026-02-02 11:00"\n' +
    '"1003","Cy","2125550104","2125550104","OPEN","2026-03-09 08:30"\n'
  it('of a CRM with two columns of numbers', async () => {
    const refused = await optOuts(hubspot)
    expect(refused.code).toBe(1)
    for (const name of ['Phone Number', 'Mobile Phone Number', 'no date column']) {
      expect(refused.said).toContain(name)
    }
    const both = number('Phone Number', 'Mobile Phone Number')
    const { numbers } = await optOuts(hubspot, ...both, '--undated')
    expect(numbers).toEqual(['01', '02', '03', '04'].map((end) => `21255501${end} ${today}`))
    expect((await litigators(hubspot, ...both)).numbers).toEqual(allTen.slice(1, 5))
  })

  it('with a footer, in Windows-1252', async () => {
    const rows =
      '"Last Name","Phone","Mobile","Home Phone","Do Not Call"\r\n"Ruiz","(212) 555-0101","(212) 555-0102","","1"\r\n' +
      '"Ode","(212) 555-0103","","(212) 555-0104","0"\r\n\r\n\r\n\r\n"DNC report"\r\n"Generated By:  Zo\xeb M\xfcller"\r\n'
    const bytes = Buffer.from(rows, 'latin1')
    const refused = await optOuts(bytes)
    for (const name of ["'Phone'", "'Mobile'", "'Home Phone'"]) expect(refused.said).toContain(name)
    const named = await litigators(bytes, ...number('Phone', 'Mobile', 'Home Phone'))
    expect(named.code).toBe(1)
    for (const name of ['line 7', 'line 8', "'Do Not Call'"]) expect(named.said).toContain(name)
  })

  it('with several numbers in a cell', async () => {
    const rows =
      'Contact Id,Phone,Created,Tags,Additional Phones\n' +
      'k1,+12125550101,2026-01-14T15:12:08-05:00,"dnd, cold","+12125550102, +12125550103"\n' +
      'k2,+12125550104,2026-02-02T11:00:00-05:00,,\n'
    const refused = await litigators(rows)
    expect(refused.said).toContain("'Phone', 'Additional Phones'")
    const { numbers } = await litigators(rows, ...number('Phone', 'Additional Phones'))
    expect(numbers).toEqual(allTen.slice(1, 5))
  })

  it('of a dialer with a status', async () => {
    const rows =
      'lead_id\tstatus\tphone_code\tphone_number\taddress3\talt_phone\n' +
      '1\tDNC\t1\t2125550101\t\t2125550102\n2\tNI\t1\t2125550103\t\t\n' +
      '3\tDNCL\t1\t2125550104\t2125550105\t\n4\tCUSDNC\t1\t2125550106\t\t\n'
    const refused = await optOuts(rows)
    for (const name of ['phone_number', 'alt_phone', 'address3']) {
      expect(refused.said).toContain(name)
    }
    const named = [...number('phone_number', 'alt_phone', 'address3'), '--undated']
    expect((await optOuts(rows, ...named)).said).toContain("'status' may decide")
    const some = await optOuts(rows, ...named, '--where', 'status=DNC,DNCL,CUSDNC')
    expect(some.numbers.map((one) => one.slice(8, 10))).toEqual(['01', '02', '04', '05', '06'])
  })

  it('with a code of the country, which is no number', async () => {
    const rows =
      '"Phone Code","Phone Number","Campaign","Reason","Created At"\n' +
      '"1","2125550101","0","Customer Request","2026-11-20 16:40:00"\n'
    expect((await optOuts(rows)).numbers).toEqual(['2125550101 2026-11-20'])
  })

  it('of spreadsheets in other languages', async () => {
    const de =
      'Telefon;Mobil;Abgemeldet am\r\n0012125550101;(212) 555-0102;20.11.2026\r\n+1 212 555 0103;;05.11.2026\r\n'
    expect((await optOuts(de)).said).toContain("'Telefon', 'Mobil'")
    const named = [...number('Telefon', 'Mobil'), '--column', 'date=Abgemeldet am']
    expect((await optOuts(de, ...named)).numbers).toEqual([
      '2125550101 2026-11-20',
      '2125550102 2026-11-20',
      '2125550103 2026-11-05',
    ])
    const fr =
      "\ufeffTéléphone;Date d'opposition\r\n2125550101;20/11/2026\r\n2125550102;05/11/2026\r\n"
    expect((await optOuts(fr)).said).toContain("'Téléphone'")
    const columns = [...number('Téléphone'), '--column', "date=Date d'opposition"]
    const unsaid = await optOuts(fr, ...columns)
    expect([unsaid.code, unsaid.said]).toEqual([1, expect.stringContaining("'20/11/2026'")])
    expect((await optOuts(fr, ...columns, '--dates', 'dmy')).numbers).toEqual([
      '2125550101 2026-11-20',
      '2125550102 2026-11-05',
    ])
  })

  it('with a number that a spreadsheet has rounded', async () => {
    const rows =
      'phone,opt-out date\n2.12555E+09,2026-11-20\n2125550102,2026-11-20\n2125550103.0,2026-11-21\n'
    const refused = await optOuts(rows)
    expect([refused.code, refused.said]).toEqual([1, expect.stringContaining('line 2')])
    const { said, numbers } = await optOuts(rows, '--bad-lines', '1')
    expect(numbers).toEqual(['2125550102 2026-11-20', '2125550103 2026-11-21'])
    expect(said).toContain("line 2 '2.12555E+09'")
  })
})

describe('--sample', () => {
  it('prints a file that the command takes', async () => {
    const run = (add: RegisterCommand, ...args: readonly string[]) =>
      runCommand(add, args, { dataDir })
    const list = await run(registerImport, 'import', 'litigators', '--sample')
    expect((await litigators(list.out)).numbers).toEqual(['2125550101', '2125550102'])
    const records = await run(registerRecords, 'records', 'import', 'opt-outs', '--sample')
    expect((await optOuts(records.out)).numbers).toHaveLength(2)
    const { code, out } = await run(registerRecords, 'records', 'import', 'consents', '--sample')
    expect(code).toBe(0)
    const taken = await run(registerRecords, 'records', 'import', 'consents', fileOf(out))
    expect([taken.code, taken.out]).toEqual([0, expect.stringContaining('2 stored')])
  })
})
