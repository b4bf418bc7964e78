/** Consents with what shows them: stored, read in one view, and what calls may rest on them. */
import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { openErasures } from '../../src/app/journal/erasures.js'
import type { AddedConsent, ConsentHistory } from '../../src/domain/consent/consent-records.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { DecisionReply } from '../../src/gate/record/decision-document.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const opened: TestCallgate[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.end()
})

const number = '2125550101'
const wording = 'I agree that Acme Inc. may call me by an AI voice at the number above.'
const proof = {
  number,
  givenAt: '2026-11-20T15:00:00Z',
  seller: 'Acme Inc.',
  channel: 'web',
  method: 'written',
  wording,
}

async function open(environment: Readonly<Record<string, string>> = {}) {
  const running = await openTestCallgate({ environment })
  opened.push(running)
  const post = (more: Readonly<Record<string, unknown>> = {}, key?: string) =>
    running.postJson('/v1/consents', { ...proof, ...more }, key)
  const add = async (more: Readonly<Record<string, unknown>> = {}) => {
    const reply = await post(more)
    expect(reply.status).toBe(200)
    return (await reply.json()) as AddedConsent
  }
  const read = async (query = `number=${number}`, key?: string) => {
    const reply = await running.get(`/v1/consents?${query}`, key)
    expect(reply.status).toBe(200)
    return (await reply.json()) as ConsentHistory
  }
  const decide = async (callKind: string, more: Readonly<Record<string, unknown>> = {}) => {
    const reply = await running.postJson('/v1/decisions', { number, callKind, ...more })
    const decision = (await reply.json()) as DecisionReply
    const permission = decision.findings.find(({ check }) => check === 'permission')
    const { consent } = (permission?.facts?.record ?? {}) as { consent?: unknown }
    return { ...decision, permission, consent }
  }
  const addRecord = (more: Readonly<Record<string, unknown>> = {}) =>
    running.postJson('/app/main/rpc/ebr', {
      ebrList: [{ phoneNumber: number, type: 'P', dateOfLastContact: '11/20/2026', ...more }],
    })
  return { running, post, add, read, decide, addRecord }
}

describe('a stored consent', () => {
  it('permits calls, and the decision and the view say what shows it', async () => {
    const { add, read, decide } = await open()
    expect((await decide('ai')).reason).toBe('no-consent')
    const page = 'https://acme.example/offer'
    const certificate = 'https://cert.example/0123'
    const more = {
      page,
      certificate,
      personId: 'p-1',
      purposes: ['telemarketing'],
      endsOn: '2027-01-31',
    }
    const added = await add(more)
    const sha256 = createHash('sha256').update(wording).digest('hex')
    expect(added).toEqual({ id: expect.any(String), wordingSha256: sha256, warnings: [] })
    const decision = await decide('ai')
    expect(decision.reason).toBe('permitted')
    const purposes = ['telemarketing']
    const terms = { evidence: 'certified', id: added.id, purposes, endsOn: expect.any(Number) }
    expect(decision.consent).toEqual(terms)
    expect(await read()).toEqual({
      number,
      current: {
        type: 'P',
        consentId: added.id,
        evidence: 'certified',
        isEffective: true,
        expiresOn: '2027-01-31',
        isRevoked: false,
      },
      consents: [
        {
          id: added.id,
          givenAt: '2026-11-20T15:00:00Z',
          endsOn: '2027-01-31',
          seller: 'Acme Inc.',
          channel: 'web',
          method: 'written',
          evidence: 'certified',
          wording,
          wordingSha256: sha256,
          page,
          certificate,
          personId: 'p-1',
          purposes: ['telemarketing'],
          kinds: null,
          recordedAt: '2026-11-23T17:00:00Z',
          recordedBy: expect.any(String),
        },
      ],
      records: [
        {
          type: 'P',
          dateOfLastContact: '2026-11-20T15:00:00Z',
          consentId: added.id,
          evidence: 'certified',
          recordedAt: '2026-11-23T17:00:00Z',
          recordedBy: expect.any(String),
          replacedAt: null,
        },
      ],
      optOut: null,
      statements: [],
    })
  })

  it('holds until the day on which it ends', async () => {
    const { running, add, read, decide } = await open()
    await add({ endsOn: '2026-11-24' })
    expect((await decide('ai')).decision).toBe('allow')
    running.clock.at += 86_400_000
    expect((await decide('ai')).reason).toBe('no-consent')
    expect((await read()).current).toMatchObject({ isEffective: false, isRevoked: false })
  })

  it('permits only the kinds of call that it names', async () => {
    const { add, decide } = await open()
    await add({ kinds: ['autodialed'] })
    expect((await decide('autodialed')).decision).toBe('allow')
    const byAgent = await decide('ai')
    expect(byAgent).toMatchObject({ decision: 'block', reason: 'no-consent' })
    expect(byAgent.permission?.detail).toContain('permits only autodialed')
    expect((await decide('manual')).decision).toBe('allow')
  })

  it('permits only calls for what it names', async () => {
    const { add, decide } = await open()
    await add({ purposes: ['informational'] })
    const sale = await decide('ai')
    expect(sale).toMatchObject({ decision: 'block', reason: 'no-consent' })
    expect(sale.permission?.detail).toContain('is only for informational')
    await add({ purposes: ['informational', 'telemarketing'] })
    expect((await decide('ai')).decision).toBe('allow')
  })

  it('stands in the view beside an opt-out that was said in a call of another project', async () => {
    const { running, add, read } = await open()
    await add()
    const { db } = running.callgate.storage
    await running.postJson('/v1/opt-outs', { number, said: 'stop it all', source: 'sms' })
    await db.updateTable('opt_out_statements').set({ list: 'OTHER' }).execute()
    const { current, statements } = await read()
    expect(current).toMatchObject({ isEffective: false })
    expect(statements).toMatchObject([{ said: 'stop it all', source: 'sms' }])
  })

  it('that is for other calls lifts no opt-out for them', async () => {
    const { running, add, decide } = await open({
      CALLGATE_GATE_PURPOSES:
        '[{ account: sandbox, purpose: informational, requestsMay: [telemarketing], setBy: Ada }]',
    })
    await running.postJson('/v1/opt-outs', { number, said: 'stop' })
    running.clock.at += 60_000
    const givenAt = new Date(running.clock.at).toISOString()
    running.clock.at += 60_000
    await add({ givenAt, purposes: ['telemarketing'] })
    const sale = await decide('manual', { purpose: 'telemarketing' })
    expect(sale.decision).toBe('allow')
    const reminder = await decide('manual')
    expect(reminder).toMatchObject({ decision: 'block', reason: 'internal-dnc' })
  })

  it('that does not permit calls of persons lifts no list for them', async () => {
    const { add, decide } = await open()
    const listed = '2125550103'
    await add({ number: listed, kinds: ['ai'] })
    expect((await decide('manual', { number: listed })).reason).toBe('no-consent')
    expect((await decide('ai', { number: listed })).decision).toBe('allow')
  })

  it('is replaced by a newer record, and ended by an opt-out, which the view keeps', async () => {
    const { running, add, read, decide, addRecord } = await open()
    const first = await add()
    await addRecord({ dateOfLastContact: '11/21/2026' })
    expect((await decide('ai')).consent).toEqual({ evidence: 'none' })
    const replaced = await read()
    expect(replaced.current).toMatchObject({ consentId: null, evidence: 'none' })
    expect(replaced.records.map(({ consentId, replacedAt }) => [consentId, replacedAt])).toEqual([
      [null, null],
      [first.id, '2026-11-23T17:00:00Z'],
    ])
    running.clock.at += 60_000
    const optOut = { number, said: 'never again', goods: 'solar panels', source: 'transcript' }
    await running.postJson('/v1/opt-outs', optOut)
    expect((await decide('ai')).reason).toBe('consent-revoked')
    const revoked = await read()
    expect(revoked.current).toMatchObject({ isEffective: false, isRevoked: true })
    expect(revoked.optOut).toEqual({ addedAt: '2026-11-23T17:01:00Z', removedAt: null })
    const { said, goods, source } = optOut
    expect(revoked.statements).toMatchObject([{ said, goods, source }])
    running.clock.at += 60_000
    const again = await add({ givenAt: '2026-11-23T17:02:00Z' })
    expect((await decide('ai')).consent).toEqual({ evidence: 'written', id: again.id })
    expect((await read()).consents.map(({ id }) => id)).toEqual([again.id, first.id])
  })

  it('given before the permission on file, but stored later, stays in the history alone', async () => {
    const { running, add, addRecord, read, decide } = await open()
    const newer = await add({
      givenAt: '2026-11-19T15:00:00Z',
      kinds: ['ai'],
      endsOn: '2027-01-31',
    })
    running.clock.at += 60_000
    const late = await add({
      givenAt: '2026-11-15T15:00:00Z',
      certificate: 'https://cert.example/1',
    })
    expect(late.warnings).toEqual([expect.stringContaining('is not in force')])
    expect((await decide('ai')).consent).toMatchObject({ id: newer.id, kinds: ['ai'] })
    expect((await decide('autodialed')).reason).toBe('no-consent')
    const { current, consents, records } = await read()
    expect(current).toMatchObject({ consentId: newer.id, expiresOn: '2027-01-31' })
    expect(consents.map(({ id }) => id)).toEqual([late.id, newer.id])
    const past = records.map(({ consentId, replacedAt }) => [consentId, replacedAt])
    expect(past).toEqual([
      [late.id, '2026-11-23T17:01:00Z'],
      [newer.id, null],
    ])
    await addRecord({ dateOfLastContact: '11/18/2026' })
    await add({ givenAt: '2026-11-17T15:00:00Z' })
    expect((await read()).current).toMatchObject({ consentId: null, evidence: 'none' })
  })

  it('of the same day as the permission on file replaces it unless that has stronger evidence', async () => {
    const { add, addRecord, read } = await open()
    const inForce = async () => (await read()).current?.consentId ?? null
    await addRecord({ dateOfLastContact: '11/20/2026' })
    const oral = await add({ method: 'oral', givenAt: '2026-11-20T15:00:00Z' })
    expect(await inForce()).toBe(oral.id)
    const written = await add({ givenAt: '2026-11-20T14:00:00Z' })
    expect(await inForce()).toBe(written.id)
    await add({ method: 'oral', givenAt: '2026-11-20T16:00:00Z' })
    expect(await inForce()).toBe(written.id)
    const later = await add({ givenAt: '2026-11-20T15:00:00Z' })
    expect(await inForce()).toBe(later.id)
    await add({ givenAt: '2026-11-20T14:30:00Z' })
    expect(await inForce()).toBe(later.id)
  })

  it('with limits is not replaced by one given earlier on the day, whatever shows that', async () => {
    const { add, read, decide } = await open()
    const narrow = await add({ method: 'oral', givenAt: '2026-11-20T16:00:00Z', kinds: ['manual'] })
    await add({ method: 'written', givenAt: '2026-11-20T15:00:00Z' })
    expect((await read()).current).toMatchObject({ consentId: narrow.id })
    expect((await decide('ai')).reason).toBe('no-consent')
    const later = await add({ method: 'written', givenAt: '2026-11-20T17:00:00Z' })
    expect((await read()).current).toMatchObject({ consentId: later.id })
  })

  it('given after an opt-out lifts it, also with weaker evidence than one of the same day before', async () => {
    const { running, add, decide } = await open()
    await add({ givenAt: '2026-11-23T16:59:00Z', method: 'written' })
    await running.postJson('/v1/opt-outs', { number, said: 'stop' })
    expect((await decide('ai')).reason).toBe('consent-revoked')
    running.clock.at += 60_000
    const again = await add({ givenAt: '2026-11-23T17:01:00Z', method: 'oral' })
    expect((await decide('ai')).consent).toEqual({ evidence: 'oral', id: again.id })
  })

  it('that ends is not better than a record that lasts longer, and one that has ended is none', async () => {
    const { running, add, addRecord, read } = await open()
    const keepBetter = (more: Readonly<Record<string, unknown>>) =>
      running.postJson('/app/main/rpc/ebr', {
        keepBetterEBR: 1,
        ebrList: [{ phoneNumber: number, dateOfLastContact: '11/01/2026', ...more }],
      })
    await add({ endsOn: '2026-11-24' })
    await keepBetter({ type: 'T' })
    expect((await read()).current).toMatchObject({ type: 'P', expiresOn: '2026-11-24' })
    await keepBetter({ type: 'I' })
    expect((await read()).current).toMatchObject({ type: 'I' })
    await add({ endsOn: '2026-11-24' })
    running.clock.at += 86_400_000
    await keepBetter({ type: 'T' })
    expect((await read()).current).toMatchObject({ type: 'T' })
    await addRecord()
    await keepBetter({ type: 'S' })
    expect((await read()).current).toMatchObject({ type: 'P' })
  })

  it('replaces a newer sale, which permits less', async () => {
    const { add, addRecord, read } = await open()
    await addRecord({ type: 'S', dateOfLastContact: '11/21/2026' })
    const { id } = await add()
    expect((await read()).current).toMatchObject({ type: 'P', consentId: id })
  })

  it('is that of its project and account', async () => {
    const { running, add, read } = await open()
    await running.callgate.projects.create({ accountId: 'sandbox', code: 'SPRING', name: 'x' })
    await add({ projectId: 'SPRING' })
    expect((await read(`number=${number}&projectId=SPRING`)).consents).toHaveLength(1)
    expect(await read()).toMatchObject({ current: null, consents: [], records: [] })
    const stranger = await read(`number=${number}`, running.keys.main)
    expect(stranger).toMatchObject({ current: null, consents: [], records: [] })
  })

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['number', { number: '212' }],
    ['givenAt', { givenAt: 'today' }],
    ['givenAt', { givenAt: undefined }],
    ['givenAt', { givenAt: '2026-11-23T17:02:00Z' }],
    ['endsOn', { endsOn: '2026-11-20' }],
    ['endsOn', { endsOn: 'never' }],
    ['seller', { seller: ' ' }],
    ['seller', { seller: undefined }],
    ['channel', { channel: 'pigeon' }],
    ['method', { method: 'tacit' }],
    ['wording', { wording: '' }],
    ['wording', { wording: 'x'.repeat(10_001) }],
    ['page', { page: 'javascript:alert(1)' }],
    ['certificate', { certificate: 'cert' }],
    ['kinds', { kinds: [] }],
    ['kinds', { kinds: ['robot'] }],
    ['purposes', { purposes: ['offers'] }],
    ['NONE', { projectId: 'NONE' }],
    ['seler', { seler: 'x' }],
  ])('with a wrong %s is refused, and nothing is stored', async (field, wrong) => {
    const { post, read } = await open()
    const reply = await post(wrong)
    const text = await reply.text()
    expect([reply.status, text]).toEqual([400, expect.stringContaining(field)])
    expect(text).not.toContain('undefined')
    expect(await read()).toMatchObject({ current: null, consents: [], records: [] })
  })
})

describe('a stored consent of a person who is erased', () => {
  const year = 365.25 * 86_400_000
  const toErase = {
    number: toPhoneNumber(number),
    accountId: undefined,
    includesAllowed: false,
    requestedBy: 'tester',
    reason: undefined,
    keepYears: 5,
  }

  it('is kept for five years from its end, or from the erasure if that ended it', async () => {
    const { running, add, read } = await open()
    const first = await add({ endsOn: '2026-11-24' })
    running.clock.at += year
    const second = await add({ personId: 'Jane' })
    running.clock.at += year
    await openErasures(running.callgate).request(toErase)
    const left = async () => (await read()).consents.map(({ id, personId }) => [id, personId])
    const deleteExpired = () => openErasures(running.callgate).deleteExpired(running.clock.at)
    await deleteExpired()
    expect(await left()).toEqual([
      [second.id, null],
      [first.id, null],
    ])
    running.clock.at += 3.1 * year
    await deleteExpired()
    expect(await left()).toEqual([[second.id, null]])
    running.clock.at += 2 * year
    await deleteExpired()
    expect(await left()).toEqual([])
  })

  it('is named in no later decision, and before in facts alone, which an erasure removes', async () => {
    const { running, add, decide } = await open()
    const { id } = await add({ kinds: ['manual'], personId: 'Jane' })
    const { permission, ...before } = await decide('ai')
    expect(permission?.facts?.record).toMatchObject({ consent: { id } })
    expect(`${permission?.detail} ${before.message}`).not.toContain(id)
    await openErasures(running.callgate).request(toErase)
    running.callgate.changes.everythingChanged()
    const after = JSON.stringify(await decide('ai'))
    expect(after).toContain('no consent on file')
    expect(after).not.toMatch(new RegExp(`"${id}"|evidence|Jane`))
  })
})

describe('what must show the consent to an AI call', () => {
  const reasonsWith = async (required: string) => {
    const { add, addRecord, decide } = await open({
      CALLGATE_GATE_AI_CONSENT_EVIDENCE: required,
    })
    const reasons = []
    await addRecord()
    reasons.push((await decide('ai')).reason)
    for (const method of ['oral', 'recorded', 'written']) {
      await add({ method })
      reasons.push((await decide('ai')).reason)
    }
    await add({ certificate: 'https://cert.example/1' })
    const { reason } = await decide('ai')
    return [...reasons, reason]
  }

  it.each([
    ['none', 0],
    ['oral', 1],
    ['recorded', 2],
    ['written', 3],
    ['certified', 4],
  ])('%s: the first %i of five are not enough', async (required, count) => {
    const reasons = Array(5).fill('permitted').fill('consent-unproven', 0, count)
    expect(await reasonsWith(required)).toEqual(reasons)
  })

  it('is said in the decision, and asked of no other call', async () => {
    const { addRecord, decide } = await open({ CALLGATE_GATE_AI_CONSENT_EVIDENCE: 'written' })
    await addRecord()
    const { permission, message } = await decide('ai')
    expect(permission?.detail).toContain('evidence of the consent: none')
    expect(message).toContain('gate.aiConsentEvidence asks for written')
    expect((await decide('autodialed')).decision).toBe('allow')
    expect((await decide('manual')).decision).toBe('allow')
  })
})
