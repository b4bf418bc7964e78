/** What evidence bundles have besides the journal, read from the database of a whole service. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { computeVersions } from '../../src/app/configuration.js'
import { withStateSources } from '../../src/app/evidence/bundle-sources.js'
import { AuditEntries } from '../../src/app/journal/audit-entries.js'
import { openErasures } from '../../src/app/journal/erasures.js'
import { readConfiguration } from '../../src/app/read-configuration.js'
import { AuditOfData } from '../../src/commands/serve/audit-of-data.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { StateLine } from '../../src/evidence/bundle/facts.js'
import { packBundle } from '../../src/evidence/bundle/pack-bundle.js'
import type { Question } from '../../src/evidence/bundle/question.js'
import { formatManifestHash, verifyBundle } from '../../src/evidence/bundle/verify/verify-bundle.js'
import { openZip } from '../../src/evidence/bundle/zip.js'
import { bufferSource } from '../../src/evidence/byte-source.js'
import { parseVerifierKey } from '../../src/transparency/signed-note.js'
import { recordsIn } from '../support/journal.js'
import { engineVariablesOf, isPostgres } from '../support/test-engine.js'
import { type Ask, openTwoAccounts, type TwoAccounts } from '../support/two-accounts.js'

const number = '2124560106'
const erased = '2124560107'
const stranger = '2124560177'
const seller = '<b>=HYPERLINK("x")</b>'

let two: TwoAccounts
let away: string
let configuration: NonNullable<ReturnType<typeof readConfiguration>['configuration']>
let verifier: Buffer
let key: string
/** What a recipient has kept. */
let head: string

async function ask(who: string, asked: Ask): Promise<void> {
  const { status, text } = await two.send(who, asked)
  if (status >= 300) throw new Error(`${asked.path}: ${status} ${text}`)
}

const toConsent = (of: string, wording: string) => ({
  number: of,
  givenAt: '2026-06-01T15:00:00Z',
  ...{ seller, channel: 'web', method: 'written', wording },
})

type Bundle = ReadonlyMap<string, Buffer>

async function pack(question: Question, name: string, today = configuration): Promise<Bundle> {
  const out = join(away, name)
  const journalFolder = join(two.running.dataDir, 'journal')
  const made = { journalFolder, question, out, program: 'test', verifier }
  await withStateSources(today, (sources) => packBundle({ ...made, sources }))
  const files = openZip(bufferSource(readFileSync(out)))
  return new Map([...files].map(([path, file]) => [path, file.read(0, file.size)]))
}

const textOf = (bundle: Bundle, file: string): string => bundle.get(file)?.toString() ?? ''

function readLines(bundle: Bundle, file: string): readonly StateLine[] {
  const lines = textOf(bundle, `state/${file}.jsonl`).split('\n')
  return lines.slice(0, -1).map((line) => JSON.parse(line))
}

function readRecord(bundle: Bundle, seq: number | null | undefined) {
  const line = textOf(bundle, 'records.txt')
    .split('\n')
    .find((text) => text.startsWith(`${seq} `))
  return JSON.parse(line?.slice(line.indexOf('{')) ?? 'null')
}

let bundle: Bundle

const longWait = { timeout: 30_000, interval: 50 }

/** Until such an entry of the audit table is in the journal. */
async function awaitAudit(action: string): Promise<void> {
  await vi.waitFor(() => {
    const found = recordsIn(two.running.dataDir).filter(({ kind }) => kind === 'audit')
    expect(found.map(({ body }) => JSON.parse(body).action)).toContain(action)
  }, longWait)
}

/** Until all records are signed. */
async function awaitCheckpoint(): Promise<void> {
  const { callgate, dataDir } = two.running
  await callgate.journal.drain()
  await vi.waitFor(() => {
    const [, size] = readFileSync(join(dataDir, 'journal/tree/checkpoint'), 'utf8').split('\n')
    expect(size).toBe(String(recordsIn(dataDir).length))
  }, longWait)
}

beforeAll(async () => {
  away = mkdtempSync(join(tmpdir(), 'callgate-state-'))
  execFileSync(process.execPath, ['scripts/bundle-verifier.mjs', join(away, 'verify.mjs')])
  verifier = readFileSync(join(away, 'verify.mjs'))
  // Settings that name another account are not shown to this one.
  two = await openTwoAccounts({ CALLGATE_PERMITS_EDGES: '{ edge-a: { accounts: [main] } }' })
  const { owner, stranger: other, running } = two
  const { callgate, dataDir } = running
  const environment = { CALLGATE_DATA_DIR: dataDir, ...engineVariablesOf(dataDir) }
  const read = readConfiguration({ environment })
  if (!read.configuration) throw new Error(read.problems.join())
  configuration = read.configuration
  const versions = computeVersions(configuration)
  const inUse = new AuditOfData(callgate, () => versions)
  const { task: entries } = new AuditEntries(callgate, callgate.journal, { seq: 0, mark: '' })
  inUse.start()
  entries.start()
  await awaitAudit('rules.in-use')
  await awaitAudit('settings.in-use')
  for (const one of [number, erased, stranger]) {
    await ask(owner, { path: '/v1/consents', json: toConsent(one, `yes of ${one}`) })
  }
  await ask(other, { path: '/v1/consents', json: toConsent(number, 'of the other account') })
  await ask(owner, {
    path: '/v1/caller-ids',
    json: { callerIds: [{ number: '2124560190', owner: 'Main', proof: 'bill' }] },
  })
  for (const one of [number, erased, stranger]) {
    const json = { number: one, callKind: 'manual', callerId: '2124560190' }
    await ask(owner, { path: '/v1/decisions', json })
  }
  await ask(other, { path: '/v1/decisions', json: { number, callKind: 'manual' } })
  const optOut = { number, said: 'stop <i>now</i>', channel: 'call-voice' }
  await ask(owner, { path: '/v1/opt-outs', json: optOut })
  await awaitAudit('opt-out.added')
  await entries.close()
  await inUse.close()
  await awaitCheckpoint()
  key = readFileSync(join(dataDir, 'journal/tree/key'), 'utf8').trimEnd()
  bundle = await pack({ number, accountId: 'main' }, 'one.zip')
  head = join(away, 'kept')
  writeFileSync(head, textOf(bundle, 'checkpoint'))
})

afterAll(async () => {
  rmSync(away, { recursive: true, force: true })
  await two.running.end()
})

it('has the consent, and the signed record that says who stored it', () => {
  const [consent, ...others] = readLines(bundle, 'consents')
  expect(others).toEqual([])
  expect(consent?.row).toMatchObject({ accountId: 'main', number, wording: `yes of ${number}` })
  expect(readRecord(bundle, consent?.storedBy)).toMatchObject({
    action: 'consent.stored',
    subject: { kind: 'number', id: number },
    door: 'api /v1/consents',
  })
  const [record] = readLines(bundle, 'consent-records')
  expect(record?.row).toMatchObject({ type: 'P', number })
  expect(record?.storedBy).toBe(consent?.storedBy)
})

it('has the opt-out, its words, the own number, the project and what was in use', () => {
  const [optOut] = readLines(bundle, 'opt-outs')
  expect(readRecord(bundle, optOut?.storedBy).action).toBe('opt-out.added')
  const [statement] = readLines(bundle, 'opt-out-statements')
  expect(statement?.row.said).toBe('stop <i>now</i>')
  // The clock of the test is not that of PostgreSQL, by which the records are dated.
  expect(statement?.storedBy).toBe(isPostgres() ? null : optOut?.storedBy)
  const [own] = readLines(bundle, 'own-numbers')
  expect(readRecord(bundle, own?.storedBy).action).toBe('caller-id.added')
  const [asking, ...otherKeys] = readLines(bundle, 'keys')
  expect(otherKeys).toEqual([])
  expect(asking?.row).toMatchObject({ accountId: 'main', label: 'test', role: 'Administrator' })
  expect(JSON.stringify(asking)).not.toMatch(/hash/i)
  expect(readRecord(bundle, asking?.storedBy).action).toBe('key.created')
  expect(readLines(bundle, 'projects')[0]?.row).toMatchObject({ code: 'main' })
  const [rules] = readLines(bundle, 'rules')
  const { rules: version } = two.running.callgate.versions
  expect(rules?.row).toMatchObject({ region: 'NY', days: ['2026-11-23'], version })
  expect(readRecord(bundle, rules?.storedBy).action).toBe('rules.in-use')
  const kinds = readLines(bundle, 'settings').map(({ row }) => row.kind)
  expect(kinds.sort()).toEqual(['rules', 'settings'])
})

it('has the calling rules that the decisions were judged by, whatever those of today are', async () => {
  const { regions } = configuration.rules
  const { NY, ...others } = regions
  const today = { ...configuration, rules: { ...configuration.rules, regions: others } }
  const later = await pack({ number, accountId: 'main' }, 'later.zip', today)
  expect(NY).toBeDefined()
  expect(textOf(later, 'state/rules.jsonl')).toBe(textOf(bundle, 'state/rules.jsonl'))
  const { rules: version } = two.running.callgate.versions
  expect(JSON.parse(textOf(later, `rules/${version}.json`)).regions.NY).toEqual(NY)
})

it('has the versions of the lists that the decisions name, with the SHA-256 of what was imported', () => {
  const lists = readLines(bundle, 'lists')
  expect(lists.map(({ row }) => row.name).sort()).toEqual(['litigators', 'us-dnc'])
  for (const { storedBy, row } of lists) {
    expect(readRecord(bundle, storedBy).action).toBe('list.in-use')
    expect(JSON.stringify(row)).toContain('"sha256"')
  }
})

it('never has rows of another account, number, or settings that name others', () => {
  const all = [...bundle.values()].map((bytes) => bytes.toString()).join('\n')
  expect(all).not.toContain('of the other account')
  expect(all).not.toContain(stranger)
  expect(all).not.toContain(erased)
})

it('escapes what people have written', () => {
  const report = textOf(bundle, 'report.html')
  expect(report).toContain('&lt;b>=HYPERLINK(')
  expect(report).not.toContain('<b>=')
  expect(report).not.toContain('<i>now')
  expect(report).toContain('2026-11-23 12:00:00 -05:00 (America/New_York)')
})

it('says in the checklist what is there and what is missing', () => {
  const page = textOf(bundle, 'safe-harbor.html')
  expect(page).toContain('state/consents.jsonl: 1 row, 1 of them stored by a signed record')
  expect(page).toContain('no decision has an answer')
  expect(page).toContain('subscription to the federal registry (SAN) of project main')
})

function runVerifier(files: Bundle) {
  const folder = mkdtempSync(join(away, 'away-'))
  for (const [name, bytes] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), bytes)
  }
  const args = ['-i', process.execPath, 'verify.mjs', '--key', key, '--head', head]
  return spawnSync('env', args, { cwd: folder, encoding: 'utf8' })
}

it('is proven by its verifier alone, and no file can be changed', () => {
  const { status, stdout } = runVerifier(bundle)
  expect(stdout).toContain('a signed record says who stored')
  expect([status, stdout]).toEqual([0, expect.stringContaining('PROVEN')])
  for (const name of bundle.keys()) {
    const bytes = Buffer.from(bundle.get(name) ?? '')
    if (bytes.length === 0 || name === 'verify.mjs') continue
    const place = Math.floor(bytes.length / 2)
    bytes[place] = (bytes[place] ?? 0) ^ 1
    const changed = new Map([...bundle, [name, bytes]])
    expect(verify(changed), name).not.toEqual([])
  }
  const state = 'state/consents.jsonl'
  const changed = Buffer.from(textOf(bundle, state).replace('yes', 'no!'))
  expect(runVerifier(new Map([...bundle, [state, changed]])).status).toBe(10)
})

const verify = (files: Bundle) =>
  verifyBundle(new Map([...files].map(([name, bytes]) => [name, bufferSource(bytes)])), {
    key: parseVerifierKey(key),
  }).failures

/** With the hashes of the changed file. */
function withFile(name: string, text: string): Bundle {
  const bytes = Buffer.from(text)
  const manifest = JSON.parse(textOf(bundle, 'manifest.json'))
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  manifest.files[name] = { sha256, bytes: bytes.length }
  const json = Buffer.from(JSON.stringify(manifest))
  const hash = Buffer.from(formatManifestHash(json))
  const changed = [[name, bytes] as const, ['manifest.json', json] as const]
  return new Map([...bundle, ...changed, ['manifest.sha256', hash] as const])
}

it('finds a row that names a record about something else, also with another manifest', () => {
  const name = 'state/consents.jsonl'
  const [line] = readLines(bundle, 'consents')
  const toText = (one: unknown) => `${JSON.stringify(one)}\n`
  expect(verify(withFile(name, toText(line)))).toEqual([])
  const ofOther = { ...line, row: { ...line?.row, number: stranger } }
  expect(verify(withFile(name, toText(ofOther))).join()).toContain('about another number')
  const ofAccount = { ...line, row: { ...line?.row, accountId: 'other' } }
  expect(verify(withFile(name, toText(ofAccount))).join()).toContain('of another account')
  const reworded = { ...line, row: { ...line?.row, wording: 'no' } }
  expect(verify(withFile(name, toText(reworded))).join()).toContain('another wording')
  const unproven = { ...line, records: [9_999], storedBy: 9_999 }
  expect(verify(withFile(name, toText(unproven))).join()).toContain('not proven')
})

it('has the rows of all numbers of a time, and those of the account asked for', async () => {
  const { at } = two.running.clock
  const period = { from: at - 3_600_000, to: at + 3_600_000 }
  const all = await pack(period, 'all.zip')
  expect(verify(all)).toEqual([])
  expect(
    readLines(all, 'consents')
      .map(({ row }) => row.number)
      .sort(),
  ).toEqual([number, number, erased, stranger].sort())
  const other = await pack({ ...period, accountId: 'other' }, 'other.zip')
  expect(verify(other)).toEqual([])
  expect(readLines(other, 'consents').map(({ row }) => row.accountId)).toEqual(['other'])
})

it('has no settings that name another account', async () => {
  // As the value of `source.kind`.
  await two.running.callgate.accounts.ensure({ id: 'embedded', kind: 'real', name: 'E' })
  const made = await pack({ number, accountId: 'main' }, 'settings.zip')
  const settings = readLines(made, 'settings').find(({ row }) => row.kind === 'settings')
  expect(settings).toMatchObject({ storedBy: null, records: [], row: { why: expect.anything() } })
  expect(textOf(made, 'records.txt')).not.toContain('settings.in-use')
  expect(textOf(bundle, 'records.txt')).toContain('settings.in-use')
})

it('has no rows of a number that was erased', async () => {
  const { callgate, clock } = two.running
  const erasure = { number: toPhoneNumber(erased), accountId: undefined, includesAllowed: true }
  const id = await openErasures(callgate).request({
    ...erasure,
    ...{ reason: undefined, requestedBy: 'tester', keepYears: 5 },
  })
  callgate.journal.erase({ ...erasure, id })
  await awaitCheckpoint()
  const period = { from: clock.at - 3_600_000, to: clock.at + 3_600_000 }
  // An erasure that goes on has no notice yet.
  const made = await vi.waitFor(() => pack(period, 'erased.zip'), longWait)
  expect(verify(made)).toEqual([])
  expect([...made.values()].map((bytes) => bytes.toString()).join()).not.toContain(erased)
  expect(
    readLines(made, 'consents')
      .map(({ row }) => row.number)
      .sort(),
  ).toEqual([number, number, stranger].sort())
})
