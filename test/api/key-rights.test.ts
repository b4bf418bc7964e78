/**
 * Keys that can do less: every endpoint there is, asked with keys that lack the rights it needs.
 * What each needs stands here once more, so that a descriptor cannot change or appear unnoticed.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { presets } from '../../src/commands/accounts/key-options.js'
import { type Right, rights } from '../../src/domain/caller.js'
import { callKinds } from '../../src/domain/decision.js'
import { isPostgres } from '../support/test-engine.js'
import { type Ask, openTwoAccounts, type TwoAccounts } from '../support/two-accounts.js'
import { endpoints, isRefusalIn } from '../support/walk-endpoints.js'

let accounts: TwoAccounts
/** A key for each set of rights, by its words in the order of `rights`. */
const keys = new Map<string, string>()

const number = '2127365001'
const rpc = '/app/main/rpc'
const hours = '/v1.5/GeoScrub'
const webhook = 'http://127.0.0.1:9/receiver'
const ebrList = [{ phoneNumber: number, type: 'P', dateOfLastContact: '11/20/2026' }]
const columns = {
  '1!ColValue.phoneNumber': number,
  '1!ColValue.type': 'P',
  '1!ColValue.dateOfLastContact': '11/20/2026',
}
const rnd = { phoneNumber: number, date: '2026-01-31' }
const lookUp = ['look-up'] as const
const decide = ['decide'] as const
const manage = ['manage'] as const

interface Row {
  readonly about?: string
  readonly needs: readonly Right[]
  readonly ask: Ask
  /** Of the answer to a key with just these rights. */
  readonly status?: number
}

/** The rights of an AI agent's key, and the most that a token of less than its key has. */
const agentRights: readonly Right[] = ['decide', 'records']

const rows: Readonly<Record<string, Row | readonly Row[]>> = {
  'auth-validate': { needs: [], ask: { path: '/v1.5/Auth/Validate' } },
  'time-legal': {
    needs: lookUp,
    ask: {
      path: `${hours}/IsTimeLegalToCall`,
      json: { IsTimeLegalToCall: [{ PhoneNumber: number }] },
    },
  },
  'legal-call-times': {
    needs: lookUp,
    ask: {
      path: `${hours}/LegalCallTimesForDate`,
      json: { LegalCallTimesForDate: [{ PhoneNumber: number }] },
    },
  },
  'time-zone-info': {
    needs: lookUp,
    ask: { path: `${hours}/GetTimeZoneInfo`, json: { PhoneList: [number] } },
  },
  'scrub-get': [
    { needs: lookUp, ask: { path: `${rpc}/scrub`, query: { phoneList: number } } },
    {
      about: 'with records',
      needs: ['look-up', 'consent'],
      ask: { path: `${rpc}/scrub`, query: { phoneList: number, ...columns } },
    },
  ],
  'scrub-post': [
    { needs: lookUp, ask: { path: `${rpc}/scrub`, form: { phoneList: number } } },
    {
      about: 'with records',
      needs: ['look-up', 'consent'],
      ask: { path: `${rpc}/scrub`, json: { phoneList: number, ebrList } },
    },
  ],
  'pdnc-get': [
    ...(['add', 'remove'] as const).map((actionType): Row => {
      const query = { phoneList: number, actionType }
      return { about: actionType, needs: ['records'], ask: { path: `${rpc}/pdnc`, query } }
    }),
    {
      about: 'status',
      needs: lookUp,
      ask: { path: `${rpc}/pdnc`, query: { phoneList: number, actionType: 'STATUS' } },
    },
    { about: 'count', needs: lookUp, ask: { path: `${rpc}/pdnc`, query: { actionType: 'count' } } },
  ],
  'pdnc-post': [
    {
      about: 'add, in odd letter case',
      needs: ['records'],
      ask: { path: `${rpc}/pdnc`, json: { PHONELIST: number, ACTIONTYPE: ' Add ' } },
    },
    {
      about: 'status',
      needs: lookUp,
      ask: { path: `${rpc}/pdnc`, form: { phoneList: number, actionType: 'status' } },
    },
  ],
  ebr: { needs: ['consent'], ask: { path: `${rpc}/ebr`, json: { ebrList } } },
  'ebr-get': [
    { about: 'list', needs: lookUp, ask: { path: `${rpc}/ebr`, query: { phoneList: number } } },
    { about: 'store', needs: ['consent'], ask: { path: `${rpc}/ebr`, query: columns } },
  ],
  'ebr-remove': {
    needs: ['consent'],
    ask: { path: `${rpc}/ebr/remove`, form: { phoneList: number } },
  },
  consent: {
    needs: ['consent'],
    ask: {
      path: '/v1/consents',
      json: {
        ...{ number, givenAt: '2026-11-20T15:00:00Z', seller: 'Acme' },
        ...{ channel: 'web', method: 'written', wording: 'I agree' },
      },
    },
  },
  consents: { needs: lookUp, ask: { path: '/v1/consents', query: { number } } },
  number: { needs: lookUp, ask: { path: `/v1/numbers/${number}` } },
  'litigator-get': {
    needs: lookUp,
    ask: { path: '/v1.5/Scrub/litigator', query: { phoneList: number } },
  },
  'litigator-post': {
    needs: lookUp,
    ask: { path: '/v1.5/Scrub/litigator', json: { PhoneList: number } },
  },
  'id-premium': { needs: lookUp, ask: { path: '/v1.4/Data/IDPremium', query: { phone: number } } },
  'real-time-disconnect': {
    needs: lookUp,
    ask: { path: '/v1.4/Data/RealTimeDisconnect', query: { phoneNumber: number } },
  },
  'res-or-business': {
    needs: lookUp,
    ask: { path: '/v1.4/Data/ResOrBusiness', query: { phone: number } },
  },
  verification: {
    needs: lookUp,
    ask: { path: '/v1.4/Data/Verification', query: { phone: number } },
  },
  'ftp-upload-complete': { needs: [], ask: { path: `${rpc}/ftpUploadComplete?upload=0` } },
  'enhanced-rnd-get': { needs: lookUp, ask: { path: '/v1.5/Data/EnhancedRND', query: rnd } },
  'enhanced-rnd-post': {
    needs: lookUp,
    ask: { path: '/v1.5/Data/EnhancedRND', json: { Data: [rnd] } },
  },
  'rnd-basic-get': { needs: lookUp, ask: { path: '/v1.5/Data/RNDBasic', query: rnd } },
  'rnd-basic-post': {
    needs: lookUp,
    ask: { path: '/v1.5/Data/RNDBasic', json: { Data: [rnd] } },
  },
  'project-get': { needs: lookUp, ask: { path: '/v1.5/projects/main' } },
  'project-save': {
    needs: manage,
    status: 201,
    ask: { path: '/v1.5/projects', json: { ProjectCode: 'NEW', ProjectName: 'New' } },
  },
  'project-update': {
    needs: manage,
    ask: { method: 'PUT', path: '/v1.5/projects/main', json: { Notes: 'changed' } },
  },
  'rpc-project': [
    {
      about: 'change',
      needs: manage,
      ask: { path: `${rpc}/project`, form: { projId: 'main', notes: 'changed' } },
    },
    {
      about: 'change and list',
      needs: manage,
      ask: { path: `${rpc}/project`, form: { projId: 'main', notes: 'more', output: 'xml' } },
    },
    { about: 'list', needs: lookUp, ask: { path: `${rpc}/project`, form: { output: 'xml' } } },
  ],
  'rpc-project-get': [
    {
      about: 'change',
      needs: manage,
      ask: { path: `${rpc}/project`, query: { projId: 'main', notes: 'by GET' } },
    },
    { about: 'list', needs: lookUp, ask: { path: `${rpc}/project`, query: { output: 'xml' } } },
  ],
  'legal-entities': { needs: lookUp, ask: { path: '/v1.5/Reputation/GetAllLegalEntities' } },
  'legal-entity-create': {
    needs: manage,
    ask: {
      path: '/v1.5/legalentity/Create',
      json: { LegalName: 'Another', EIN: '987654321', CountryCode: 'US' },
    },
  },
  'legal-entity-update': {
    needs: manage,
    ask: { method: 'PUT', path: '/v1.5/legalentity/Update', json: { LegalEntityId: 1, City: 'X' } },
  },
  'reputation-add': {
    needs: manage,
    ask: { path: '/v1.4/reputation/add', json: [{ Phone: number }] },
  },
  'reputation-get': {
    needs: lookUp,
    ask: { path: '/v1.4/reputation/get', query: { phoneList: number } },
  },
  'reputation-get-post': { needs: lookUp, ask: { path: '/v1.4/reputation/get', json: [number] } },
  'reputation-get-all': { needs: lookUp, ask: { path: '/v1.5/Reputation/GetAll' } },
  'reputation-remove': { needs: manage, ask: { path: '/v1.4/reputation/remove', json: [number] } },
  'flags-removed-summary': {
    needs: lookUp,
    ask: { path: '/v1.5/Reputation/FlagsRemovedSummary' },
  },
  'scan-submit': {
    needs: manage,
    ask: {
      path: '/v1.5/Reputation/OneTimeScan',
      json: { PhoneNumbers: [number], NotificationURL: webhook, ScanType: 'carrier' },
    },
  },
  'scan-status': {
    needs: lookUp,
    // No such job.
    status: 400,
    ask: {
      path: '/v1.5/Reputation/OneTimeScan',
      query: { jobId: '00000000-0000-4000-8000-000000000000' },
    },
  },
  decide: { needs: decide, ask: { path: '/v1/decisions', json: { number, callKind: 'manual' } } },
  preview: {
    needs: decide,
    ask: { path: '/v1/decisions/preview', json: { numbers: [number], callKind: 'manual' } },
  },
  'predial-get': { needs: decide, ask: { path: '/v1/predial', query: { number, kind: 'manual' } } },
  'predial-post': { needs: decide, ask: { path: '/v1/predial', form: { number, kind: 'manual' } } },
  decisions: { needs: decide, ask: { path: '/v1/decisions', query: { number } } },
  'decisions-stream': {
    needs: decide,
    ask: { path: '/v1/decisions/stream', query: { seconds: '1' } },
  },
  live: { needs: manage, ask: { path: '/v1/live' } },
  decision: { needs: decide, status: 404, ask: { path: '/v1/decisions/unknown' } },
  'decision-proof': {
    needs: decide,
    status: 404,
    ask: { path: '/v1/decisions/unknown/proof' },
  },
  journal: { needs: decide, ask: { path: '/v1/journal' } },
  outcome: [
    {
      needs: decide,
      status: 404,
      ask: { path: '/v1/decisions/unknown/outcome', json: { state: 'failed' } },
    },
    {
      about: 'with a confirmed identity',
      needs: ['decide', 'consent'],
      status: 404,
      ask: {
        path: '/v1/decisions/unknown/outcome',
        json: { state: 'answered', answeredBy: 'person', identityConfirmed: true },
      },
    },
    {
      about: 'of a platform',
      needs: ['decide', 'platform'],
      status: 404,
      ask: {
        path: '/v1/decisions/unknown/outcome',
        json: { state: 'answered', fromPlatform: true },
      },
    },
  ],
  attempts: {
    needs: ['records'],
    ask: {
      path: '/v1/attempts',
      json: { attempts: [{ number, at: '2026-11-23T16:00:00Z', ref: 'r1', channel: 'call' }] },
    },
  },
  'attempts-get': { needs: lookUp, ask: { path: '/v1/attempts', query: { number } } },
  'opt-out': { needs: ['records'], ask: { path: '/v1/opt-outs', json: { number } } },
  'platform-calls': {
    needs: ['records'],
    ask: {
      path: '/v1/platform-calls',
      json: { platform: 'retell', calls: [{ decisionId: 'd1', number }] },
    },
  },
  'platform-calls-due': {
    needs: ['records'],
    ask: { path: '/v1/platform-calls', query: { platform: 'retell', due: 'fetch' } },
  },
  'platform-event': {
    needs: ['records'],
    ask: {
      path: '/v1/platform-events',
      json: { platform: 'retell', receivedAt: '2026-11-23T16:00:00Z', body: '{}' },
    },
  },
  'platform-report': {
    needs: ['records'],
    ask: { path: '/v1/platform-reports', json: { platform: 'retell', canFetch: true } },
  },
  'unclear-opt-outs': { needs: ['records'], ask: { path: '/v1/unclear-opt-outs' } },
  'unclear-opt-out': {
    needs: ['records'],
    status: 404,
    ask: { path: '/v1/unclear-opt-outs/x', json: { action: 'dismiss' } },
  },
  permit: {
    needs: decide,
    ask: { path: '/v1/permits', json: { number, callKind: 'manual', callerId: number } },
  },
  'permit-use': {
    needs: decide,
    status: 404,
    ask: { path: '/v1/permits/use', json: { value: 'none', number, callerId: number } },
  },
  'permit-use-by-id': {
    needs: decide,
    status: 404,
    ask: { path: '/v1/permits/unknown/use', json: { number, callerId: number } },
  },
  'permit-release': {
    needs: decide,
    status: 404,
    ask: { path: '/v1/permits/unknown/release', json: {} },
  },
  'permit-read': { needs: decide, status: 404, ask: { path: '/v1/permits/unknown' } },
  // Only servers over PostgreSQL have edges.
  'edge-account': { needs: ['edge'], status: 404, ask: { path: '/v1/edge/account' } },
  'edge-records': {
    needs: ['edge'],
    status: 404,
    ask: { path: '/v1/edge/records', query: { table: 'internal_dnc' } },
  },
  'edge-decisions': {
    needs: ['edge'],
    status: isPostgres() ? 200 : 404,
    ask: {
      path: '/v1/edge/decisions',
      json: { origin: '0'.repeat(64), firstSeq: 1, records: [] },
    },
  },
  'edge-attempts': {
    needs: ['edge'],
    status: isPostgres() ? 200 : 404,
    ask: {
      path: '/v1/edge/attempts',
      json: { of: { action: 'release', decisionId: 'unknown' } },
    },
  },
  'edge-changes': {
    needs: ['edge'],
    status: 404,
    ask: { path: '/v1/edge/changes', query: { waitMs: '0' } },
  },
  'list-file': {
    needs: ['edge'],
    status: 404,
    ask: { path: `/v1/list-files/${'0'.repeat(64)}` },
  },
  lists: { needs: lookUp, ask: { path: '/v1/lists' } },
  'list-rollback': {
    needs: manage,
    status: 409,
    ask: { path: '/v1/lists/us-dnc/rollback', json: { reason: 'a test' } },
  },
  status: { needs: manage, ask: { path: '/v1/status' } },
  projects: { needs: lookUp, ask: { path: '/v1/projects' } },
  'project-hours': {
    needs: manage,
    status: 400,
    ask: { path: '/v1/projects/NONE/hours', json: { region: 'FL', remove: true } },
  },
  rules: { needs: lookUp, ask: { path: '/v1/rules', query: { region: 'FL' } } },
  'caller-ids': { needs: manage, ask: { path: '/v1/caller-ids' } },
  // A number would be in force for the calls of the other rows.
  'caller-id-add': {
    needs: manage,
    status: 400,
    ask: { path: '/v1/caller-ids', json: { callerIds: [{ number, owner: 'Acme', proof: '' }] } },
  },
  'caller-id-end': {
    needs: manage,
    status: 404,
    ask: { path: '/v1/caller-ids/end', json: { number } },
  },
  keys: { needs: manage, ask: { path: '/v1/keys' } },
  'key-create': {
    needs: manage,
    ask: { path: '/v1/keys', json: { label: 'made', role: 'Agent', rights: manage } },
  },
  'key-change': {
    needs: manage,
    status: 404,
    ask: { path: '/v1/keys/key-unknown', json: { kinds: ['ai'] } },
  },
  'key-revoke': {
    needs: manage,
    status: 404,
    ask: { path: '/v1/keys/key-unknown/revoke', json: {} },
  },
  pauses: { needs: manage, ask: { path: '/v1/pauses' } },
  // A pause would hold for the calls of the other rows.
  pause: {
    needs: manage,
    status: 400,
    ask: { path: '/v1/pauses', json: { subject: 'ai:unknown', reason: 'test' } },
  },
  'pause-end': {
    needs: manage,
    status: 404,
    ask: { path: '/v1/pauses/end', json: { subject: 'ai:main' } },
  },
  audit: { needs: manage, ask: { path: '/v1/audit' } },
  approvals: { needs: manage, ask: { path: '/v1/approvals' } },
  'approval-verdict': {
    needs: manage,
    status: 404,
    ask: { path: '/v1/approvals/ap-1', json: { verdict: 'approve', subjectHash: 'x' } },
  },
  'evidence-ask': {
    needs: ['decide', 'records', 'consent'],
    status: 202,
    ask: { path: '/v1/evidence', json: { number, reason: 'test' } },
  },
  'evidence-bundles': { needs: ['decide', 'records', 'consent'], ask: { path: '/v1/evidence' } },
  'evidence-bundle': {
    needs: ['decide', 'records', 'consent'],
    status: 404,
    ask: { path: '/v1/evidence/unknown' },
  },
  'evidence-file': {
    needs: ['decide', 'records', 'consent'],
    status: 404,
    ask: { path: '/v1/evidence/unknown/file' },
  },
  'evidence-delete': {
    needs: ['decide', 'records', 'consent'],
    status: 404,
    ask: { path: '/v1/evidence/unknown/delete', json: { reason: 'test' } },
  },
  changes: { needs: manage, ask: { path: '/v1/changes' } },
  change: { needs: manage, status: 404, ask: { path: '/v1/changes/ch-1' } },
  'change-approve': {
    needs: manage,
    status: 404,
    ask: { path: '/v1/changes/ch-1/approve', json: { requestHash: 'x' } },
  },
  'change-refuse': {
    needs: manage,
    status: 404,
    ask: { path: '/v1/changes/ch-1/refuse', json: { requestHash: 'x' } },
  },
  'warm-start': {
    needs: decide,
    status: 202,
    ask: { path: '/v1/warm', json: { numbers: [number] } },
  },
  'warm-progress': { needs: decide, status: 404, ask: { path: '/v1/warm/unknown' } },
  'warm-stop': {
    needs: decide,
    status: 404,
    ask: { method: 'POST', path: '/v1/warm/unknown/stop' },
  },
}

const keyed = [...endpoints.values()].filter(({ access }) => access !== 'open')

/** All sets of rights. The empty one, which no command makes, must be good for nothing. */
const sets: readonly (readonly Right[])[] = Array.from({ length: 2 ** rights.length }, (_, bits) =>
  rights.filter((_right, place) => (bits & (2 ** place)) !== 0),
)

beforeAll(async () => {
  accounts = await openTwoAccounts()
  const { callgate } = accounts.running
  for (const set of sets) {
    const wanted = set.length === 0 ? rights : set
    const { id, key } = await callgate.keys.create({
      accountId: 'main',
      role: 'Administrator',
      label: '',
      rights: wanted,
    })
    if (set.length === 0) {
      const db = callgate.storage.db
      await db.updateTable('api_keys').set({ rights: '' }).where('id', '=', id).execute()
    }
    keys.set(set.join(), key)
  }
})

afterAll(async () => {
  await accounts.running.end()
})

describe('a key', () => {
  it('is tried on every endpoint that takes one', () => {
    expect(Object.keys(rows).sort()).toEqual(keyed.map(({ name }) => name).sort())
  })

  for (const [name, ways] of Object.entries(rows)) {
    for (const { about, needs, ask, status = 200 } of [ways].flat()) {
      it(`with less than ${needs.join(' and ') || 'nothing'} is refused, and no other: ${name}${about ? `, ${about}` : ''}`, async () => {
        const shape = endpoints.get(name)?.errors ?? 'problem'
        for (const set of sets) {
          const missing = needs.filter((right) => !set.includes(right))
          if (missing.length === 0 && set.length > needs.length) continue
          const answer = await accounts.send(keys.get(set.join()), ask)
          const told = `${set.join()}: ${answer.status} ${answer.text}`
          if (missing.length === 0) {
            expect(told).toMatch(new RegExp(`^\\S*: ${status} `))
          } else {
            expect(told).toMatch(/^\S*: 403 /)
            expect(isRefusalIn(shape, answer)).toBe(true)
            if (shape !== 'block-line') expect(told).toContain(`lacks the right '`)
            expect(told).not.toContain(keys.get(set.join()))
          }
        }
      })
    }
  }
})

describe('the key of an AI agent', () => {
  it('changes nothing by any call that lets it dial what it could not', async () => {
    const { keys: store, projects } = accounts.running.callgate
    const { role, expiresInMs: _, ...limits } = presets['ai-agent']
    const agent = await store.create({ accountId: 'main', role, label: 'agent', ...limits })
    await projects.create({ accountId: 'main', code: 'OPEN', name: 'Open' })
    const onList = '2127365002'
    const query = { phoneList: onList, actionType: 'add' }
    await accounts.send(accounts.owner, { path: `${rpc}/pdnc`, query })
    const callerId = '2125550199'
    const calls: readonly object[] = [number, onList, '3125550142'].flatMap((to) =>
      callKinds.flatMap((callKind) => [
        { number: to, callKind, callerId },
        { number: to, callKind, callerId, projectId: 'OPEN' },
        { number: to, callKind },
      ]),
    )
    const decisions = async () => {
      const verdicts: string[] = []
      for (const json of calls) {
        const answer = await accounts.send(agent.key, { path: '/v1/decisions', json })
        verdicts.push((answer.json() as { decision: string }).decision)
      }
      return verdicts
    }
    const before = await decisions()
    expect(before).not.toContain('allow')
    const bearer = async (ask: Ask) => {
      for (const to of [number, onList]) {
        const text = JSON.stringify(ask).replaceAll(number, to)
        await accounts.send(agent.key, JSON.parse(text))
      }
    }
    for (const ways of Object.values(rows)) {
      for (const { ask } of [ways].flat()) await bearer(ask)
    }
    for (const actionType of ['add', 'remove']) {
      await bearer({
        path: `${rpc}/pdnc`,
        query: { phoneList: number, actionType, projId: 'OPEN' },
      })
    }
    expect(await decisions()).toEqual(before)
    const consents = await accounts.running.callgate.storage.db
      .selectFrom('ebr_records')
      .select('id')
      .where('key_id', '=', agent.id)
      .execute()
    expect(consents).toEqual([])
  })
})

describe('a token that permits less than its key', () => {
  const tokenOf = async (set: readonly Right[]) => {
    const { keys: store } = accounts.running.callgate
    const owner = { accountId: 'main', label: '', rights: set }
    const { key } = await store.create({ ...owner, role: 'Administrator' })
    const form = {
      grant_type: 'client_credentials',
      client_id: 'main',
      client_secret: key,
      authorization_details: JSON.stringify([{ type: 'callgate_dial', kinds: callKinds }]),
    }
    const granted = await accounts.send(undefined, { path: '/oauth/token', form })
    return (granted.json() as { access_token: string }).access_token
  }
  const isForbidden = async (token: string, ask: Ask) =>
    (await accounts.send(token, ask)).status === 403

  it('has no right but to decide and to store opt-outs, whatever its key has', async () => {
    const token = await tokenOf(rights)
    for (const [name, ways] of Object.entries(rows)) {
      for (const { about, needs, ask } of [ways].flat()) {
        // Its role is Agent, which may not remove opt-outs.
        const mayDo = needs.every((right) => agentRights.includes(right)) && about !== 'remove'
        expect([name, about, await isForbidden(token, ask)]).toEqual([name, about, !mayDo])
      }
    }
  })

  it('has no right that its key lacks', async () => {
    const token = await tokenOf(['records', 'consent'])
    const pdnc = { phoneList: number, actionType: 'add' }
    expect(await isForbidden(token, { path: `${rpc}/pdnc`, query: pdnc })).toBe(false)
    const call = { number, callKind: 'manual' }
    expect(await isForbidden(token, { path: '/v1/decisions', json: call })).toBe(true)
    expect(await isForbidden(token, { path: `${rpc}/ebr`, json: { ebrList } })).toBe(true)
  })

  it('has the role Agent', async () => {
    const answer = await accounts.send(await tokenOf(rights), { path: '/v1.5/Auth/Validate' })
    expect(answer.text).toContain('Agent')
  })
})
