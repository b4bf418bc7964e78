/** `callgate preview`: each row of a file gets its decision, and nothing else happens. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerPreview } from '../../src/commands/preview/preview.js'
import { listFiles } from '../support/journal.js'
import type { Ended } from '../support/program.js'
import { runCommand } from '../support/run-command.js'
import { callKinds, sandboxLines } from '../support/sandbox-lines.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const noon = '2026-11-23T17:00:00Z'
const files = mkdtempSync(join(tmpdir(), 'callgate-preview-'))
let server: TestCallgate
let written = 0

beforeAll(async () => {
  server = await openTestCallgate()
})
afterAll(async () => {
  await server.end()
  rmSync(files, { recursive: true })
})

function fileOf(content: string | Buffer): string {
  written += 1
  const file = join(files, `leads-${written}.csv`)
  writeFileSync(file, content)
  return file
}

/** Beside the server on the same data folder. */
function run(file: string, ...options: readonly string[]): Promise<Ended> {
  const args = ['preview', file, '--account', 'sandbox', ...options]
  return runCommand(registerPreview, args, { dataDir: server.dataDir })
}

async function decideRows(text: string, ...options: readonly string[]): Promise<readonly string[]> {
  const file = fileOf(text)
  const out = `${file}.out`
  const { code, err } = await run(file, ...options, '--out', out)
  expect([code, err]).toEqual([0, ''])
  return readFileSync(out, 'utf8').split('\r\n').slice(0, -1)
}

describe('callgate preview', () => {
  it.each(callKinds.map((kind, index) => [kind, index] as const))(
    'decides on every row as a call of kind %s',
    async (kind, index) => {
      const leads = sandboxLines.map(({ line }) => `212-555-${line}`).join('\n')
      const rows = await decideRows(`phone\n${leads}\n`, '--kind', kind, '--at', noon)
      expect(rows.slice(1).map((row) => row.split(',').slice(0, 5))).toEqual(
        sandboxLines.map(({ line, reasons }, row) => {
          const reason = reasons[index] ?? ''
          const decision = reason === 'permitted' ? 'allow' : 'block'
          return [String(row + 2), `212-555-${line}`, '', decision, reason]
        }),
      )
    },
  )

  it('shows counts by reason, and needs no file to write to', async () => {
    const file = fileOf('2125550106\n2125550107\n2125550105\n')
    const { code, out } = await run(file, '--kind', 'ai', '--at', noon)
    expect(code).toBe(0)
    expect(out).toContain(`${file}: 3 rows, ai calls, account sandbox, as of ${noon}\n`)
    expect(out).toContain('2 would be allowed, 1 blocked\n')
    expect(out).toMatch(/^reason +rows\npermitted +2\nlitigator +1\n/m)
  })

  it('loses no row: one that cannot be read is blocked, with the reason', async () => {
    const text =
      'name;phone;zip\n\n# a comment\n"x;2125550106\ny\nz;;\nnobody;n/a;\n911;911;12\nw;2125550106;9\n'
    const rows = await decideRows(text, '--kind', 'manual', '--at', noon)
    const cells = rows.map((row) => row.split(',').slice(0, 5).join(','))
    expect(cells).toEqual([
      'line,number,postal,decision,reason',
      '4,"""x;2125550106",,block,invalid-request',
      '5,y,,block,invalid-request',
      '6,,,block,invalid-request',
      '7,n/a,,block,invalid-number',
      '8,911,12,allow,service-code',
      '9,2125550106,9,block,invalid-request',
    ])
    expect(rows[2]).toContain('number is missing: the row has 1 cells')
    expect(rows[6]).toContain("postalCode '9'")
  })

  it('says from when a number may be called, by its postal code if it has one', async () => {
    const text = 'phone,zip\n2125550106,\n2125550106,90210\n'
    const rows = await decideRows(text, '--kind', 'manual', '--at', '2026-11-24T02:30:00Z')
    expect(rows[1]).toContain(',block,outside-calling-hours,2026-11-24T13:00:00Z,')
    expect(rows[2]).toContain(',90210,allow,permitted,,')
  })

  it('reads compressed files, more than one chunk of them', async () => {
    const count = 2_000
    const rest = 'x'.repeat(100)
    const lines = Array.from({ length: count }, (_, index) => `${2_125_550_000 + index},${rest}`)
    const file = fileOf(gzipSync(`phone,notes\n${lines.join('\n')}\n`))
    const out = `${file}.out`
    const ended = await run(file, '--kind', 'manual', '--at', noon, '--out', out)
    expect(ended.out).toContain(': 2,000 rows, manual calls')
    const rows = readFileSync(out, 'utf8').split('\r\n')
    expect(rows).toHaveLength(count + 2)
    expect(rows[count]).toMatch(/^2001,2125551999,,block,/)
  })

  it('records nothing, and sees what the server has stored', async () => {
    const number = '2127361000'
    const body = { actionType: 'add', phoneList: number }
    await server.postJson('/app/main/rpc/pdnc', body)
    const journal = join(server.dataDir, 'journal')
    const before = listFiles(journal).map((name) => [name, readFileSync(join(journal, name))])
    const rows = await decideRows(`${number}\n911\n`, '--kind', 'manual')
    expect(rows[1]).toContain(`1,${number},,block,internal-dnc,`)
    expect(rows[2]).toContain('2,911,,allow,service-code,')
    const after = listFiles(journal).map((name) => [name, readFileSync(join(journal, name))])
    expect(after).toEqual(before)
  })
})

describe('a preview that cannot be made', () => {
  const leads = fileOf('2125550106\n')
  const there = fileOf('2125550106\n')
  const cases: readonly (readonly [string, readonly string[], number, string])[] = [
    ['of no kind', [leads], 2, '--kind'],
    [
      'at no instant',
      [leads, '--kind', 'ai', '--at', 'noon'],
      2,
      "--at 'noon': must be an instant",
    ],
    ['far away', [leads, '--kind', 'ai', '--at', '2500-01-01'], 2, '--at'],
    ['of no account', [leads, '--kind', 'ai', '--account', 'x'], 2, "account 'x' not found"],
    ['over a file', [leads, '--kind', 'ai', '--out', there], 2, 'already exists; name a new file'],
    ['nowhere', [leads, '--kind', 'ai', '--out', join(files, 'no/out')], 1, 'cannot be written'],
    ['of nothing', [join(files, 'none.csv'), '--kind', 'ai'], 1, 'none.csv'],
    ['of an empty file', [fileOf(''), '--kind', 'ai'], 1, 'is empty'],
    ['of a header', [fileOf('phone\n'), '--kind', 'ai'], 1, 'contains no numbers'],
    ['of a page', [fileOf('<html>\n'), '--kind', 'ai'], 1, 'this is a web page'],
    [
      'of other columns',
      [fileOf('a,b\n1,2\n'), '--kind', 'ai'],
      1,
      "no column 'number' or 'phone'",
    ],
  ]
  it.each(cases)('%s says why', async (_, args, code, message) => {
    const ended = await runCommand(registerPreview, ['preview', ...args], {
      dataDir: server.dataDir,
    })
    expect(ended.code).toBe(code)
    expect(ended.err).toContain(message)
  })

  it('leaves no part of its result', async () => {
    const file = fileOf(`2125550106\n${'2125550100\n'.repeat(10_000)}a\0b\n`)
    const out = `${file}.out`
    const { code, err } = await run(file, '--kind', 'ai', '--out', out)
    expect([code, existsSync(out)]).toEqual([1, false])
    expect(err).toContain('line 10002 contains a zero byte')
    expect(readdirSync(files).filter((name) => name.endsWith('.part'))).toEqual([])
  })
})
