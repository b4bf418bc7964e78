/** `callgate import list`: what is refused leaves the list that was there, and what has to be allowed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { registerImport } from '../../src/commands/import/import.js'
import { runCommand } from '../support/run-command.js'

let dataDir: string

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-list-imports-'))
})

afterAll(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

const run = (...args: string[]) => runCommand(registerImport, ['import', ...args], { dataDir })

it('says what is wrong and leaves what was there', async () => {
  const good = join(dataDir, 'registry.txt')
  writeFileSync(good, '212,7365001\n')
  expect((await run('us-dnc', good)).code).toBe(0)
  const before = readFileSync(join(dataDir, 'lists/us-dnc.cglist'))
  const file = join(dataDir, 'bad.txt')
  writeFileSync(file, 'abc\ndef\n')
  const bad = await run('list', 'us-dnc', file)
  expect(bad.code).toBe(1)
  expect(bad.err).toContain('bad.txt')
  const named = await run('list', 'US DNC', file)
  expect(named.code).toBe(1)
  expect(named.err).toMatch(/name 'US DNC': must be .*; use us-dnc/)
  expect((await run('list', 'us-dnc', '/no/such')).err).toContain('/no/such')
  expect((await run('numbering', file)).err).toContain('bad.txt')
  const early = await run('list', 'us-dnc', file, '--as-of', '9030-01-01')
  expect(early.code).toBe(2)
  expect(early.err).toContain("--as-of '9030-01-01': must not be in the future")
  expect(readFileSync(join(dataDir, 'lists/us-dnc.cglist'))).toEqual(before)
})

it('takes bad lines, a shorter list and a list no check reads only when told to', async () => {
  const file = join(dataDir, 'vip.txt')
  const importVip = (...more: string[]) => run('list', 'custom-vip', file, ...more)
  writeFileSync(file, '2127365001\n2127365002\n2127365003\noops\n')
  const refused = await importVip()
  expect(refused.code).toBe(1)
  expect(refused.err).toContain('1 line is bad, 0 allowed (--bad-lines allows more')
  const { out } = await importVip('--bad-lines', '2')
  expect(out).toContain('custom-vip: 3 numbers, ')
  expect(out).toContain('no check reads a list called custom-...\n')
  expect(out).toContain('1 bad lines were left out, 2 allowed\n')
  expect(out).toContain("vip.txt line 4 'oops'")
  writeFileSync(file, '2127365001\n')
  const shrunk = await importVip()
  expect(shrunk.code).toBe(1)
  expect(shrunk.err).toMatch(/vip\.txt: 1 different numbers, fewer than half the 3 .*--allow-shr/)
  expect((await importVip('--allow-shrink')).out).toContain('custom-vip: 1 number, ')
  const wrong = await importVip('--bad-lines', 'many')
  expect(wrong.code).toBe(2)
  expect(wrong.err).toContain("--bad-lines 'many': must be a whole number")
})
