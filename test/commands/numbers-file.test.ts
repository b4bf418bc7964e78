/** Where the numbers of a list are: rows that name columns, rows that do not, and neither. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readNumbersFile } from '../../src/commands/numbers-file.js'
import { DataFileError } from '../../src/errors.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-numbers-'))
const file = join(folder, 'list.csv')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function read(text: string) {
  writeFileSync(file, text)
  return readNumbersFile(file, { serviceCodes: new Set(['7005550000']) })
}

const a = '2127365001'
const b = '2127365002'
const id = '17'

describe('the numbers of a list', () => {
  const headers: readonly (readonly [string, string])[] = [
    ['lead_id_1,mobile', `${id},${a}`],
    ['id,phone1', `${id},${a}`],
    ['id;"Telephone No."', `${id};${a}`],
    ['phone_code,phone_number', `1,${a}`],
    ['Number,Cell', `${id},${a}`],
    ['id,number', `${id},${a}`],
    ['id,home_phone', `${id},${a}`],
    ['id\tTel', `${id}\t${a}`],
    ['id|Mobile Number', `${id}|${a}`],
  ]
  it.each(headers)('are in the column that the header names: %s', async (header, row) => {
    const { numbers, refused } = await read(`${header}\n${row}\n`)
    expect(numbers).toEqual([{ number: a, line: 2 }])
    expect(refused).toEqual([])
  })

  const firstRows: readonly (readonly [string, number])[] = [
    [a, 0],
    [`${a},Doe,10001`, 0],
    [`"Doe, J.",${a}`, 1],
    [`17;+1 (212) 736-5001;x`, 1],
  ]
  it.each(firstRows)('are, without a header, where its first is: %s', async (row, at) => {
    const second = at === 0 ? b : `x${row.includes(';') ? ';' : ','}${b}`
    const { numbers, refused } = await read(`# list\n\n${row}\n${second}\n`)
    expect(numbers).toEqual([
      { number: a, line: 3 },
      { number: b, line: 4 },
    ])
    expect(refused).toEqual([])
  })

  it.each(['911', '7005550000', '+442071838750'])(
    'may begin with one that nobody is asked about: %s',
    async (first) => {
      const { numbers, refused } = await read(`${first}\n${a}\n`)
      expect(numbers).toEqual([{ number: a, line: 2 }])
      expect(refused).toMatchObject([{ line: 1, value: first }])
    },
  )
})

describe('a list is refused', () => {
  const rule = "no column 'number' or 'phone' or 'phonenumber'; must be the header of a list"
  const none = 'contains no number that can be looked up'
  const refusals: readonly (readonly [string, string, string])[] = [
    ['whose header names no numbers', `lead_id_1,agent2\n${id},${a}\n`, rule],
    ['whose header is of ids alone', `1,2\n${id},${a}\n`, rule],
    ['whose first row has a stray quote', `"phone,x\n${a}\n`, 'has a misplaced or unclosed quote'],
    ['with two columns of numbers', `id,Phone 1,Phone 2\n1,${a},${b}\n`, "'Phone 1', 'Phone 2'"],
    ['of comments alone', '# nothing\n\n# today\n', none],
    ['of a header alone', 'phone\n', none],
    ['of nothing to ask about', `phone\n911\nn/a\n`, `${none}\n  ${file} line 2 '911': is an`],
  ]
  it.each(refusals)('%s', async (_name, text, message) => {
    const failure: unknown = await read(text).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(DataFileError)
    expect(String(failure)).toContain(message)
  })
})
