/** `/v1/evidence`: who gets which bundle, what is in it, and what becomes of it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { BundleBody } from '../../src/api/gate/evidence-bundles.js'
import { computeVersions } from '../../src/app/configuration.js'
import { type Bundles, openBundles } from '../../src/app/evidence/open-bundles.js'
import { AuditEntries } from '../../src/app/journal/audit-entries.js'
import { openErasures } from '../../src/app/journal/erasures.js'
import { AuditOfData } from '../../src/commands/serve/audit-of-data.js'
import { packageRoot } from '../../src/config/version.js'
import { createOperatorCaller } from '../../src/domain/caller.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { openZip } from '../../src/evidence/bundle/zip.js'
import { bufferSource } from '../../src/evidence/byte-source.js'
import { recordsIn } from '../support/journal.js'
import {
  type Answer,
  type Ask,
  openTwoAccounts,
  type TwoAccounts,
} from '../support/two-accounts.js'

const number = '2124560106'
const stranger = '2124560177'
const hostile = '<script>alert(1)</script>"\r\nX: y'
const longWait = { timeout: 60_000, interval: 50 }

let two: TwoAccounts
let away: string
let key: string

async function ask(who: string, asked: Ask): Promise<Answer> {
  const answer = await two.send(who, asked)
  if (answer.status >= 300) throw new Error(`${asked.path}: ${answer.status} ${answer.text}`)
  return answer
}

const read = async (who: string, id: string) =>
  (await ask(who, { path: `/v1/evidence/${id}` })).json() as BundleBody

async function askBundle(who: string, json: object): Promise<BundleBody> {
  const answer = await ask(who, { path: '/v1/evidence', json: { reason: 'a claim', ...json } })
  expect(answer.status).toBe(202)
  return answer.json() as BundleBody
}

/** Until it is done or has failed. */
async function awaitEnd(who: string, { id }: { id: string }): Promise<BundleBody> {
  return await vi.waitFor(async () => {
    const body = await read(who, id)
    expect(['waiting', 'packing']).not.toContain(body.state)
    return body
  }, longWait)
}

async function download(who: string, { id }: { id: string }): Promise<Response> {
  const headers = { loginId: who }
  return await fetch(`${two.running.url}/v1/evidence/${id}/file`, { headers })
}

async function readBundle(who: string, bundle: { id: string }) {
  const zip = Buffer.from(await (await download(who, bundle)).arrayBuffer())
  const files = new Map(
    [...openZip(bufferSource(zip))].map(([name, file]) => [name, file.read(0, file.size)]),
  )
  return { zip, files, text: (name: string) => files.get(name)?.toString() ?? '' }
}

function verify(zip: Buffer, files: ReadonlyMap<string, Buffer>) {
  const folder = mkdtempSync(join(away, 'check-'))
  writeFileSync(join(folder, 'verify.mjs'), files.get('verify.mjs') ?? '')
  writeFileSync(join(folder, 'bundle.zip'), zip)
  writeFileSync(join(folder, 'heads'), files.get('checkpoint') ?? '')
  const args = ['verify.mjs', '--key', key, '--head', 'heads', 'bundle.zip']
  return spawnSync(process.execPath, args, { cwd: folder, env: {}, encoding: 'utf8' })
}

const listRows = async (action: string) =>
  await two.running.callgate.storage.db
    .selectFrom('audit')
    .selectAll()
    .where('action', '=', action)
    .orderBy('seq')
    .execute()

async function awaitActions(...wanted: readonly string[]): Promise<void> {
  await vi.waitFor(() => {
    const actions = recordsIn(two.running.dataDir)
      .filter(({ kind }) => kind === 'audit')
      .map(({ body }) => JSON.parse(body).action)
    expect(actions).toEqual(expect.arrayContaining([...wanted]))
  }, longWait)
}

beforeAll(async () => {
  const verifier = join(packageRoot, 'dist/evidence/verify.mjs')
  if (!existsSync(verifier)) {
    execFileSync(process.execPath, ['scripts/bundle-verifier.mjs', verifier])
  }
  away = mkdtempSync(join(tmpdir(), 'callgate-bundles-'))
  two = await openTwoAccounts()
  const { owner, stranger: other, running } = two
  const { callgate, dataDir } = running
  const { settings, data } = callgate
  const configuration = { settings, rules: data.rules.document, sandboxFile: data.sandbox.file }
  const inUse = new AuditOfData(callgate, () => computeVersions(configuration))
  const { task: entries } = new AuditEntries(callgate, callgate.journal, { seq: 0, mark: '' })
  inUse.start()
  entries.start()
  await awaitActions('rules.in-use', 'settings.in-use')
  const consent = {
    givenAt: '2026-06-01T15:00:00Z',
    seller: 'A',
    channel: 'web',
    method: 'written',
  }
  for (const [who, of, wording] of [
    [owner, number, 'yes of the owner'],
    [other, number, 'yes of the other'],
    [owner, stranger, 'yes of the stranger'],
  ] as const) {
    await ask(who, { path: '/v1/consents', json: { ...consent, number: of, wording } })
    await ask(who, { path: '/v1/decisions', json: { number: of, callKind: 'manual' } })
  }
  await ask(owner, { path: '/v1/opt-outs', json: { number, said: hostile, channel: 'call-voice' } })
  await awaitActions('opt-out.added', 'list.in-use')
  await entries.close()
  await inUse.close()
  await callgate.journal.drain()
  await vi.waitFor(() => {
    const [, size] = readFileSync(join(dataDir, 'journal/tree/checkpoint'), 'utf8').split('\n')
    expect(size).toBe(String(recordsIn(dataDir).length))
  }, longWait)
  key = readFileSync(join(dataDir, 'journal/tree/key'), 'utf8').trimEnd()
})

afterAll(async () => {
  rmSync(away, { recursive: true, force: true })
  await two.running.end()
})

it('packs a bundle about a number, which its verifier proves', async () => {
  const { owner, running } = two
  const asked = await askBundle(owner, { number, reason: hostile })
  expect(asked).toMatchObject({ number, reason: hostile.trim(), leftOut: null, sha256: null })
  const done = await awaitEnd(owner, asked)
  expect(done).toMatchObject({ state: 'done', problem: null, decisions: 1, percent: null })
  const answer = await download(owner, asked)
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'application/zip',
    'content-disposition': `attachment; filename="evidence-${asked.id}.zip"`,
    'content-length': String(done.bytes),
    'cache-control': 'no-store',
  })
  const { zip, files, text } = await readBundle(owner, asked)
  expect(createHash('sha256').update(zip).digest('hex')).toBe(done.sha256)
  const { status, stdout } = verify(zip, files)
  expect([status, stdout]).toEqual([0, expect.stringContaining('PROVEN')])
  const manifest = JSON.parse(text('manifest.json'))
  expect(manifest.origin).toBe(done.origin)
  expect(manifest.span[1]).toBeGreaterThan(manifest.span[0])
  expect(text('state/consents.jsonl')).toContain('yes of the owner')
  const settings = text('state/settings.jsonl')
  expect(settings).toContain('"kind":"rules"')
  expect(zip.toString('latin1')).not.toMatch(/yes of the (?:other|stranger)/)
  const [row] = await listRows('evidence.asked')
  expect(row).toMatchObject({ account_id: 'main', subject_kind: 'number', reason: hostile.trim() })
  expect(row?.door).toBe('api /v1/evidence')
  expect(JSON.stringify(row)).not.toContain(number)
  expect(JSON.parse(row?.after ?? '{}')).toEqual({ bundle: asked.id })
  const downloads = (await listRows('evidence.downloaded')).map(({ subject }) => subject)
  expect(downloads).toEqual([asked.id, asked.id])
  expect((running.logLines.join('\n').match(/2124560106/g) ?? []).length).toBe(0)
})

it('gives another account its own records alone, and nothing of the server', async () => {
  const { stranger: other, owner } = two
  const period = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }
  const done = await awaitEnd(other, await askBundle(other, period))
  expect(done).toMatchObject({ state: 'done', decisions: 1, leftOut: 'others' })
  const { zip, files, text } = await readBundle(other, done)
  expect(verify(zip, files).status).toBe(0)
  const manifest = JSON.parse(text('manifest.json'))
  expect(manifest.span).toBeNull()
  const seqs = text('records.txt')
    .trimEnd()
    .split('\n')
    .map((line) => Number(line.split(' ', 1)))
  const inRanges = manifest.ranges.flatMap(([first, last]: [number, number]) =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index),
  )
  expect(inRanges).toEqual(seqs)
  expect(files.get('entries.bin')?.length).toBe(50 * seqs.length)
  for (const line of text('records.txt').trimEnd().split('\n')) {
    const [kept = ''] = line.slice(line.indexOf('{')).split('\t')
    expect(JSON.parse(kept).accountId, line).toBe('other')
  }
  expect(text('state/settings.jsonl')).toBe('')
  expect(text('state/rules.jsonl')).toContain(`"version":"${two.running.callgate.versions.rules}"`)
  const lists = text('state/lists.jsonl')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lists.length).toBeGreaterThan(0)
  for (const { row, records } of lists) {
    expect(records).toEqual([])
    expect(row).toMatchObject({ signed: [], files: [], published: [] })
  }
  const all = zip.toString('latin1')
  expect(all).toContain('yes of the other')
  for (const theirs of [
    'yes of the owner',
    'yes of the stranger',
    stranger,
    '"main"',
    two.running.dataDir,
  ]) {
    expect(all.includes(theirs), theirs).toBe(false)
  }
  // Neither knows the bundles of the other one.
  const own = (await ask(owner, { path: '/v1/evidence' })).json() as { bundles: BundleBody[] }
  expect(own.bundles.map(({ id }) => id)).not.toContain(done.id)
  for (const path of [`/v1/evidence/${done.id}`, `/v1/evidence/${done.id}/file`]) {
    expect((await two.send(owner, { path })).status).toBe(404)
  }
  const json = { reason: 'mine' }
  const gone = await two.send(owner, { path: `/v1/evidence/${done.id}/delete`, json })
  expect(gone.status).toBe(404)
  expect((await read(other, done.id)).state).toBe('done')
})

it('leaves out the settings for who may not see them in the audit', async () => {
  const made = await two.running.callgate.keys.create({
    ...{ accountId: 'main', role: 'Supervisor', label: 'officer' },
    rights: ['decide', 'records', 'consent'],
  })
  const done = await awaitEnd(made.key, await askBundle(made.key, { number }))
  expect(done).toMatchObject({ state: 'done', leftOut: 'settings', askedBy: `key:${made.id}` })
  const { text } = await readBundle(made.key, done)
  const settings = text('state/settings.jsonl')
  expect(settings).toContain('only an Administrator of account main may see the settings')
  expect(settings).toContain('"kind":"rules"')
  expect(text('records.txt')).not.toContain('"settings.in-use"')
})

it('refuses Agents, keys that lack a right, and keys of some projects', async () => {
  const { keys } = two.running.callgate
  const common = { accountId: 'main', label: 'limited' }
  for (const limits of [
    { role: 'Agent' },
    { role: 'Supervisor', rights: ['decide', 'consent', 'manage'] },
    { role: 'Supervisor', rights: ['records', 'consent'] },
    { role: 'Supervisor', rights: ['decide', 'records'] },
    { role: 'Administrator', projects: ['main'] },
  ] as const) {
    const made = await keys.create({ ...common, ...limits })
    const path = '/v1/evidence'
    expect((await two.send(made.key, { path, json: { number, reason: 'x' } })).status).toBe(403)
    expect((await two.send(made.key, { path })).status).toBe(403)
  }
})

it.each([
  [{ number, reason: ' ' }, 'reason'],
  [{ number }, 'reason'],
  [{ number, reason: 'x'.repeat(501) }, 'reason'],
  [{ reason: 'x' }, 'number'],
  [{ number: '212', reason: 'x' }, 'number'],
  [{ from: '2026-11-01T00:00:00Z', reason: 'x' }, 'to'],
  [{ to: '2026-11-01T00:00:00Z', reason: 'x' }, 'from'],
  [{ from: '2026-11-02T00:00:00Z', to: '2026-11-01T00:00:00Z', reason: 'x' }, 'to'],
  [{ from: 'yesterday', to: '2026-11-01T00:00:00Z', reason: 'x' }, 'from'],
  [{ number, accountId: 'other', reason: 'x' }, 'accountId'],
])('refuses %j for its field %s', async (json, field) => {
  const { status, text } = await two.send(two.owner, { path: '/v1/evidence', json })
  expect(status).toBe(400)
  expect(text).toContain(field)
})

it('says when no record answers, and has no file then', async () => {
  const done = await awaitEnd(two.owner, await askBundle(two.owner, { number: '2124560199' }))
  expect(done).toMatchObject({
    state: 'failed',
    problem: expect.stringContaining('No signed record answers the question'),
  })
  const { status, text } = await two.send(two.owner, { path: `/v1/evidence/${done.id}/file` })
  expect([status, text]).toEqual([409, expect.stringContaining('its state is failed')])
})

it('packs one after the other, keeps so many, and deletes with a reason', async () => {
  const { owner, running } = two
  const folder = join(running.dataDir, 'evidence')
  const asked = await Promise.all([1, 2, 3].map(() => askBundle(owner, { number })))
  const ended: BundleBody[] = []
  for (const one of asked) ended.push(await awaitEnd(owner, one))
  const spans = ended.map(({ startedAt, endedAt, state }) => ({ startedAt, endedAt, state }))
  expect(spans.every(({ state }) => state === 'done')).toBe(true)
  for (const { id } of ended) {
    const path = `/v1/evidence/${id}/delete`
    expect((await two.send(owner, { path, json: {} })).status).toBe(400)
    await ask(owner, { path, json: { reason: `no longer needed ${hostile}` } })
    expect((await two.send(owner, { path: `/v1/evidence/${id}` })).status).toBe(404)
    expect(readdirSync(folder).filter((name) => name.startsWith(id))).toEqual([])
  }
  const rows = await listRows('evidence.deleted')
  expect(rows.map(({ subject }) => subject)).toEqual(ended.map(({ id }) => id))
  expect(rows[0]?.reason).toBe(`no longer needed ${hostile}`.trim())
  // As many as are kept.
  const { bundles } = (await ask(owner, { path: '/v1/evidence' })).json() as {
    bundles: BundleBody[]
  }
  for (let count = bundles.length; count < 20; count += 1) {
    await awaitEnd(owner, await askBundle(owner, { number: '2124560199' }))
  }
  const json = { number, reason: 'one more' }
  const full = await two.send(owner, { path: '/v1/evidence', json })
  expect([full.status, full.text]).toEqual([409, expect.stringContaining('as many as are kept')])
})

it('deletes bundles of a number’s account when a number is erased, and all of them after three days', async () => {
  const { owner, stranger: other, running } = two
  const { callgate, clock, dataDir } = running
  const isZip = (name: string) => name.endsWith('.zip')
  const before = readdirSync(join(dataDir, 'evidence')).filter(isZip).length
  expect(before).toBeGreaterThan(1)
  const erasure = await openErasures(callgate).request({
    ...{ number: toPhoneNumber(stranger), accountId: 'main', includesAllowed: true },
    ...{ requestedBy: 'test', reason: 'asked', keepYears: 5 },
  })
  callgate.changes.everythingChanged()
  const { bundles } = (await ask(owner, { path: '/v1/evidence' })).json() as {
    bundles: BundleBody[]
  }
  const had = bundles.find(({ leftOut }) => leftOut === null)
  await vi.waitFor(async () => {
    const now = await read(owner, had?.id ?? '')
    expect(now).toMatchObject({
      ...{ state: 'failed', number: null },
      problem: 'A number was erased since it was asked for, so it was deleted. Ask again',
    })
    expect(readdirSync(join(dataDir, 'evidence')).filter(isZip)).toHaveLength(1)
  }, longWait)
  const theirs = (await ask(other, { path: '/v1/evidence' })).json() as { bundles: BundleBody[] }
  expect(theirs.bundles).toMatchObject([{ state: 'done' }])
  // Until the journal has it no longer, nothing of the account is packed.
  const json = { reason: 'makes room' }
  await ask(owner, { path: `/v1/evidence/${had?.id}/delete`, json })
  const waiting = await askBundle(owner, { number })
  const done = await awaitEnd(other, await askBundle(other, { number }))
  expect(done.state).toBe('done')
  expect((await read(owner, waiting.id)).state).toBe('waiting')
  const counts = { erased: 1, kept: 0 }
  await openErasures(callgate).finishJournal(erasure, callgate.journal.origin, counts)
  callgate.changes.everythingChanged()
  expect((await awaitEnd(owner, waiting)).state).toBe('done')
  callgate.changes.everythingChanged()
  await awaitEnd(other, await askBundle(other, { number }))
  expect((await read(owner, waiting.id)).state).toBe('done')
  clock.at += 3 * 86_400_000
  callgate.changes.everythingChanged()
  await vi.waitFor(() => expect(readdirSync(join(dataDir, 'evidence'))).toEqual([]), longWait)
})

/** Asks the routes of other bundles than those of the server, as an operator. */
function routesOf(bundles: Bundles) {
  const caller = createOperatorCaller('main')
  const call = async <Body>(index: number, fields: object): Promise<Body> => {
    const reply = await bundles.routes[index]?.handle(fields, { caller, jsonRequested: true })
    return (reply as { json: Body }).json
  }
  return {
    ask: (fields: object) => call<BundleBody>(0, fields),
    list: async () => (await call<{ bundles: BundleBody[] }>(1, {})).bundles,
    read: (id: string) => call<BundleBody>(2, { id }),
  }
}

it('stops before the disk is full, and says so', async () => {
  const { callgate, dataDir } = two.running
  const bundles = openBundles(callgate, Number.MAX_SAFE_INTEGER)
  try {
    const { ask: askOthers, read: readOthers } = routesOf(bundles)
    const { id } = await askOthers({ number, reason: 'x' })
    await vi.waitFor(async () => {
      const full = expect.stringContaining('The disk of the data folder is full')
      expect(await readOthers(id)).toMatchObject({ state: 'failed', problem: full })
    }, longWait)
    expect(readdirSync(join(dataDir, 'evidence'))).toEqual([`${id}.json`])
  } finally {
    await bundles.close()
  }
})

it('says that one was interrupted, goes on with those that wait, and removes what a crash left', async () => {
  const { callgate, dataDir, clock } = two.running
  const folder = join(dataDir, 'evidence')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  const job = { accountId: 'main', number, reason: 'x', askedBy: 'key:k', askedAt: clock.at }
  const write = (name: string, content: object | string) =>
    writeFileSync(
      join(folder, name),
      typeof content === 'string' ? content : JSON.stringify(content),
    )
  write('ev-1.json', { ...job, id: 'ev-1', state: 'packing', startedAt: clock.at })
  write('ev-1.zip.tmp', 'half')
  write('ev-2.json', { ...job, id: 'ev-2', state: 'waiting' })
  write('ev-3.json', { ...job, id: 'ev-3', state: 'done' })
  write('ev-4.json', '{"id":"ev-4"')
  write('ev-5.zip', 'of nobody')
  const bundles = openBundles(callgate)
  try {
    bundles.start()
    await vi.waitFor(async () => {
      const found = await routesOf(bundles).list()
      expect(found.map(({ id, state, problem }) => [id, state, problem]).sort()).toEqual([
        ['ev-1', 'interrupted', 'The server was stopped while it was packed. Ask again'],
        ['ev-2', 'done', null],
      ])
    }, longWait)
    expect(readdirSync(folder).sort()).toEqual(['ev-1.json', 'ev-2.json', 'ev-2.zip'])
  } finally {
    await bundles.close()
  }
})
