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

/** A head that was kept elsewhere, in a file of heads. */
function keepHead(...more: readonly string[]): string {
  const path = join(dataDir, 'kept')
  const head = readFileSync(checkpointPath(treeFolder(folder())), 'utf8')
  writeFileSync(path, [head, ...more].join('\n'))
  return path
}

it('proves a journal to whoever has its key and a head from elsewhere', async () => {
  const proven = await verify('--key', ownKey(), '--head', keepHead())
  expect(proven.code).toBe(0)
  const written = new Date(noon).toISOString().slice(0, 19)
  expect(proven.out).toMatch(
    new RegExp(
      `\\nPROVEN: as signed by .*, up to the head of 4 records from .*kept, the last written ${written}.*\\n$`,
    ),
  )
  for (const options of [['--key', ownKey()], [], ['--head', keepHead()]]) {
    const { code, out } = await verify(...options)
    expect([code, out]).toEqual([
      2,
      expect.stringMatching(/^NOT PROVEN: [\s\S]*\nNOT PROVEN: .*\n$/),
    ])
  }
})

it('says the result in JSON, too', async () => {
  const proven = await verify('--key', ownKey(), '--head', keepHead(), '--json')
  expect(JSON.parse(proven.out)).toMatchObject({
    result: 'PROVEN',
    outside: { size: 4, at: expect.stringContaining('2026') },
  })
  expect(JSON.parse((await verify('--json')).out).result).toBe('NOT PROVEN')
  const none = await verify('--json', '--journal', join(dataDir, 'none'))
  expect([none.code, JSON.parse(none.out)]).toEqual([
    3,
    { result: 'NOT CHECKED', problem: expect.stringContaining('there is no journal') },
  ])
})

it('names the record that was changed', async () => {
  damageByte(join(folder(), '00000000000000000001.seg'), 400)
  const { code, out } = await verify('--key', ownKey(), '--head', keepHead(), '--json')
  expect(code).toBe(10)
  const { result, findings, head } = JSON.parse(out)
  expect(result).toBe('FALSE')
  expect(head.size).toBe(4)
  expect(findings[0]).toMatchObject({ level: 'false' })
  expect(findings[0].message).toContain('record 2 cannot be read')
})

it('compares all heads that were kept elsewhere', async () => {
  const signed = readFileSync(checkpointPath(treeFolder(folder())), 'utf8')
  const withFile = async (text: string) => {
    writeFileSync(join(dataDir, 'kept'), text)
    return (await verify('--key', ownKey(), '--head', join(dataDir, 'kept'))).code
  }
  // As a file has them to which a server appends each head, also after an append that was cut off.
  expect(await withFile(`${'x'.repeat(1_100_000)}\n${signed}\n${signed}\n`)).toBe(0)
  for (let cut = 0; cut < signed.length; cut += 11) {
    expect(await withFile(`${signed}\n${signed.slice(0, cut)}\n${signed}\n`)).toBe(0)
    expect(await withFile(`${signed}\n${signed.slice(0, cut)}`)).toBe(0)
  }
  const wrong = signed.replace(/^4$/m, '3')
  expect(await withFile(`${wrong}\n${signed}\n`)).toBe(10)
  expect(await withFile(`${signed}\n${wrong}\n${signed}\n`)).toBe(10)
  expect(await withFile('nothing\n')).toBe(2)
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
  const kept = keepHead()
  const proven = await verify('--key', ownKey(), '--head', kept)
  expect(proven.out).toContain('; of 1 record only what an erasure has left.')
  const { journal: later } = testJournal(dataDir, Date.now)
  await later.open()
  await later.close()
  const signed = await verify('--key', ownKey(), '--head', kept)
  expect([signed.code, signed.out]).toEqual([
    0,
    expect.stringContaining('; 1 later record only by its key; '),
  ])
  writeFileSync(checkpointPath(treeFolder(folder())), older)
  const unsigned = await verify('--key', ownKey(), '--head', kept)
  expect([unsigned.code, unsigned.out]).toEqual([
    0,
    expect.stringContaining('; the last 1 are not signed yet.'),
  ])
})

const run = (...args: readonly string[]) =>
  runCommand(registerEvidence, ['evidence', ...args], { dataDir })

it('proves a record to whoever has the key, a head and the proof', async () => {
  const made = await run('prove', '--id', 'd2')
  expect(made.code).toBe(0)
  const file = join(dataDir, 'd2.tlog-proof')
  writeFileSync(file, made.out)
  const trusted = ['--key', ownKey(), '--head', keepHead()]
  const proven = await run('check', file, ...trusted)
  expect([proven.code, proven.out]).toEqual([0, expect.stringMatching(/^PROVEN: record 3, /)])
  expect(proven.out).toContain('"id":"d2"')
  const byKey = await run('check', file, '--key', ownKey())
  expect([byKey.code, byKey.out]).toEqual([2, expect.stringMatching(/^NOT PROVEN: record 3, /)])
  expect((await run('prove', '--record', '3')).out).toBe(made.out)
  // As a page or a text editor of Windows saves it.
  for (const saved of [made.out.trimEnd(), made.out.replaceAll('\n', '\r\n')]) {
    writeFileSync(file, saved)
    expect((await run('check', file, ...trusted)).out).toBe(proven.out)
  }
  for (let at = 30; at < made.out.length; at += 97) {
    const changed = Buffer.from(made.out)
    changed[at] = (changed[at] ?? 0) ^ 1
    writeFileSync(file, changed)
    const { code, out } = await run('check', file, ...trusted)
    expect([at, code, out]).toEqual([at, 10, expect.stringMatching(/^FALSE: /)])
  }
  expect((await run('prove', '--id', 'd9')).code).toBe(1)
  expect((await run('prove', '--record', '99')).code).toBe(1)
  expect((await run('prove')).code).toBe(2)
})

it('proves nothing by a receipt, whose signature is right', async () => {
  const { journal } = testJournal(dataDir, () => noon)
  await journal.open()
  const receipt = await journal.addReceipt({
    what: 'opt-out',
    accountId: 'main',
    number: '2125550107',
  })
  await journal.close()
  const file = join(dataDir, 'receipt')
  writeFileSync(file, String(receipt))
  const { code, out } = await run('check', file, '--key', ownKey())
  expect([code, out]).toEqual([
    2,
    expect.stringMatching(/^NOT PROVEN: a receipt of record \d+: its signature is right, /),
  ])
  const json = await run('check', file, '--key', ownKey(), '--json')
  expect(JSON.parse(json.out)).toMatchObject({ result: 'NOT PROVEN', receipt: {} })
  writeFileSync(file, String(receipt).replace('2125550107', '2125550108'))
  const changed = await run('check', file, '--key', ownKey())
  expect([changed.code, changed.out]).toEqual([10, expect.stringMatching(/^FALSE: /)])
})

it('exits with 64 for wrong usage, and with 3 if there is nothing to check', async () => {
  const wrongKey = await verify('--key', 'nobody')
  expect([wrongKey.code, wrongKey.err]).toEqual([64, expect.stringContaining('no verifier key')])
  expect((await verify('--nonsense')).code).toBe(64)
  const file = join(dataDir, 'empty')
  writeFileSync(file, 'x\n')
  expect((await run('check', file)).code).toBe(64)
  const missing = await verify('--head', join(dataDir, 'nowhere'))
  expect([missing.code, missing.out]).toEqual([3, expect.stringMatching(/^NOT CHECKED: --head/)])
  const none = await verify('--journal', join(dataDir, 'none'))
  expect([none.code, none.out]).toEqual([
    3,
    expect.stringMatching(/^NOT CHECKED: .*there is no journal/),
  ])
})
