/** `callgate records ...` as an operator runs it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerRecords } from '../../src/commands/records/records.js'
import { runCommand } from '../support/run-command.js'

let dataDir: string

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-records-'))
})

afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

const run = (...args: string[]) => runCommand(registerRecords, ['records', ...args], { dataDir })

function file(name: string, content: string): string {
  const path = join(dataDir, name)
  writeFileSync(path, content)
  return path
}

const sha256 = /SHA-256 [\da-f]{64}/

describe('callgate records', () => {
  it('imports opt-outs: dry run, bad lines, what became of each, and exports them again', async () => {
    const path = file(
      'old-list.csv',
      'Phone,Opted Out\n2127361000,2020-03-05\n2127361000,2020-03-06\n2127361001,someday\n',
    )
    const refused = await run('import', 'opt-outs', path)
    expect(refused.code).toBe(1)
    expect(refused.err).toContain("old-list.csv line 4 'someday': date must be a date")
    expect(refused.err).toContain('bad lines are in ')
    const rejects = join(dataDir, 'rejected.csv')
    const allowed = [path, '--bad-lines', '1', '--rejects', rejects]
    const dry = await run('import', 'opt-outs', ...allowed, '--dry-run')
    expect(dry.out).toMatch(/^opt-outs: project main \(dry run: nothing was changed\)\n/)
    const done = await run('import', 'opt-outs', ...allowed, '--source', 'old system')
    expect(done.out.replace(sha256, 'SHA-256')).toMatch(
      new RegExp(
        '^opt-outs: project main\n {2}read 3 rows, SHA-256\n' +
          ' {2}1 row with a number that another row has too\n {2}1 added to the list\n' +
          ' {2}1 bad lines were left out, 1 allowed\n',
      ),
    )
    expect(readFileSync(rejects, 'utf8')).toContain('old-list.csv,4,someday,')
    const out = await run('export', 'opt-outs')
    expect(out).toMatchObject({
      code: 0,
      out: 'number,date,source\r\n2127361000,2020-03-06,import:old system\r\n',
      err: 'opt-outs: project main, 1 row\n',
    })
    const again = join(dataDir, 'again.csv')
    expect((await run('export', 'opt-outs', again)).out).toBe('')
    expect(statSync(again).mode & 0o777).toBe(0o600)
    expect((await run('import', 'opt-outs', again)).out).toContain('  1 already on the list\n')
    expect(readdirSync(dataDir).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  it('imports consents by the columns it is told', async () => {
    const path = file('crm.csv', 'cell;when;who\n2127361005;3/6/2020;a@example.com\n')
    const columns = ['--column', 'number=cell', '--column', 'date=when', '--column', 'email=who']
    const done = await run(
      'import',
      'consents',
      path,
      ...columns,
      ...['--type', 'permission', '--dates', 'mdy'],
    )
    expect(done.out).toContain('consents: project main\n')
    expect(done.out).toContain('  1 stored\n')
    expect((await run('export', 'consents')).out).toContain(
      '2127361005,P,2020-03-06,,,,a@example.com,import:crm.csv\r\n',
    )
  })

  it('says what is wrong with an option', async () => {
    const path = file('few.csv', 'number,type,date\n')
    for (const [args, code, says] of [
      [['import', 'consents', path, '--column', 'date'], 2, "--column 'date': must be <name>="],
      [['import', 'consents', path, '--type', 'X'], 2, "--type 'X': must be one of S, I, P, T"],
      [['import', 'consents', path, '--account', 'nobody'], 2, "account 'nobody' not found"],
      [['import', 'opt-outs', path, '--project', 'NONE'], 1, "projId 'NONE'"],
      [['export', 'opt-outs', join(dataDir, 'no', 'x.csv')], 1, 'cannot be written: ENOENT'],
    ] as const) {
      const ended = await run(...args)
      expect([ended.code, ended.err]).toEqual([code, expect.stringContaining(says)])
    }
  })
})
