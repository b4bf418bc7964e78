/** `GET /v1/decisions/{id}/proof` and `GET /v1/journal`: what is proven, to whom, and why not. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JournalHeadBody } from '../../src/api/gate/evidence.js'
import type { Caller } from '../../src/domain/caller.js'
import { describeJournal, proveDecision } from '../../src/evidence/evidence-routes.js'
import { hashOriginName } from '../../src/gate/journal/journal-origin.js'
import { toReply } from '../../src/gate/record/describe-decision.js'
import { readRecord } from '../../src/gate/record/read-record.js'
import { openCheckpoint } from '../../src/transparency/checkpoint.js'
import { isPersonErased } from '../../src/transparency/log-entry.js'
import { verifyRecordProof } from '../../src/transparency/record-proof.js'
import {
  formatNote,
  formatVerifierKey,
  parseNote,
  parseVerifierKey,
  signNote,
} from '../../src/transparency/signed-note.js'
import { witnessKey } from '../support/test-witness.js'
import { type Answer, openTwoAccounts, type TwoAccounts } from '../support/two-accounts.js'

let accounts: TwoAccounts
let ids: readonly string[]
const call = { number: '2127365001', callKind: 'manual' }
const proofOf = (id: string) => `/v1/decisions/${id}/proof`

async function decide(more: object = {}, key = accounts.owner): Promise<string> {
  accounts.running.clock.at += 1_000
  const answer = await accounts.send(key, { path: '/v1/decisions', json: { ...call, ...more } })
  return (answer.json() as { id: string }).id
}

/** Asks again when the server says that it may be signed by then. */
async function prove(id: string, key = accounts.owner): Promise<Answer> {
  for (;;) {
    const answer = await accounts.send(key, { path: proofOf(id) })
    if (answer.status !== 503) return answer
    const seconds = Number(answer.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(0)
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
  }
}

const readHead = async () =>
  (await accounts.send(accounts.owner, { path: '/v1/journal' })).json() as JournalHeadBody
const readKey = async () => parseVerifierKey((await readHead()).verifierKey)
const detailOf = (answer: Answer) => (answer.json() as { detail: string }).detail

beforeAll(async () => {
  accounts = await openTwoAccounts()
  const { projects, journal } = accounts.running.callgate
  await projects.create({ accountId: 'main', code: 'SALES', name: 'SALES' })
  ids = [
    await decide(),
    await decide({ projectId: 'SALES' }),
    await decide({ number: '2127365002' }),
  ]
  await journal.drain()
  await prove(ids[2] ?? '')
})

afterAll(() => accounts.running.end())

describe('the proof of a decision', () => {
  it('has the record, and is checked with the key of the journal alone', async () => {
    const [id = ''] = ids
    const answer = await prove(id)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/plain; charset=utf-8',
    ])
    const { body, entry } = verifyRecordProof(answer.text, await readKey())
    expect(entry.kind).toBe(1)
    const read = await accounts.send(accounts.owner, { path: `/v1/decisions/${id}` })
    const record = readRecord('decision', { body })
    expect(toReply(record)).toEqual(read.json())
    for (const told of ['message', 'detail']) expect(record).not.toHaveProperty(told)
    const other = { ...(await readKey()), publicKey: witnessKey.publicKey }
    expect(() => verifyRecordProof(answer.text, other)).toThrow('is not signed by')
  })

  it('is of the latest record of one that changed before its answer left', async () => {
    const { journal } = accounts.running.callgate
    const [id = ''] = ids
    const index = journal.index
    const seq = index?.findSeq(id)
    expect(verifyRecordProof((await prove(id)).text, await readKey()).entry.seq).toBe(seq)
  })

  it('is given to its account and to keys that may read it, and is logged', async () => {
    const [id = '', ofProject = ''] = ids
    for (const one of [id, ofProject]) {
      expect((await prove(one, accounts.stranger)).status).toBe(404)
      expect((await accounts.send(accounts.revoked, { path: proofOf(one) })).status).toBe(401)
    }
    const { keys, storage } = accounts.running.callgate
    const { key } = await keys.create({
      accountId: 'main',
      role: 'Administrator',
      label: 'limited',
      projects: ['SALES'],
    })
    expect((await prove(id, key)).status).toBe(403)
    const rows = () =>
      storage.db
        .selectFrom('audit')
        .selectAll()
        .where('door', '=', 'api /v1/decisions/:id/proof')
        .execute()
    const before = (await rows()).length
    expect((await prove(ofProject, key)).status).toBe(200)
    const after = await rows()
    expect(after).toHaveLength(before + 1)
    expect(after.at(-1)).toMatchObject({ action: 'decision.read', subject: ofProject })
  })

  it('is not there for what is no decision', async () => {
    const missing = await prove('unknown')
    expect([missing.status, detailOf(missing)]).toEqual([
      404,
      "id 'unknown': this account has no such decision",
    ])
    expect((await prove(`${ids[0]}x`)).status).toBe(404)
    expect((await prove('x'.repeat(65))).status).toBe(400)
  })

  it('is left to the server that has the record, among several over one database', async () => {
    const deps = {
      dataDir: accounts.running.dataDir,
      index: { findRecord: () => undefined },
      findJournal: async (accountId: string) => (accountId === 'main' ? 'abc' : undefined),
      recordRead: async () => undefined,
      witnesses: [],
      clock: { now: () => 0 },
    }
    const as = (accountId: string) => proveDecision(deps, { accountId } as Caller, 'd1')
    await expect(as('main')).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('only the server of the journal with originHash abc'),
    })
    await expect(as('other')).rejects.toMatchObject({ kind: 'not-found' })
  })

  it('comes when it is signed, as the answer before says', async () => {
    const id = await decide()
    const early = await accounts.send(accounts.owner, { path: proofOf(id) })
    expect([200, 503]).toContain(early.status)
    if (early.status === 503)
      expect(detailOf(early)).toMatch(/Try again in ten seconds|in a moment/)
    expect((await prove(id)).status).toBe(200)
  })

  it('has what is kept of the record once the number was erased', async () => {
    const { journal } = accounts.running.callgate
    const erasure = { number: '2127365002', accountId: undefined, includesAllowed: true }
    journal.erase({ id: 'e1', ...erasure })
    const key = await readKey()
    const readProven = async () => verifyRecordProof((await prove(ids[2] ?? '')).text, key).body
    await expect.poll(async () => isPersonErased(await readProven())).toBe(true)
    const body = await readProven()
    expect(readRecord('decision', { body })).toMatchObject({ id: ids[2], number: '', erased: true })
    expect(body.toString()).not.toContain('2127365002')
  })
})

describe('the journal', () => {
  it('shows its name, its key and its newest head', async () => {
    const head = await readHead()
    const { origin, originHash, checkpoint, verifierKey, size, ageSeconds, signedAt } = head
    const { dataDir, callgate } = accounts.running
    expect(readFileSync(join(dataDir, 'journal/origin'), 'utf8')).toBe(`${origin}\n`)
    expect(originHash).toBe(hashOriginName(origin).toString('hex'))
    expect(originHash).toBe(callgate.journal.origin)
    expect(openCheckpoint(checkpoint, parseVerifierKey(verifierKey)).size).toBe(size)
    expect(ageSeconds).toBeGreaterThanOrEqual(0)
    expect(Date.parse(signedAt)).toBeLessThanOrEqual(Date.now())
    expect(head).toMatchObject({ cosigned: null, formerOrigins: [] })
  })

  it('shows who has cosigned it, and the names that it had', async () => {
    const { dataDir } = accounts.running
    const path = join(dataDir, 'journal/tree/cosigned')
    const { checkpoint, size, origin } = await readHead()
    const { text, signatures } = parseNote(checkpoint)
    const at = Date.UTC(2026, 10, 26, 12) / 1_000
    writeFileSync(
      path,
      formatNote({ text, signatures: [...signatures, signNote(text, witnessKey, at)] }),
    )
    const former = {
      origin: 'callgate/journal/old',
      key: 'callgate/journal/old+1a2b3c4d+AY',
      size: 3,
      because: 'x',
      at: '2026-11-25T00:00:00Z',
      next: origin,
    }
    const formerPath = join(dataDir, 'journal/former-origins.json')
    writeFileSync(formerPath, JSON.stringify({ formerOrigins: [former] }))
    const key = formatVerifierKey(witnessKey)
    const deps = {
      dataDir,
      index: { findRecord: () => undefined },
      findJournal: async () => undefined,
      recordRead: async () => undefined,
      clock: { now: () => Date.now() + 5_000 },
    }
    const known = describeJournal({
      ...deps,
      witnesses: [{ kind: 'witness', url: 'http://127.0.0.1:1', key }],
    })
    expect(known.cosigned).toMatchObject({
      size,
      cosignatures: [{ witness: witnessKey.name, at: '2026-11-26T12:00:00Z' }],
    })
    expect(known.ageSeconds).toBeGreaterThanOrEqual(5)
    const { key: oldKey, because, ...shown } = former
    expect(known.formerOrigins).toEqual([shown])
    // One that is not in the settings proves nothing.
    expect(describeJournal({ ...deps, witnesses: [] }).cosigned?.cosignatures).toEqual([])
    rmSync(path)
    rmSync(formerPath)
    const empty = mkdtempSync(join(tmpdir(), 'callgate-empty-'))
    expect(() => describeJournal({ ...deps, dataDir: empty, witnesses: [] })).toThrow(
      'has not signed',
    )
    rmSync(empty, { recursive: true })
  })
})
