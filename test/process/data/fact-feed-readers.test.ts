import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FactFeedName, factFeedNames, factFeeds } from '../../../src/data/facts/fact-feeds.js'
import { BadLines } from '../../../src/data/feeds/bad-lines.js'
import type { FeedFile } from '../../../src/data/feeds/fact-table.js'
import { openSourceFile } from '../../../src/data/files/source-file.js'
import { DataFileError } from '../../../src/errors.js'
import type { FactRow } from '../../../src/storage/facts/fact-file-schema.js'
import { day } from '../../data/facts-fixture.js'
import { ftcRows, ftcText } from '../../data/sample-feeds.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { zipBytes } from '../../data/zip-bytes.js'

const folder = useTempFolder()
const today = day('2026-11-20')
/** Of the name of each file. */
const asOn = day('2026-11-18')

interface Read {
  readonly facts: readonly (readonly [string, FactRow])[]
  readonly left: readonly string[]
  readonly rows: number
  readonly bad: BadLines
}

async function read(
  feed: FactFeedName,
  content: string | Buffer,
  { name = '2026-11-18.csv', allowed = 0, statedDay = undefined as number | undefined } = {},
): Promise<Read> {
  const source = await openSourceFile(folder.write(name, content))
  const facts: [string, FactRow][] = []
  const left: string[] = []
  const bad = new BadLines(allowed)
  const file: FeedFile<FactRow> = {
    source,
    badLines: bad,
    today,
    statedDay,
    onRow: () => undefined,
    keep: (number, fact) => void facts.push([number, fact]),
    skip: (reason) => void left.push(reason),
  }
  const { rows } = await factFeeds[feed].read(file)
  return { facts, left, rows, bad }
}

const first = async (feed: FactFeedName, content: string) => (await read(feed, content)).facts[0]

const n = '8505550123'

describe('a table of facts', () => {
  const connected = [n, { status: 'connected', errorText: '', checkedOn: null }]

  const forms: readonly (readonly [string, string | Buffer])[] = [
    ['commas', `number,status\n${n},connected\n`],
    ['tabs and CR LF', `Status\tPhone Number\r\nconnected\t${n}\r\n`],
    ['semicolons and quotes', `"TN";"LINE STATUS"\n"${n}";"Connected"\n`],
    ['bars, blanks and other columns', `id|phone_number | status\n7| ${n} |connected \n`],
    ['no header', `${n},connected\n`],
    ['a comment without a line end', `${n},connected\n# end`],
    [
      'comments, blank lines and a byte order mark',
      `\ufeff# made up\n\nnumber,status\n\n${n},connected\n`,
    ],
    ['+1 and marks', `number,status\n+1 (850) 555-0123,connected\n`],
    ['gzip', gzipSync(`number,status\n${n},connected\n`)],
    ['zip', zipBytes([{ name: 'a.csv', content: `number,status\n${n},connected\n` }])],
  ]
  it.each(forms)('may have %s', async (_form, content) => {
    expect(await first('line-status', content as string)).toEqual(connected)
  })

  const refused: readonly (readonly [string, string | Buffer, string])[] = [
    ['nothing', '', 'is empty; must be a table'],
    ['comments alone', '# nothing\n\n', 'is empty; must be a table'],
    ['a web page', '<!DOCTYPE html>\n<html></html>\n', 'this is a web page'],
    ['another table', 'name,street\na,b\n', "no column 'number'"],
    ['no status', `number,street\n${n},b\n`, "no column 'status' or 'linestatus'"],
    ['UTF-16', Buffer.from(`number,status\n${n},connected\n`, 'utf16le'), 'contains a zero byte'],
    ['bytes', Buffer.alloc(200_000, 0xee), 'this is not a table'],
    ['zero bytes', Buffer.alloc(100), 'line 1 contains a zero byte'],
    ['a short row', `number,status\n${n}\n`, 'the row has 1 cells'],
    ['a long row', `number,status\n${n},busy,,x\n`, 'has 4 cells, but the header has only 2'],
    ['an open quote', `number,status\n${n},"busy\n`, 'has a misplaced or unclosed quote'],
    ['nine digits', 'number,status\n850555012,busy\n', 'must be ten digits'],
    ['a number as a spreadsheet breaks it', 'number,status\n8.50555E+09,busy\n', 'ten digits'],
    ['a last row that is cut off', `number,status\n${n},busy\n${n},conn`, 'cut off'],
    ['a last row without a line end', `number,status\n${n},connected`, 'end it with a line break'],
    [
      'a word more than line 1 has',
      `${n},busy\n${n},busy,,,x\n`,
      'has 5 cells, but the table has only 4',
    ],
    ['a comment where the number is not first', `status,number\n#busy,${n}\n`, 'must be one of'],
    ['a comment behind a blank', `number,status\n #${n},busy\n`, 'must be ten digits'],
    ['an area code with 0', 'number,status\n0505550123,busy\n', 'must not have 0 or 1'],
    ['an exchange with 1', 'number,status\n8501550123,busy\n', 'must not have 0 or 1'],
    ['a plus and no 1', 'number,status\n+8505550123,busy\n', 'must be ten digits'],
    ['a plus and nine digits', 'number,status\n+1850555012,busy\n', 'must be ten digits'],
    ['a plus and a second 1', 'number,status\n+118505550123,busy\n', 'must be ten digits'],
  ]
  it.each(refused)('%s is refused', async (_what, content, rule) => {
    const reading = read('line-status', content)
    await expect(reading).rejects.toThrow(DataFileError)
    await expect(reading).rejects.toThrow(rule)
  })

  it('tells bad rows by line and value, and a cut-off last row however many may be bad', async () => {
    const content = `number,status\n${n},busy\nx,busy\n${n},asleep\n`
    await expect(read('line-status', content, { allowed: 1 })).rejects.toThrow('2 lines are bad')
    const { facts, rows, bad } = await read('line-status', content, { allowed: 2 })
    expect([facts.length, rows]).toEqual([1, 3])
    expect(bad.first).toMatchObject([
      { file: '2026-11-18.csv', line: 3, value: 'x', rule: 'number must be ten digits' },
      { line: 4, value: 'asleep' },
    ])
    const cut = read('line-status', `${content}${n}`, { allowed: 99 })
    await expect(cut).rejects.toThrow('the last line may be cut off')
  })

  it('is read as UTF-8 where it is, and as Windows-1252 where it is not', async () => {
    const utf8 = `number,type,name\n${n},L,Télé – Québec\n`
    expect((await first('current-carrier', utf8))?.[1]).toMatchObject({
      telcoName: 'Télé – Québec',
    })
    const row = Buffer.from(`${n},L,T\xe9l\xe9 \x96 Qu\xe9bec\n`, 'latin1')
    const { facts } = await read('current-carrier', Buffer.concat([Buffer.from(utf8), row, row]))
    expect(facts.map(([, fact]) => fact.telcoName)).toEqual(new Array(3).fill('Télé – Québec'))
  })

  it('is the same wherever a chunk of the file ends', async () => {
    const rows = Array.from(
      { length: 20_000 },
      (_, nth) => `${8_505_550_000 + nth},W,,Compañía ${nth}`,
    )
    const { facts } = await read(
      'current-carrier',
      `number,type,ocn,name\n${rows.join('\r\n')}\r\n`,
    )
    expect(facts.length).toBe(20_000)
    expect(
      facts.every(
        ([number, fact]) => `Compañía ${Number(number) - 8_505_550_000}` === fact.telcoName,
      ),
    ).toBe(true)
  })
})

describe('each feed', () => {
  const rows: readonly (readonly [FactFeedName, string, FactRow])[] = [
    [
      'line-status',
      `number,status,checked-on,error-text\n${n},ERROR,2026-11-18T08:00:00Z,no route\n`,
      { status: 'ERROR', errorText: 'no route', checkedOn: day('2026-11-18') },
    ],
    [
      'line-status',
      `${n},Invalid Phone,20261118\n`,
      { status: 'invalid phone', errorText: '', checkedOn: day('2026-11-18') },
    ],
    [
      'line-status',
      `${n},CONNECTED-75\n`,
      { status: 'connected-75', errorText: '', checkedOn: null },
    ],
    ['res-or-business', `Phone,ResOrBusiness\n${n},r\n`, { kind: 'R' }],
    ['res-or-business', `${n},Business\n`, { kind: 'B' }],
    ['res-or-business', `${n},unknown\n`, { kind: 'U' }],
    [
      'current-carrier',
      `number,type,ocn,name,date\n${n},Mobile,zz01,"Example, Inc.",11/18/2026\n`,
      { phoneType: 'W', ocn: 'ZZ01', telcoName: 'Example, Inc.', lookedUpOn: day('2026-11-18') },
    ],
    [
      'current-carrier',
      `Phone,PhoneType,OCN,TelcoName,ODate\n${n},V,,,\n`,
      { phoneType: 'V', ocn: '', telcoName: '', lookedUpOn: null },
    ],
    [
      'current-carrier',
      `${n},,ZZ01,${'x'.repeat(60)}\n`,
      { phoneType: 'N', ocn: 'ZZ01', telcoName: 'x'.repeat(50), lookedUpOn: null },
    ],
    [
      'spam-labels',
      `number,source,status,observed\n${n},carrier_a,Flagged,2026-11-18\n`,
      { source: 'CarrierA', flagged: 1, observedOn: day('2026-11-18') },
    ],
    ['spam-labels', `${n},App B,clean\n`, { source: 'AppB', flagged: 0, observedOn: null }],
    [
      'reassigned',
      `number,disconnected-on\n${n},2026-01-31\n`,
      { said: 'disconnected', day: day('2026-01-31'), asOn },
    ],
    [
      'reassigned',
      `tn,date\n${n},01/31/2026\n`,
      { said: 'disconnected', day: day('2026-01-31'), asOn },
    ],
    ['reassigned', `${n},20260131\n`, { said: 'disconnected', day: day('2026-01-31'), asOn }],
    [
      'reassigned',
      `tn,date,disconnected\n${n},2024-06-01,no\n`,
      { said: 'no', day: day('2024-06-01'), asOn },
    ],
    [
      'carrier-reassigned',
      `tn,date,companyId,Result\n${n},2024-06-01,EXAMPLE,YES\n`,
      { said: 'yes', day: day('2024-06-01'), asOn },
    ],
    ['reassigned', `${n},1990-01-01,no\n`, { said: 'no', day: day('1990-01-01'), asOn }],
    ['reassigned', `${n},2021-01-27\n`, { said: 'disconnected', day: day('2021-01-27'), asOn }],
    [
      'carrier-reassigned',
      `${n},2018-07-01\n`,
      { said: 'disconnected', day: day('2018-07-01'), asOn },
    ],
    [
      'reassigned',
      `tn,date,consent_date,answer\n${n},2026-11-01,2024-06-01,no\n`,
      { said: 'no', day: day('2024-06-01'), asOn },
    ],
    ['reassigned', `${n},No,2024-06-01\n`, { said: 'no', day: day('2024-06-01'), asOn }],
  ]
  it.each(rows)('%s: %s', async (feed, content, fact) => {
    expect(await read(feed, content)).toMatchObject({ facts: [[n, fact]], left: [] })
  })

  const refused: readonly (readonly [FactFeedName, string, string])[] = [
    ['line-status', `${n},asleep\n`, 'must be one of: connected'],
    ['line-status', `${n},busy,2026-02-30\n`, 'must be YYYY-MM-DD'],
    ['line-status', `${n},busy,2026-11-22\n`, 'must not be in the future'],
    ['res-or-business', `${n},X\n`, 'must be R, B or U'],
    ['res-or-business', `${n},\n`, 'must be R, B or U'],
    ['current-carrier', `${n},P\n`, 'must be N, L, V, W or O'],
    ['current-carrier', `${n},L,12345\n`, 'must be four letters or digits'],
    [
      'current-carrier',
      `number,type,ocn,name,date\n${n},L,ZZ01,Example, Inc,2026-11-18\n`,
      'has 6 cells',
    ],
    ['spam-labels', `${n},CarrierE,clean\n`, 'must be one of: CarrierA'],
    ['spam-labels', `${n},CarrierA,maybe\n`, 'must be flagged or clean'],
    ['spam-labels', `number,source\n${n},CarrierA\n`, "no 'source' and 'status'"],
    ['spam-labels', `number,remark\n${n},x\n`, 'no column of a source'],
    ['reassigned', `number,disconnected-on\n${n},\n`, 'is missing'],
    ['reassigned', `number,disconnected-on\n${n},soon\n`, 'must be YYYY-MM-DD'],
    ['reassigned', `tn,date,disconnected\n${n},2024-06-01,\n`, 'must be yes, no or no data'],
    ['reassigned', `tn,date,disconnected\n${n},,no\n`, 'is missing'],
    ['reassigned', `tn,date,consent_date,answer\n${n},2024-06-01,,no\n`, 'is missing'],
    ['reassigned', `tn,date,disconnected\n${n},2024-06-01,no`, 'may be cut off'],
    ['reassigned', 'tn,date,disconnected\n', 'has a header but no row'],
    [
      'reassigned',
      `${n},2026-01-31\n${n},2026-01-31,no\n`,
      'has 3 cells, but the table has only 2',
    ],
    ['reassigned', `${n},2021-01-26\n`, 'must not be before 2021-01-27'],
    ['reassigned', `${n},1970-01-01\n`, 'must not be before'],
    ['carrier-reassigned', `${n},2018-06-30\n`, 'must not be before 2018-07-01'],
    ['carrier-reassigned', `${n},1900-01-01,yes\n`, 'must not be before 1990-01-01'],
    ['reassigned', `${n},1989-12-31,no\n`, 'must not be before 1990-01-01'],
    ['ftc-complaints', ftcText(ftcRows).trimEnd().slice(0, -1), 'may be cut off'],
    ['reassigned', `tn,disconnected\n${n},no\n`, "no column 'date' beside the answer"],
    ['reassigned', `tn,date,RND says\n${n},2024-06-01,no\n`, "no 'date' with 'answer'"],
    ['reassigned', `tn,consent date\n${n},2024-06-01\n`, "no 'date' with 'answer'"],
    ['reassigned', `tn,consent date,answer\n${n},2024-06-01,\n`, 'must be yes, no or no data'],
    ['ftc-complaints', `${n},2026-11-17 00:04:31\n`, "no column 'companyphonenumber'"],
    ['ftc-complaints', ftcText([]), 'has a header but no complaint'],
    [
      'ftc-complaints',
      ftcText([`${n},2026-11-17,2026-11-16 19:07:00,,,,,N`]),
      'must be YYYY-MM-DD HH:MM:SS',
    ],
    [
      'ftc-complaints',
      ftcText([`${n},2026-11-31 01:00:00,2026-11-16 19:07:00,,,,,N`]),
      'must be YYYY-MM-DD HH:MM:SS',
    ],
    ['ftc-complaints', ftcText([`${n},2026-12-17 01:00:00,,,,,,N`]), 'must not be in the future'],
    ['ftc-complaints', ftcText([`${n},2026-11-17 01:00:00,,,,,,Perhaps`]), 'must be Y, N or blank'],
    ['ftc-complaints', ftcText([`5550123,2026-11-17 01:00:00,,,,,,N`]), 'must be ten digits'],
  ]
  it.each(refused)('%s refuses %j', async (feed, content, rule) => {
    await expect(read(feed, content)).rejects.toThrow(rule)
  })

  it('spam labels may be a column for each source; a blank has not said', async () => {
    const content = `Phone,CarrierAScore,Carrier B,AppAStatus\n${n},Clean,,Flagged\n8505550124,,,\n`
    const { facts, left } = await read('spam-labels', content)
    expect(facts).toEqual([
      [n, { source: 'CarrierA', flagged: 0, observedOn: null }],
      [n, { source: 'AppA', flagged: 1, observedOn: null }],
    ])
    expect(left).toEqual(['without a status'])
  })

  it.each(['no data', 'NO_DATA', 'No-Data', 'nodata'])(
    'reassigned: %s is no fact',
    async (answer) => {
      const { facts, left } = await read(
        'reassigned',
        `tn,date,disconnected\n${n},2024-06-01,${answer}\n`,
      )
      expect(facts).toEqual([])
      expect(left).toEqual(['without data in the database'])
    },
  )
})

describe('the FTC file of reported calls', () => {
  const complaints = async (
    rows: readonly string[],
    name = 'DNC_Complaint_Numbers_2026-11-18.csv',
  ) => (await read('ftc-complaints', ftcText(rows), { name })).facts

  it('keeps the words of each complaint about a number', async () => {
    const { facts, left, rows } = await read('ftc-complaints', ftcText(ftcRows))
    expect(facts.map(([number]) => number)).toEqual(['8505550123', '8505550124', '8505550123'])
    expect(facts[0]?.[1]).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      createdAt: '2026-11-17 00:04:31',
      violatedAt: '2026-11-16 19:07:00',
      city: 'Springfield',
      state: 'Illinois',
      areaCode: '217',
      subject: 'Reducing your debt (credit cards, mortgage, student loans)',
      robocall: 'Y',
    })
    expect(facts[1]?.[1]).toMatchObject({ city: '', state: '', areaCode: '', robocall: 'N' })
    expect(left).toEqual(['without a number'])
    expect(rows).toBe(4)
  })

  it('gives ids by day, words and place among equals', async () => {
    const [row = ''] = ftcRows
    const ids = (await complaints([row, row, ...ftcRows])).map(([, fact]) => fact.id)
    expect(new Set(ids).size).toBe(5)
    const again = (await complaints([row, row, ...ftcRows])).map(([, fact]) => fact.id)
    expect(again).toEqual(ids)
    const copy = 'DNC_Complaint_Numbers_2026-11-18 (1).csv'
    expect((await complaints([row], copy))[0]?.[1].id).toBe(ids[0])
    const later = 'DNC_Complaint_Numbers_2026-11-19.csv'
    expect((await complaints([row], later))[0]?.[1].id).not.toBe(ids[0])
  })

  it('leaves out numbers nobody can have, and may end without a line end', async () => {
    const rows = ['0000000000', n].map((number) => `${number},2026-11-17 01:00:00,,,,,Other,N`)
    const { facts, left } = await read('ftc-complaints', ftcText(rows).trimEnd())
    expect([facts.length, left]).toEqual([1, ['of impossible numbers']])
  })

  const names: readonly (readonly [string, string])[] = [
    ['2026-11-19 DNC_Complaint_Numbers_2026-11-18.csv', 'read'],
    ['DNC_Complaint_Numbers_2026-11-18 copied 2026-11-19.csv', 'read'],
    ['2026-11-18 again 2026-11-18.csv', 'read'],
    ['2026-11-18 to 2026-11-19.csv', 'several days'],
    ['12026-11-18.csv', 'no day'],
  ]
  it.each(names)('%s: %s', async (name, outcome) => {
    const content = ftcText(ftcRows)
    const reading = read('ftc-complaints', content, { name })
    if (outcome !== 'read') return await expect(reading).rejects.toThrow(outcome)
    const { facts } = await read('ftc-complaints', content)
    expect((await reading).facts).toEqual(facts)
  })

  it('has to be of a day that is not ahead', async () => {
    const content = ftcText(ftcRows)
    const name = 'complaints.csv'
    await expect(read('ftc-complaints', content, { name })).rejects.toThrow(
      'give the day with --as-of',
    )
    const statedDay = day('2026-11-18')
    const stated = await read('ftc-complaints', content, { name, statedDay })
    const named = await read('ftc-complaints', content)
    expect(stated.facts).toEqual(named.facts)
    await expect(read('ftc-complaints', content, { name: '2026-12-01.csv' })).rejects.toThrow(
      'in the future',
    )
  })
})

describe('hostile files', () => {
  const cells = fc.constantFrom(
    ...[
      '8505550123',
      'number',
      'status',
      'connected',
      'W',
      'R',
      'CarrierA',
      'flagged',
      '2026-11-01',
    ],
    ...[
      '',
      '"',
      '""',
      '"a',
      '\t',
      '|',
      ';',
      '#',
      '<',
      '\0',
      '\r',
      '\u2028',
      '\ud800',
      '😀',
      '__proto__',
    ],
    'constructor',
    '-1',
    '1e9',
    "';DROP TABLE facts;--",
    'x'.repeat(70_000),
  )
  const lines = fc.array(fc.array(cells, { maxLength: 9 }), { maxLength: 12 })
  const texts = lines.map((all) => all.map((line) => line.join(',')).join('\n'))
  const headed = fc.tuple(
    fc.constantFrom(
      ...[
        'number,status',
        'number,type,ocn,name,date',
        'number,source,status',
        'tn,date,disconnected',
      ],
      ftcText([]).trim(),
    ),
    texts,
  )
  const content = fc.oneof(
    fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
    texts,
    headed.map(([header, text]) => `${header}\n${text}\n`),
    fc
      .uint8Array({ maxLength: 60 })
      .map((bytes) => Buffer.concat([Buffer.from('PK\x03\x04'), bytes])),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.concat([Buffer.of(0x1f, 0x8b), bytes])),
  )
  it.each(factFeedNames)('%s: are read or refused in words', async (feed) => {
    await fc.assert(
      fc.asyncProperty(content, fc.constantFrom(0, 1000), async (bytes, allowed) => {
        const outcome = await read(feed, bytes, { allowed }).catch((cause: unknown) => cause)
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(DataFileError)
      }),
      { numRuns: 300 },
    )
  })
})
