import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { registerEvidence } from '../../src/commands/evidence/evidence.js'
import {
  checkpointPath,
  treeFolder,
  verifierKeyPath,
} from '../../src/gate/journal/tree/tree-files.js'
import { noon } from '../support/fake-compliance.js'
import { damageByte } from '../support/journal.js'
import { runCommand } from '../support/run-command.js'
import { makeDecision, testJournal } from '../support/test-journal.js'

let dataDir: string
const folder = () => join(dataDir, 'journal')

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-verify-command-'))
  const { journal, append } = testJournal(dataDir, () => noon)
  await journal.open()
  for (const id of ['d1', 'd2', 'd3']) await append(await makeDecision({ id }))
  await journal.close()
})

afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const verify = (...more: readonly string[]) =>
  runCommand(registerEvidence, ['evidence', 'verify', ...more], { dataDir })
const ownKey = () => readFileSync(verifierKeyPath(treeFolder(folder())), 'utf8').trim()

it('proves a journal to whoever has its key, and says what a key beside it shows', async () => {
  const proven = await verify('--key', ownKey())
  expect(proven.code).toBe(0)
  expect(proven.out).toContain('Proven: every record is as it was signed.')
  const own = await verify()
  expect(own.code).toBe(2)
  expect(own.out).toContain('NOT PROVEN')
  expect(own.out).not.toMatch(/^Proven/m)
})

it('names the record that was changed', async () => {
  damageByte(join(folder(), '00000000000000000001.seg'), 400)
  const { code, out } = await verify('--key', ownKey(), '--json')
  expect(code).toBe(1)
  const { findings, head } = JSON.parse(out)
  expect(head.size).toBe(4)
  expect(findings[0]).toMatchObject({ level: 'false' })
  expect(findings[0].message).toContain('record 2 cannot be read')
})

it('compares heads that were kept elsewhere', async () => {
  const kept = join(dataDir, 'kept')
  writeFileSync(kept, readFileSync(checkpointPath(treeFolder(folder()))))
  expect((await verify('--key', ownKey(), '--head', kept)).code).toBe(0)
  // As a file has them to which a server appends each head.
  const signed = readFileSync(kept, 'utf8')
  writeFileSync(kept, `${'x'.repeat(1_100_000)}\n${signed}\n${signed}\n`)
  expect((await verify('--key', ownKey(), '--head', kept)).code).toBe(0)
  damageByte(kept, 1_100_001 + signed.length + 1 + 50)
  expect((await verify('--key', ownKey(), '--head', kept)).code).toBe(1)
})

it('says of which records it does not know what they say', async () => {
  const { journal, append } = testJournal(dataDir, () => noon)
  await journal.open()
  await append(await makeDecision({ id: 'd4' }, { dialed: '2125550107' }))
  const erasure = { number: '2125550107', accountId: undefined, includesAllowed: true }
  journal.erase({ id: 'e1', ...erasure })
  await journal.drain()
  await journal.drain()
  await journal.close()
  const older = readFileSync(checkpointPath(treeFolder(folder())), 'utf8')
  const proven = await verify('--key', ownKey())
  expect(proven.out).toContain('; of 1 it is only proven that a number was erased from them.')
  const { journal: later } = testJournal(dataDir, Date.now)
  await later.open()
  await later.close()
  writeFileSync(checkpointPath(treeFolder(folder())), older)
  const unsigned = await verify('--key', ownKey())
  expect([unsigned.code, unsigned.out]).toEqual([
    0,
    expect.stringContaining('; the last 1 are not'),
  ])
})

it('proves a record to whoever has the key and the proof alone', async () => {
  const run = (...args: readonly string[]) =>
    runCommand(registerEvidence, ['evidence', ...args], { dataDir })
  const made = await run('prove', '--id', 'd2')
  expect(made.code).toBe(0)
  const file = join(dataDir, 'd2.tlog-proof')
  writeFileSync(file, made.out)
  const proven = await run('check', file, '--key', ownKey())
  expect([proven.code, proven.out]).toEqual([0, expect.stringContaining('proven: record 3')])
  expect(proven.out).toContain('"id":"d2"')
  expect((await run('prove', '--record', '3')).out).toBe(made.out)
  // As a page or a text editor of Windows saves it.
  for (const saved of [made.out.trimEnd(), made.out.replaceAll('\n', '\r\n')]) {
    writeFileSync(file, saved)
    expect((await run('check', file, '--key', ownKey())).out).toBe(proven.out)
  }
  for (let at = 30; at < made.out.length; at += 97) {
    const changed = Buffer.from(made.out)
    changed[at] = (changed[at] ?? 0) ^ 1
    writeFileSync(file, changed)
    const { code, out } = await run('check', file, '--key', ownKey())
    expect([at, code, out]).toEqual([at, 1, expect.stringContaining('FALSE')])
  }
  expect((await run('prove', '--id', 'd9')).code).toBe(3)
  expect((await run('prove', '--record', '99')).code).toBe(3)
  expect((await run('prove')).code).toBe(3)
})

it('exits with 3 for wrong usage', async () => {
  const wrongKey = await verify('--key', 'nobody')
  expect([wrongKey.code, wrongKey.err]).toEqual([3, expect.stringContaining('no verifier key')])
  expect((await verify('--head', join(dataDir, 'nowhere'))).code).toBe(3)
  expect((await verify('--nonsense')).code).toBe(3)
  const none = await verify('--journal', join(dataDir, 'none'))
  expect([none.code, none.err]).toEqual([3, expect.stringContaining('there is no journal')])
})
