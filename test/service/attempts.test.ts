/** What keys are given within their limits, also when two servers are asked at the same time. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { webhookDescriptions } from '../../src/api/webhook-payloads.js'
import { noLimits } from '../../src/domain/caller.js'
import type { AttemptLimits } from '../../src/domain/mandate.js'
import { Approvals } from '../../src/service/accounts/approvals.js'
import { Attempts } from '../../src/service/accounts/attempts.js'
import type { NewWebhookEvent } from '../../src/service/webhooks/webhook-queue.js'
import { openDatabase } from '../../src/storage/engine.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { useDatabase } from '../support/database.js'
import { engineOf, isPostgres } from '../support/test-engine.js'

const database = useDatabase()
let elsewhere: OpenDatabase

beforeEach(async () => {
  elsewhere = await openDatabase({
    ...engineOf(database.folder),
    lockWaitMs: 5_000,
    blockForLockMs: 0,
    dataDir: database.folder,
  })
  const { db } = database.storage
  const account = { kind: 'real', name: '', agents_may_remove: 0, created_at: 0 } as const
  await db
    .insertInto('accounts')
    .values({ id: 'main', ...account })
    .execute()
  const key = { account_id: 'main', label: '', created_at: 0, rights: 'decide', is_personal: 0 }
  await db
    .insertInto('api_keys')
    .values([
      { ...key, id: 'key-1', key_hash: '1', role: 'Agent', root: 'user:ann' },
      { ...key, id: 'key-2', key_hash: '2', role: 'Supervisor', root: 'user:ben', is_personal: 1 },
    ])
    .execute()
})

afterEach(() => elsewhere.close())

const start = Date.UTC(2026, 10, 23, 17)
const hour = 3_600_000
const count = (calls: number, within: 'hour' | 'day' | 'now') => [
  { code: 'key-calls', params: { calls, within } },
]
const number = '2125550100'
let ids = 0
/** Over SQLite there is only one. */
const otherServer = () => (isPostgres() ? elsewhere : database.storage)

const events: string[] = []
const webhooks = {
  add: async (_: unknown, { event, url, body }: NewWebhookEvent) => {
    const delivery = { EventId: 'evt_1', Event: event, Attempt: 1, SentOn: '2026-11-23T17:00:00Z' }
    // Throws unless it is as the API describes it.
    webhookDescriptions.projectChanged.payload.parse({ ...delivery, ...body })
    events.push(`${event} ${url}`)
    return ''
  },
  wake: () => undefined,
}
const attemptsOn = (storage: OpenDatabase) => new Attempts(storage, webhooks)

interface TakeOptions {
  readonly to?: string
  readonly on?: OpenDatabase
  readonly approvalId?: string | undefined
  readonly callerId?: string
  readonly projectId?: string
  readonly campaignId?: string
}

async function take(
  limits: AttemptLimits,
  at: number,
  { to = number, on = database.storage, approvalId, ...more }: TakeOptions = {},
) {
  ids += 1
  const call = { number: to, callKind: 'ai' as const, ...more }
  const attempt = {
    decisionId: `d${ids}`,
    keyId: 'key-1',
    accountId: 'main',
    call,
    approvalId,
    at,
  }
  const all = { key: limits, frequency: [], isShadowed: false }
  const { counts: _, isCounted: __, ...taken } = await attemptsOn(on).take(attempt, all)
  return taken
}

describe('a limit on attempts', () => {
  it('is not passed by questions on two servers at the same time', async () => {
    const takings = Array.from({ length: 30 }, (_, index) =>
      take({ attemptsPerHour: 7 }, start + index, {
        on: index % 2 === 0 ? database.storage : otherServer(),
        to: `21255501${index + 10}`,
      }),
    )
    const results = await Promise.all(takings)
    expect(results.filter(({ refused }) => refused === undefined)).toHaveLength(7)
    const { n } = await database.storage.db
      .selectFrom('attempts')
      .select(({ fn }) => fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow()
    expect(Number(n)).toBe(7)
  })

  it('is that of the last hour and the last 24 hours, and says when there is room', async () => {
    const limits = { attemptsPerHour: 2, attemptsPerDay: 3 }
    expect(await take(limits, start)).toEqual({ remaining: { hour: 1, day: 2 } })
    expect(await take(limits, start + 1_000)).toEqual({ remaining: { hour: 0, day: 1 } })
    expect(await take(limits, start + 2_000)).toEqual({
      refused: { reason: 'key-attempts', says: count(2, 'hour'), opensAt: start + hour },
    })
    expect(await take(limits, start + hour)).toEqual({ remaining: { hour: 0, day: 0 } })
    expect(await take(limits, start + 3 * hour)).toEqual({
      refused: { reason: 'key-attempts', says: count(3, 'day'), opensAt: start + 24 * hour },
    })
    expect(await take(limits, start + 24 * hour)).toMatchObject({ remaining: { day: 0 } })
  })

  it('of one number has its own count and cool-down', async () => {
    const limits = { attemptsPerNumberPerDay: 2, coolDownSeconds: 600 }
    expect(await take(limits, start)).toMatchObject({ remaining: {} })
    expect(await take(limits, start + 599_999)).toMatchObject({
      refused: { reason: 'key-cool-down', opensAt: start + 600_000 },
    })
    expect(await take(limits, start + 1, { to: '2125550101' })).toMatchObject({ remaining: {} })
    expect(await take(limits, start + 600_000)).toMatchObject({ remaining: {} })
    expect(await take(limits, start + 2 * hour)).toMatchObject({
      refused: { reason: 'key-attempts', opensAt: start + 24 * hour },
    })
  })

  it('on calls in progress counts each for two hours, and says when there is room', async () => {
    const limits = { concurrent: 2 }
    expect(await take(limits, start)).toMatchObject({ remaining: {} })
    expect(await take(limits, start + 2)).toMatchObject({ remaining: {} })
    const says = count(2, 'now')
    const refused = { reason: 'key-concurrent', says, opensAt: start + 2 * hour }
    expect(await take(limits, start + 3)).toEqual({ refused })
    expect(await take(limits, start + 2 * hour - 1)).toEqual({ refused })
    expect(await take(limits, start + 2 * hour)).toMatchObject({ remaining: {} })
    expect(await take(limits, start + 2 * hour + 1)).toMatchObject({
      refused: { opensAt: start + 2 * hour + 2 },
    })
  })

  it('gives back what is released', async () => {
    const limits = { attemptsPerHour: 1 }
    expect(await take(limits, start)).toMatchObject({ remaining: { hour: 0 } })
    await attemptsOn(elsewhere).release({ decisionId: `d${ids}`, accountId: 'main' })
    expect(await take(limits, start + 1)).toMatchObject({ remaining: { hour: 0 } })
  })

  it('counts attempts of a clock that was ahead', async () => {
    expect(await take({ attemptsPerHour: 1 }, start + 10 * hour)).toMatchObject({ remaining: {} })
    expect(await take({ attemptsPerHour: 1 }, start)).toMatchObject({ refused: {} })
  })

  const day = 24 * hour
  const coolDown = { coolDownSeconds: 604_800 }
  it('is forgotten after the longest period of a limit', async () => {
    const attempts = attemptsOn(database.storage)
    await take(coolDown, start)
    await attempts.deleteOld(start + 31 * day)
    expect(await take(coolDown, start + 1)).toMatchObject({ refused: {} })
    await attempts.deleteOld(start + 31 * day + 1)
    expect(await take(coolDown, start + 1)).toMatchObject({ remaining: {} })
  })

  it('leaves more than 10,000 at once for the next statements', async () => {
    const { db } = database.storage
    const row = {
      ...{ key_id: 'k', account_id: 'main', number: '2125550100', at: 0 },
      purpose: 'telemarketing' as const,
    }
    for (let first = 0; first < 10_001; first += 1_000) {
      const rows = Array.from({ length: Math.min(1_000, 10_001 - first) }, (_, index) => ({
        ...row,
        decision_id: `old-${first + index}`,
      }))
      await db.insertInto('attempts').values(rows).execute()
    }
    const attempts = attemptsOn(database.storage)
    expect(await attempts.deleteOld(31 * day + 1)).toBe(true)
    expect(await attempts.deleteOld(31 * day + 1)).toBe(false)
  })
})

describe('an approval', () => {
  const limits = { approval: 'always' as const }
  let now = start
  const clock = { now: () => now }
  const person = {
    accountId: 'main',
    role: 'Supervisor' as const,
    keyId: 'key-2',
    limits: noLimits,
  }
  const approvals = () => new Approvals({ storage: elsewhere, clock })
  const waiting = async () => {
    const [first] = await approvals().list(person, 'waiting')
    if (!first) throw new Error('no approval is waiting')
    return first
  }
  const decide = async (verdict: 'approve' | 'refuse', more = {}) => {
    const { id, subjectHash } = await waiting()
    return await approvals().decide({ ...person, ...more }, { id, verdict, subjectHash }, 'ann')
  }
  beforeEach(() => {
    now = start
    events.length = 0
  })

  it('is asked for once for the same call, given by a person, and used once', async () => {
    const asked = await take(limits, start)
    const { id } = await waiting()
    expect(asked).toMatchObject({ approval: { id }, refused: { reason: 'approval-needed' } })
    expect(await take(limits, start + 1)).toMatchObject({ approval: { id } })
    expect(await take(limits, start + 1, { approvalId: id })).toMatchObject({
      approval: { id },
      refused: {
        says: [
          { code: 'approval-waiting', params: { approval: id, until: '2026-11-23T17:15:00Z' } },
        ],
      },
    })
    await decide('approve')
    const used = await take(limits, start + 2, { approvalId: id })
    expect(used).toMatchObject({ approval: { id, approvedBy: 'ann' } })
    expect(used.refused).toBeUndefined()
    expect(await take(limits, start + 3, { approvalId: id })).toMatchObject({
      refused: { says: [{ code: 'approval-over', params: { approval: id, state: 'used' } }] },
    })
    expect(await approvals().list(person, 'used')).toMatchObject([
      { id, decisionId: `d${ids - 1}` },
    ])
  })

  it('of a first contact is for a number for which the key was given no call in seven days', async () => {
    const first = { approval: 'first-contact' as const }
    const needed = { refused: { reason: 'approval-needed' } }
    expect(await take(first, start)).toMatchObject(needed)
    const { id: approvalId } = await decide('approve')
    expect(await take(first, start, { approvalId })).toMatchObject({ approval: { id: approvalId } })
    const again = await take(first, start + 7 * 24 * hour - 1)
    expect(again.refused).toBeUndefined()
    expect(again.approval).toBeUndefined()
    expect(await take(first, start + 1, { to: '2125550101' })).toMatchObject(needed)
    expect(await take(first, start + 14 * 24 * hour - 1)).toMatchObject(needed)
  })

  it('of a first contact is needed again after a call that did not leave', async () => {
    const first = { approval: 'first-contact' as const }
    await take({}, start)
    expect((await take(first, start + 1)).refused).toBeUndefined()
    await attemptsOn(elsewhere).release({ decisionId: `d${ids}`, accountId: 'main' })
    await attemptsOn(elsewhere).release({ decisionId: `d${ids - 1}`, accountId: 'main' })
    expect(await take(first, start + 2)).toMatchObject({ refused: { reason: 'approval-needed' } })
  })

  it('is used once by two questions at the same time, and again if its allow did not leave', async () => {
    await take(limits, start)
    const { id: approvalId } = await decide('approve')
    const results = await Promise.all(
      [database.storage, otherServer()].map((on) => take(limits, start + 1, { on, approvalId })),
    )
    expect(results.filter(({ refused }) => refused === undefined)).toHaveLength(1)
    const [used] = await approvals().list(person, 'used')
    await attemptsOn(elsewhere).release({
      decisionId: used?.decisionId ?? '',
      accountId: 'main',
    })
    expect((await take(limits, start + 2, { approvalId })).refused).toBeUndefined()
  })

  it('is for exactly the call that was shown', async () => {
    await take(limits, start)
    const { id: approvalId } = await decide('approve')
    for (const other of [{ to: '2125550101' }, { callerId: '2125550199' }]) {
      expect(await take(limits, start + 1, { approvalId, ...other })).toMatchObject({
        refused: {
          says: [{ code: 'approval-of-other-call', params: { approval: approvalId } }],
        },
      })
    }
    expect(await take(limits, start + 1, { approvalId: 'ap-1' })).toMatchObject({
      refused: { says: [{ code: 'approval-unknown', quote: 'ap-1' }] },
    })
  })

  it('is for the same call however its caller ID, project and campaign are written', async () => {
    const shown = { callerId: '+1 (212) 555-0199', projectId: ' p1 ', campaignId: '07' }
    await take(limits, start, shown)
    await take(limits, start, { callerId: '2125550199', projectId: 'P1', campaignId: ' 7' })
    const { subject } = await waiting()
    expect(subject).toEqual({
      number,
      callKind: 'ai',
      callerId: '2125550199',
      projectId: 'P1',
      campaignId: '7',
    })
    expect(await approvals().list(person, 'waiting')).toHaveLength(1)
    const { id: approvalId } = await decide('approve')
    const written = { callerId: '1-212-555-0199', projectId: 'p1', campaignId: '7' }
    const used = await take(limits, start + 1, { approvalId, ...written })
    expect(used.refused).toBeUndefined()
  })

  it('is for the same call if a blank member is left out', async () => {
    await take(limits, start, { projectId: ' ', campaignId: '', callerId: ' ' })
    const { id: approvalId } = await decide('approve')
    const used = await take(limits, start + 1, { approvalId })
    expect(used.refused).toBeUndefined()
  })

  it('waits for 15 minutes, and can be used for 10', async () => {
    await take(limits, start)
    const first = await waiting()
    now = start + 15 * 60_000
    const late = approvals().decide(person, { ...first, verdict: 'approve' }, 'ann')
    await expect(late).rejects.toMatchObject({ kind: 'conflict' })
    await take(limits, now)
    const { id: approvalId, expiresAt } = await decide('approve')
    expect(expiresAt).toBe(now + 10 * 60_000)
    expect(await take(limits, expiresAt, { approvalId })).toMatchObject({
      refused: {
        says: [{ code: 'approval-over', params: { approval: approvalId, state: 'expired' } }],
      },
    })
    now = expiresAt
    expect(await approvals().list(person, 'expired')).toHaveLength(2)
  })

  it('is not given by the key that asks, an Agent, another account, or for a subject that was not shown', async () => {
    await take(limits, start)
    const forbidden = { kind: 'forbidden' }
    await expect(decide('approve', { keyId: 'key-1' })).rejects.toMatchObject(forbidden)
    await expect(decide('approve', { role: 'Agent' })).rejects.toMatchObject(forbidden)
    await expect(decide('approve', { accountId: 'other' })).rejects.toMatchObject({
      kind: 'not-found',
    })
    const projects = { codes: ['SALES'], campaignIds: [] }
    const ofProject = { limits: { ...noLimits, projects } }
    await expect(decide('approve', ofProject)).rejects.toMatchObject({ kind: 'not-found' })
    const { id } = await waiting()
    const shown = { id, verdict: 'approve' as const, subjectHash: 'other' }
    await expect(approvals().decide(person, shown, 'ann')).rejects.toMatchObject({
      kind: 'conflict',
    })
    expect((await decide('refuse')).state).toBe('refused')
    await expect(decide('approve')).rejects.toThrow('no approval is waiting')
  })

  it('of a project is listed for a key of that project behind hundreds of others, the newest first', async () => {
    const { db } = database.storage
    const row = (index: number, projectId: string) => ({
      id: `ap-${projectId}-${index}`,
      account_id: 'main',
      key_id: 'key-1',
      subject: JSON.stringify({ number, callKind: 'ai', projectId }),
      subject_hash: 'x',
      state: 'waiting' as const,
      // Several of the same instant.
      requested_at: start + Math.floor(index / 7),
      expires_at: start + hour,
    })
    const others = Array.from({ length: 650 }, (_, index) => row(index + 300, 'OTHER'))
    const own = Array.from({ length: 120 }, (_, index) => row(index, 'SALES'))
    for (const rows of [others, own]) {
      await db.insertInto('approvals').values(rows).execute()
    }
    const projects = { codes: ['SALES'], campaignIds: [] }
    const ofSales = { ...person, limits: { ...noLimits, projects } }
    const listed = await approvals().list(ofSales, 'waiting')
    expect(new Set(listed.map(({ id }) => id)).size).toBe(100)
    expect(listed.every(({ subject: { projectId } }) => projectId === 'SALES')).toBe(true)
    expect(listed[0]?.requestedAt).toBe(start + 17)
    expect(listed.at(-1)?.requestedAt).toBe(start + 2)
    expect(await approvals().list(person, 'waiting')).toHaveLength(100)
    const oldest = await approvals().find(ofSales, 'ap-SALES-0')
    expect(oldest).toMatchObject({ state: 'waiting', subjectHash: 'x' })
    await expect(approvals().find(ofSales, 'ap-OTHER-300')).rejects.toMatchObject({
      kind: 'not-found',
    })
  })

  it('is one of at most 20 that wait for a key', async () => {
    for (let index = 0; index < 20; index += 1) {
      await take(limits, start, { to: `21255502${index + 10}` })
    }
    expect(await take(limits, start)).toMatchObject({
      refused: { says: [{ code: 'approvals-full', params: { waiting: 20 } }] },
    })
  })

  it('is announced to the webhook of the project, once', async () => {
    const { db } = database.storage
    await db
      .insertInto('projects')
      .values({
        account_id: 'main',
        code: 'main',
        name: '',
        status: 'active',
        industry_exemption: 0,
        voip_restricted: 0,
        inherits_internal_dnc: 0,
        inherits_ebr: 0,
        webhook_url: 'https://hooks.example/approvals',
        created_at: 0,
        modified_at: 0,
      })
      .execute()
    await take(limits, start)
    await take(limits, start + 1)
    expect(events).toEqual(['approval.requested https://hooks.example/approvals'])
  })

  it('is not used by a call that its token has no room for', async () => {
    await take(limits, start)
    const { id: approvalId } = await decide('approve')
    const inAll = { token: 't1', limit: 1, expiresAt: start + hour }
    await take({ inAll }, start, { to: '2125550101' })
    const usedUp = await take({ ...limits, inAll }, start + 1, { approvalId })
    expect(usedUp.refused).toMatchObject({ says: [{ code: 'token-used-up' }] })
    expect(await take(limits, start + 2, { approvalId })).toMatchObject({
      approval: { id: approvalId, approvedBy: 'ann' },
    })
  })

  it('costs no attempt while it waits', async () => {
    const both = { ...limits, attemptsPerHour: 1 }
    await take(both, start)
    const { id: approvalId } = await decide('approve')
    expect(await take(both, start + 1, { approvalId })).toMatchObject({ remaining: { hour: 0 } })
  })
})
