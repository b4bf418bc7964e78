/** `callgate caller-ids ...` as an operator runs it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { callgate } from '../../support/program.js'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-caller-ids-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (...args: readonly string[]) =>
  callgate(['caller-ids', ...args, '--account', 'sandbox'], {
    CALLGATE_DATA_DIR: join(folder, 'data'),
  })

const doNotOriginate = (...args: readonly string[]) =>
  callgate(['caller-ids', 'do-not-originate', ...args], { CALLGATE_DATA_DIR: join(folder, 'data') })

function importText(text: string) {
  const file = join(folder, 'numbers.csv')
  writeFileSync(file, text)
  return run('import', file)
}

it('imports a file as a whole, lists what is in force, and ends it', async () => {
  const header = 'number,project,owner,proof,carrier,attestation,from,until,tested,presence\n'
  const rows =
    '2125550150,,"Acme, Inc.",invoice 7,Example,A,2026-01-01,,2026-11-01T10:00:00Z,"1 Main St, New York"\n' +
    '+1 (212) 555-0151,,Acme,contract,,,,2027-01-01T00:00:00Z\n'
  expect(await importText(header + rows)).toMatchObject({
    code: 0,
    err: expect.stringContaining('2 own numbers were added to sandbox'),
  })
  const { out } = await run('list')
  expect(out).toMatch(/2125550150 .*Acme, Inc\. +invoice 7 +Example +A +2026-01-01T00:00:00Z/)
  expect(out).toContain('1 Main St, New York')
  expect(out).toMatch(/2125550151 .*2027-01-01T00:00:00Z/)
  expect((await run('end', '212-555-0151')).code).toBe(0)
  expect((await run('list')).out).not.toContain('2125550151')
  expect((await run('list', '--ended')).out).toContain('2125550151')
  expect((await run('end', '2125550151')).code).not.toBe(0)
})

it.each([
  ['number,owner,proof\n2125550160,Acme,x\n911,Acme,x\n', 'line 3'],
  ['number,owner,proof\n2125550160,Acme,x\n2125550161,Acme\n', 'proof'],
  ['number,owner,proof,until\n2125550160,Acme,x,soon\n', "until 'soon'"],
  ['number,owner,proof,attestation\n2125550160,Acme,x,D\n', "attestation 'D'"],
  ['phone,owner\n2125550160,Acme\n', 'has no column'],
  ['number,owner,proof\n', 'contains no rows'],
])('takes nothing of a file with a problem: %s', async (text, problem) => {
  const ended = await importText(text)
  expect(ended.code).not.toBe(0)
  expect(ended.err).toContain(problem)
  expect((await run('list', '--ended')).out).not.toContain('2125550160')
})

it('imports lists of numbers that nobody may show, each as a whole', async () => {
  const file = join(folder, 'dno.csv')
  writeFileSync(file, 'prefix\n900\n888-555-0100\n')
  const imported = await doNotOriginate('import', file, '--source', 'itg')
  expect(imported).toMatchObject({ code: 0, err: expect.stringContaining('entries of itg: 2') })
  writeFileSync(file, 'prefix\n900\n12\nx\n')
  const refused = await doNotOriginate('import', file, '--source', 'itg')
  expect(refused.code).not.toBe(0)
  expect(refused.err).toContain("line 3: prefix '12': must be 3 to 10 digits")
  expect(refused.err).toContain("line 4: prefix 'x': must be 3 to 10 digits")
  expect((await doNotOriginate('list')).out).toMatch(/itg +2 /)
  expect((await doNotOriginate('remove', 'itg')).code).toBe(0)
  expect((await doNotOriginate('list')).out).not.toContain('itg')
})
