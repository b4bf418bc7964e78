import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerImport } from '../../src/commands/import/import.js'
import { ftcRows, ftcText } from '../data/sample-feeds.js'
import { runCommand } from '../support/run-command.js'

let dataDir: string

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-import-facts-'))
})

afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

const run = (...args: string[]) => runCommand(registerImport, ['import', ...args], { dataDir })

function file(name: string, content: string): string {
  const path = join(dataDir, name)
  writeFileSync(path, content)
  return path
}

const n = '8505550123'

describe('callgate import', () => {
  it('line-status: what it read and what became of it', async () => {
    const first = file('status.csv', `number,status\n${n},connected\n8505550124,busy\n`)
    const { code, out } = await run('line-status', first, '--as-of', '2026-01-20')
    expect(code).toBe(0)
    expect(out).toMatch(
      /^line-status: 2 numbers, as of 2026-01-20T00:00:00Z\n {2}read 2 rows with 2 facts\n {2}took .*\n$/,
    )
    const second = file('status.csv', `number,status\n${n},busy\n8505550125,busy\noops,busy\n`)
    const refused = await run('line-status', second)
    expect(refused.code).toBe(1)
    expect(refused.err).toContain("status.csv line 4 'oops': number must be ten digits")
    const dry = await run('line-status', second, '--bad-lines', '1', '--dry-run')
    expect(dry.out).toContain('(dry run: nothing was changed)\n')
    const done = await run('line-status', second, '--bad-lines', '1')
    expect(done.out).toContain('  1 new, 1 changed, 1 removed\n')
    expect(done.out).toContain('  1 bad lines were left out, 1 allowed\n')
    const again = await run('line-status', second, '--bad-lines', '1')
    expect(again.out).toContain('  0 new, 0 changed, 0 removed\n')
  })

  it('ftc-complaints: daily files add up', async () => {
    const days = ['2026-01-16', '2026-01-17'].map((date) =>
      file(
        `DNC_Complaint_Numbers_${date}.csv`,
        ftcText(ftcRows).replaceAll('2026-11-', '2026-01-'),
      ),
    )
    const [monday = '', tuesday = ''] = days
    expect((await run('ftc-complaints', monday)).out).toContain('not kept: 1 without a number')
    const { out, err, code } = await run('ftc-complaints', tuesday)
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('ftc-complaints: 2 numbers, 6 facts, as of 2026-01-17T00:00:00Z\n')
    expect((await run('ftc-complaints', ...days)).out).toContain('  0 new, 0 changed, 0 removed\n')
    const pruned = await run('ftc-complaints', tuesday, '--keep-days', '1')
    expect(pruned.out).toContain('  0 new, 0 changed, 6 removed\n')
    const nameless = await run('ftc-complaints', file('complaints.csv', ftcText(ftcRows)))
    expect(nameless.err).toContain('give the day with --as-of')
  })

  it('reassigned: the database and carriers of one’s own lie apart', async () => {
    const path = file(
      'rnd.csv',
      `tn,date,disconnected\n${n},2024-06-01,no\n8505550124,2024-06-01,no_data\n`,
    )
    const { out, err } = await run('reassigned', path, '--as-of', '2026-01-20')
    expect(out).toContain('reassigned: 1 number, as of')
    expect(out).toContain('not kept: 1 without data in the database')
    expect(err).toContain('not to be reassigned until 2026-03-06')
    const own = await run(
      'reassigned',
      file('own-2026-01-19.csv', `# ours\n${n},2024-06-01\n`),
      '--carrier',
    )
    expect(own.out).toContain('carrier-reassigned: 1 number, as of 2026-01-19T00:00:00Z')
    expect(own.out).toContain('  skipped 1 comment line\n')
  })

  it('spam-labels: sources that say all', async () => {
    const path = file('labels.csv', `number,source,status\n${n},AppA,flagged\n${n},AppB,clean\n`)
    const { out, err } = await run('spam-labels', path, '--complete', 'carriera, AppA')
    expect(out).toContain('spam-labels: 1 number, 2 facts')
    expect(err).toContain('clean for CarrierA, AppA')
    expect((await run('spam-labels', path)).err).toContain('--complete names sources')
    const wrong = await run('spam-labels', path, '--complete', 'CarrierX')
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("--complete 'CarrierX'")])
  })

  it('res-or-business and current-carrier', async () => {
    const kinds = await run('res-or-business', file('kinds.csv', `${n},R\n`))
    expect(kinds.out).toContain('res-or-business: 1 number')
    const carriers = await run('current-carrier', file('carriers.csv', `${n},W,ZZ01,Example\n`))
    expect(carriers.out).toContain('current-carrier: 1 number')
  })

  const wrong: readonly (readonly [readonly string[], number, string])[] = [
    [['line-status', '/no/such'], 1, '/no/such'],
    [['line-status'], 2, "missing required argument 'file'"],
    [['line-status', 'x', '--as-of', '9030-01-01'], 2, 'must not be in the future'],
    [['line-status', 'x', '--bad-lines', 'many'], 2, "--bad-lines 'many': must be a whole number"],
    [['ftc-complaints', 'x', '--keep-days', '-1'], 2, "--keep-days '-1': must be a whole number"],
    [['reassigned', 'x'], 2, 'give the day with --as-of'],
    [
      ['reassigned', '2026-01-01.csv', 'x', '--carrier'],
      2,
      'x: the date of its content is unknown',
    ],
    [['ftc-complaints', 'x', '--allow-shrink'], 2, "unknown option '--allow-shrink'"],
  ]
  it.each(wrong)('%j is refused', async (args, code, message) => {
    const ended = await run(...args)
    expect([ended.code, ended.err]).toEqual([code, expect.stringContaining(message)])
  })

  it('--help has every feed and its columns', async () => {
    const { out } = await run('--help')
    const feeds = [
      'ftc-complaints',
      'reassigned',
      'line-status',
      'res-or-business',
      'current-carrier',
      'spam-labels',
    ]
    expect(feeds.filter((name) => !out.includes(name))).toEqual([])
    expect((await run('spam-labels', '--help')).out).toContain('CarrierA, CarrierB')
  })
})
