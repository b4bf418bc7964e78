/**
 * Who did what: every endpoint either changes or shows something that gets a row, or says why it does not; and every table is either
 * audited, or says why it is not. A new endpoint or table fails here until somebody has decided.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AuditRow } from '../../src/storage/tables.js'
import { createPersonKey } from '../support/person-keys.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { isPostgres } from '../support/test-engine.js'
import { endpoints } from '../support/walk-endpoints.js'

const number = '2125550106'
const own = '2125550150'
const rpc = '/app/main/rpc'
let running: TestCallgate
let keyId: string

beforeAll(async () => {
  running = await openTestCallgate()
  keyId = (await running.callgate.keys.list('main'))[0]?.id ?? ''
})

afterAll(() => running.end())

/** The actions of an endpoint, or why it has none. */
const ofEndpoints: Readonly<Record<string, string>> = {
  audit: 'audit.read',
  'caller-id-add': 'caller-id.added',
  'caller-id-end': 'caller-id.ended',
  consent: 'consent.stored',
  consents: 'consents.read',
  decision: 'decision.read',
  'decision-proof': 'decision.read',
  journal: 'none: names, keys and hashes',
  decisions: 'decisions.searched',
  'decisions-stream': 'decisions.streamed',
  live: 'none: counts',
  'evidence-ask': 'evidence.asked',
  'evidence-file': 'evidence.downloaded',
  'evidence-delete': 'evidence.deleted',
  'evidence-bundle': 'none: what was asked for, by whom and why',
  'evidence-bundles': 'none: what was asked for, by whom and why',
  number: 'number.read',
  'attempts-get': 'attempts.read',
  ebr: 'consent-record.stored',
  'ebr-get': 'consent-record.stored consent-records.read',
  'ebr-remove': 'consent-record.removed',
  'legal-entity-create': 'legal-entity.created',
  'legal-entity-update': 'legal-entity.changed',
  'opt-out': 'opt-out.added',
  'pdnc-get': 'opt-out.added opt-out.removed; its status is asked by dialers all the time',
  'pdnc-post': 'opt-out.added opt-out.removed; its status is asked by dialers all the time',
  'project-save': 'project.created project.changed',
  'project-update': 'project.changed',
  'rpc-project': 'project.created project.changed',
  'rpc-project-get': 'project.created project.changed',
  'reputation-add': 'monitored-number.added',
  'reputation-remove': 'monitored-number.removed',
  'scan-submit': 'scan.submitted',
  'scrub-get': 'consent-record.stored; asked by dialers all the time',
  'scrub-post': 'consent-record.stored; asked by dialers all the time',
  outcome: 'consent-record.confirmed; the rest is a record of the call',
  'key-create': 'key.created',
  'key-change': 'key.changed',
  'key-revoke': 'key.revoked',
  pause: 'pause.ordered',
  'pause-end': 'pause.ended',
  approvals: 'approvals.read',
  'unclear-opt-outs': 'unclear-opt-outs.read',
  'unclear-opt-out': 'unclear-opt-out.confirmed unclear-opt-out.dismissed',
  'platform-event': 'opt-out.added; the rest is a record of the call',
  'approval-verdict': 'approval.approved approval.refused',
  changes: 'none: what is asked for in words, without numbers',
  change: 'change.read',
  'change-approve': 'change.approved change.failed, and those of the endpoint of the change',
  'change-refuse': 'change.refused',
  ...Object.fromEntries(
    [
      ...['decide', 'predial-get', 'predial-post', 'permit', 'preview', 'attempts'],
      ...['permit-use', 'permit-use-by-id', 'permit-release', 'permit-read'],
      ...['platform-calls', 'platform-calls-due', 'platform-report'],
    ].map((name) => [name, 'none: the path of a call, whose decision is the record of it']),
  ),
  ...Object.fromEntries(
    [
      ...['litigator-get', 'litigator-post', 'id-premium', 'real-time-disconnect', 'verification'],
      ...['res-or-business', 'enhanced-rnd-get', 'enhanced-rnd-post', 'rnd-basic-get'],
      ...['rnd-basic-post', 'time-legal', 'legal-call-times', 'time-zone-info'],
    ].map((name) => [name, 'none: facts about numbers, asked by dialers all the time']),
  ),
  ...Object.fromEntries(
    [
      ...['reputation-get', 'reputation-get-post', 'reputation-get-all', 'flags-removed-summary'],
      ...['scan-status', 'caller-ids', 'legal-entities', 'project-get', 'keys', 'pauses'],
    ].map((name) => [name, 'none: what the account has of its own, and not of persons called']),
  ),
  ...Object.fromEntries(
    ['edge-account', 'edge-records', 'edge-changes', 'edge-decisions', 'edge-attempts'].map(
      (name) => [name, 'none: the copy of an edge, which follows all the time; its key has rows'],
    ),
  ),
  'list-file': 'none: lists, which edges fetch',
  lists: 'none: what is imported, and who did it',
  'list-rollback': 'list.rolled-back',
  status: 'none: of the server',
  projects: 'none: what the account has of its own, and not of persons called',
  'project-hours': 'project-hours.set project-hours.removed',
  rules: 'none: the law',
  token: 'none: of a key, which has rows, for an hour',
  'auth-validate': 'none: says whether a key is valid',
  'ftp-upload-complete': 'none: is always refused',
  'warm-start': 'none: asks ahead what calls will ask',
  'warm-progress': 'none: counts',
  'warm-stop': 'none: ends what asks ahead',
}

/** By what a table is audited, or why it is not. */
const ofTables: Readonly<Record<string, string>> = {
  accounts:
    'audited: account.created account.changed webhook-secret.created webhook-secret.rotated',
  api_keys: 'audited: key.created key.changed key.revoked',
  key_versions: 'audited: key.changed',
  key_uses: 'not: that a key was used, not what for',
  pauses: 'audited: pause.ordered pause.ended',
  attempts: 'not: calls, whose decisions are in the journal',
  answered_calls: 'not: what became of calls, which is in the journal',
  abandonment_counts: 'not: counted from calls',
  caller_ids: 'audited: caller-id.added caller-id.ended',
  do_not_originate: 'audited: do-not-originate.replaced',
  console_sessions: 'audited: session.began session.ended',
  platform_calls: 'not: calls, whose decisions are in the journal',
  platform_call_ids: 'not: calls, whose decisions are in the journal',
  platform_events: 'not: what was said in calls; an opt-out in it is audited',
  platform_event_parts: 'not: what was said in calls; an opt-out in it is audited',
  platform_reports: 'not: what a proxy says of itself',
  unclear_opt_outs: 'audited: unclear-opt-out.confirmed unclear-opt-out.dismissed',
  approvals: 'audited: approval.approved approval.refused; asking and using are in the journal',
  change_requests: 'audited: change.asked change.approved change.refused change.failed change.used',
  projects: 'audited: project.created project.changed project-hours.set registration.recorded',
  campaigns: 'audited: campaign.created; the first one by project.created',
  project_hours: 'audited: project-hours.set project-hours.removed',
  internal_dnc: 'audited: opt-out.added opt-out.removed opt-outs.imported clock.accepted',
  internal_dnc_lists: 'not: when internal_dnc has changed',
  change_head: 'audited: clock.accepted; numbers changes',
  changes: 'not: says to other servers which numbers have changed',
  audit: 'not: is the table',
  edge_copy: 'not: how far the copy of an edge is; its center has the rows',
  edge_opt_outs: 'not: what of opt-out.added the center does not have yet',
  opt_out_statements: 'audited: opt-out.added opt-out-words.read',
  ebr_records: 'audited: consent-record.stored consent-record.removed consent-records.imported',
  consents: 'audited: consent.stored',
  erasures: 'audited: erasure.requested erasure.finished',
  erased_journals: 'not: how far an erasure is',
  journal_positions: 'not: what is known of the journals',
  journals: 'audited: journal.given-up; how far they are copied',
  access_tokens: 'not: of a key, for an hour',
  people: 'not: who has signed in; what they do has rows',
  state_registrations: 'audited: registration.recorded',
  legal_entities: 'audited: legal-entity.created legal-entity.changed',
  monitored_numbers: 'audited: monitored-number.added monitored-number.removed',
  label_observations: 'not: what carriers say',
  flag_removals: 'not: what carriers say',
  scan_jobs: 'audited: scan.submitted',
  scan_numbers: 'audited: scan.submitted',
  webhook_events: 'not: what is sent of changes that have rows',
  webhook_attempts: 'not: how sending went',
  repeated_requests: 'not: answers of the last hours',
  shared_limits: 'not: counts of requests',
  list_versions: 'audited: data.imported list.rolled-back list.in-use',
  list_rights: 'audited: list-right.granted list-right.ended',
  permits: 'not: calls, whose decisions are in the journal',
  permit_keys: 'audited: permit-key.created',
  decision_blocks: 'not: a copy of the journals',
  recorded_outcomes: 'not: a copy of the journals',
}

it('is decided for every endpoint', () => {
  expect(Object.keys(ofEndpoints).sort()).toEqual([...endpoints.keys()].sort())
})

it('is decided for every table', async () => {
  const { db } = running.callgate.storage
  const all = await db.introspection.getTables()
  const names = all
    .filter(({ schema }) => schema === undefined || schema === 'public')
    .map(({ name }) => name)
  const onlyShared = ['decision_blocks', 'erased_journals', 'journals', 'recorded_outcomes']
  const expected = Object.keys(ofTables).filter(
    (name) => isPostgres() || !onlyShared.includes(name),
  )
  expect(expected.sort()).toEqual(names.sort())
  for (const why of Object.values(ofTables)) expect(why).toMatch(/^(audited|not): \S/)
})

interface Asked {
  readonly method?: string
  readonly path: string
  readonly json?: unknown
}

async function send({ method, path, json }: Asked): Promise<{ status: number; text: string }> {
  const response = await fetch(running.url + path, {
    method: method ?? (json === undefined ? 'GET' : 'POST'),
    headers: { loginId: running.keys.main, 'content-type': 'application/json' },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  })
  return { status: response.status, text: await response.text() }
}

async function readLatestSeq(): Promise<number> {
  const { db } = running.callgate.storage
  return (await db.selectFrom('change_head').select('audit_seq').executeTakeFirstOrThrow())
    .audit_seq
}

async function readRows(after: number): Promise<readonly AuditRow[]> {
  const { db } = running.callgate.storage
  return await db.selectFrom('audit').selectAll().where('seq', '>', after).orderBy('seq').execute()
}

const ebrList = [{ phoneNumber: number, type: 'P', dateOfLastContact: '11/20/2026' }]
const consent = {
  ...{ number, givenAt: '2026-11-20T15:00:00Z', seller: 'Acme' },
  ...{ channel: 'web', method: 'written', wording: 'I agree', personId: 'jane' },
}

/** In order. `subject` is a number if it is not said. */
const requests: readonly (Asked & {
  readonly action: string
  readonly subject?: string | RegExp
  readonly after?: object
  readonly reason?: string
})[] = [
  {
    path: `${rpc}/pdnc`,
    json: { phoneList: number, actionType: 'add' },
    action: 'opt-out.added',
    after: { list: 'main', numbers: 1, added: 1 },
  },
  {
    path: `${rpc}/pdnc`,
    json: { phoneList: number, actionType: 'remove' },
    action: 'opt-out.removed',
  },
  {
    path: '/v1/opt-outs',
    json: { number, said: 'please stop', source: 'transcript' },
    action: 'opt-out.added',
    after: { scope: 'everything', channel: 'call-voice', onAllLists: true },
  },
  { path: `${rpc}/ebr`, json: { ebrList }, action: 'consent-record.stored', after: { type: 'P' } },
  {
    path: `${rpc}/ebr?phoneList=${number}`,
    action: 'consent-records.read',
    subject: /^number [0-9a-f]{32}-0106$/,
    after: { rows: 1 },
  },
  {
    path: `${rpc}/ebr/remove`,
    json: { phoneList: number },
    action: 'consent-record.removed',
    after: { removed: 1 },
  },
  { path: '/v1/consents', json: consent, action: 'consent.stored', after: { records: 1 } },
  {
    path: `/v1/decisions?number=${number}`,
    action: 'decisions.searched',
    subject: /^number [0-9a-f]{32}-0106$/,
  },
  {
    path: `/v1/numbers/${number}`,
    action: 'number.read',
    subject: /^number [0-9a-f]{32}-0106$/,
  },
  {
    path: '/v1/decisions/stream?seconds=1',
    action: 'decisions.streamed',
    subject: 'decisions ',
  },
  {
    path: `/v1/attempts?number=${number}`,
    action: 'attempts.read',
    subject: /^number [0-9a-f]{32}-0106$/,
  },
  {
    path: `/v1/consents?number=${number}`,
    action: 'consents.read',
    subject: /^number [0-9a-f]{32}-0106$/,
  },
  {
    path: '/v1/caller-ids',
    json: { callerIds: [{ number: own, owner: 'Acme', proof: 'invoice' }], reason: 'new office' },
    action: 'caller-id.added',
    reason: 'new office',
    subject: `caller-id ${own}`,
  },
  {
    path: '/v1/caller-ids/end',
    json: { number: own, reason: 'office closed' },
    action: 'caller-id.ended',
    reason: 'office closed',
    subject: `caller-id ${own}`,
  },
  {
    path: '/v1/keys',
    json: { label: 'made', role: 'Agent', rights: ['decide'], reason: 'why' },
    action: 'key.created',
    subject: /^key key-[0-9a-f]{10}$/,
    after: { label: 'made', role: 'Agent', rights: 'decide' },
  },
  {
    path: '/v1/keys/made',
    json: { kinds: ['ai'] },
    action: 'key.changed',
    subject: /^key key-[0-9a-f]{10}$/,
    after: { version: 2, call_kinds: 'ai' },
  },
  {
    path: '/v1/pauses',
    json: { subject: 'agents:main', reason: 'test' },
    action: 'pause.ordered',
    subject: 'pause agents:main',
  },
  {
    path: '/v1/pauses/end',
    json: { subject: 'agents:main' },
    action: 'pause.ended',
    subject: 'pause agents:main',
  },
  {
    path: '/v1/keys/made/revoke',
    json: {},
    action: 'key.revoked',
    subject: /^key key-[0-9a-f]{10}$/,
  },
  {
    path: '/v1.5/projects',
    json: { ProjectCode: 'NEW', ProjectName: 'New' },
    action: 'project.created',
    subject: 'project NEW',
  },
  {
    method: 'PUT',
    path: '/v1.5/projects/NEW',
    json: { Notes: 'x', WebhookUrl: 'https://example.com/hook?key=secret' },
    action: 'project.changed',
    subject: 'project NEW',
    after: { notes: 'x', webhook_url: 'https://example.com' },
  },
  {
    path: `${rpc}/project?projId=NEW&notes=y`,
    action: 'project.changed',
    subject: 'project NEW',
    after: { notes: 'y' },
  },
  {
    path: '/v1.5/legalentity/Create',
    json: { LegalName: 'Acme', EIN: '123456789', CountryCode: 'US' },
    action: 'legal-entity.created',
    subject: /^legal-entity \d+$/,
  },
  {
    method: 'PUT',
    path: '/v1.5/legalentity/Update',
    json: { LegalEntityId: 1, City: 'X' },
    action: 'legal-entity.changed',
    subject: 'legal-entity 1',
  },
  {
    path: '/v1.4/reputation/add',
    json: [{ Phone: own }],
    action: 'monitored-number.added',
    subject: `number ${own}`,
  },
  {
    path: '/v1.4/reputation/remove',
    json: [own],
    action: 'monitored-number.removed',
    subject: `number ${own}`,
  },
  {
    path: '/v1.5/Reputation/OneTimeScan',
    json: { PhoneNumbers: [own], NotificationURL: 'https://example.com/', ScanType: 'carrier' },
    action: 'scan.submitted',
    subject: /^scan [0-9a-f-]{36}$/,
    after: { numbers: 1 },
  },
  {
    path: '/v1/audit?action=opt-out.added&output=csv',
    action: 'audit.read',
    subject: 'audit ',
  },
  {
    path: '/v1/audit?action=opt-out.added',
    action: 'audit.read',
    subject: 'audit ',
    after: { rows: 2 },
  },
]

describe('over the API', () => {
  for (const { action, subject = `number ${number}`, after, reason, ...asked } of requests) {
    it(`${asked.method ?? ''} ${asked.path.replace(/\?.*/, '')} has one row: ${action}`, async () => {
      const before = await readLatestSeq()
      const made = (await running.callgate.keys.list('main')).find(({ label }) => label === 'made')
      const answer = await send({ ...asked, path: asked.path.replace('/made', `/${made?.id}`) })
      expect(`${answer.status} ${answer.text}`).toMatch(/^20\d /)
      const rows = await readRows(before)
      expect(rows.map((row) => [row.action, row.who, row.account_id])).toEqual([
        [action, `key:${keyId}`, 'main'],
      ])
      const [row] = rows
      expect(row?.door).toMatch(/^api \//)
      const found = `${row?.subject_kind} ${row?.subject}`
      if (typeof subject === 'string') expect(found).toBe(subject)
      else expect(found).toMatch(subject)
      if (reason !== undefined) expect(row?.reason).toBe(reason)
      if (after) expect(JSON.parse(row?.after ?? '{}')).toMatchObject(after)
      expect(JSON.stringify(row)).not.toMatch(/secret|123456789|jane|please stop/)
    })
  }

  it('opt-outs of several numbers have a row each, so that the journal names all of them', async () => {
    const before = await readLatestSeq()
    const numbers = Array.from({ length: 150 }, (_, index) => String(2_127_360_000 + index))
    const json = { phoneList: numbers.join(','), actionType: 'add' }
    expect((await send({ path: `${rpc}/pdnc`, json })).status).toBe(200)
    const rows = await readRows(before)
    expect(rows.map(({ seq, subject }) => [seq, subject])).toEqual(
      numbers.map((one, index) => [before + 1 + index, one]),
    )
    for (const { action, subject_kind, after } of rows) {
      expect([action, subject_kind]).toEqual(['opt-out.added', 'number'])
      expect(JSON.parse(after ?? '{}')).toMatchObject({ list: 'main', numbers: 150, added: 150 })
    }
  })

  it('a decision that is read has a row, and one that is made has none', async () => {
    const before = await readLatestSeq()
    const made = await send({ path: '/v1/decisions', json: { number, callKind: 'manual' } })
    const { id } = JSON.parse(made.text)
    expect(await readRows(before)).toEqual([])
    expect((await send({ path: `/v1/decisions/${id}` })).status).toBe(200)
    expect(await readRows(before)).toMatchObject([
      { action: 'decision.read', subject: id, door: 'api /v1/decisions/:id' },
    ])
    // Nothing was shown.
    expect((await send({ path: '/v1/decisions/unknown' })).status).toBe(404)
    expect(await readRows(before)).toHaveLength(1)
  })

  it('what is refused, or changes nothing, has no row', async () => {
    const before = await readLatestSeq()
    const remove = { phoneList: '2125550199', actionType: 'remove' }
    expect((await send({ path: `${rpc}/pdnc`, json: remove })).status).toBe(200)
    expect((await send({ path: '/v1/opt-outs', json: { number: '12' } })).status).toBe(400)
    expect(
      (await send({ path: `${rpc}/pdnc`, json: { phoneList: number, actionType: 'status' } }))
        .status,
    ).toBe(200)
    expect(await readRows(before)).toEqual([])
  })

  it('a statement that is sent again has no second row', async () => {
    const report = { number, said: 'stop', source: 'transcript', ref: undefined }
    const { status, text } = await send({
      path: '/v1/decisions',
      json: { number, callKind: 'manual' },
    })
    expect(status).toBe(200)
    const decisionId = JSON.parse(text).id
    const before = await readLatestSeq()
    for (let time = 0; time < 2; time += 1) {
      await send({ path: '/v1/opt-outs', json: { ...report, number: undefined, decisionId } })
    }
    expect((await readRows(before)).map(({ action }) => action)).toEqual(['opt-out.added'])
  })

  it('an approval has a row for the verdict and for who read of it', async () => {
    const grant = { rights: ['decide'], calls: { approval: 'always' } } as const
    const asked = { accountId: 'sandbox', role: 'Agent', label: '', ...grant } as const
    const { key } = await running.callgate.keys.create(asked)
    await running.postJson('/v1/decisions', { number: '2125550100', callKind: 'manual' }, key)
    const person = await createPersonKey(running, 'ann', { accountId: 'sandbox' })
    const before = await readLatestSeq()
    const shown: unknown = await (await running.get('/v1/approvals')).json()
    const [{ id, subjectHash }] = (shown as { approvals: [{ id: string; subjectHash: string }] })
      .approvals
    const verdict = { verdict: 'approve', subjectHash, note: 'fine' }
    expect((await running.postJson(`/v1/approvals/${id}`, verdict, person.key)).status).toBe(200)
    expect(await readRows(before)).toMatchObject([
      { action: 'approvals.read', after: '{"rows":1}', account_id: 'sandbox' },
      { action: 'approval.approved', subject: id, reason: 'fine' },
    ])
  })
})

describe('at the command line and in the server', () => {
  const run = async (work: () => Promise<unknown>, expected: readonly object[]): Promise<void> => {
    const before = await readLatestSeq()
    await work()
    expect(await readRows(before)).toMatchObject(expected)
  }

  it('keys have rows without their hash', async () => {
    const { keys } = running.callgate
    let id = ''
    const create = async () => {
      id = (await keys.create({ accountId: 'main', role: 'Agent', label: 'x' })).id
    }
    await run(create, [{ action: 'key.created', who: 'system', door: 'server' }])
    const change = () => keys.change(id, { rights: ['decide'], by: 'ann' })
    await run(change, [{ action: 'key.changed', subject: id }])
    await run(() => keys.revoke(id), [{ action: 'key.revoked', subject: id }])
    await run(() => keys.revoke(id), [])
    const { db } = running.callgate.storage
    const hashes = await db.selectFrom('api_keys').select('key_hash').execute()
    const all = JSON.stringify(await db.selectFrom('audit').selectAll().execute())
    for (const { key_hash: hash } of hashes) expect(all).not.toContain(hash)
  })

  it('accounts, secrets of webhooks, campaigns and hours have rows', async () => {
    const { accounts, projects } = running.callgate
    const account = { id: 'acme', kind: 'real', name: 'Acme' } as const
    await run(() => accounts.ensure(account), [{ action: 'account.created', account_id: 'acme' }])
    await run(() => accounts.ensure(account), [])
    await run(
      () => accounts.set('acme', { mayScan: true }),
      [{ action: 'account.changed', after: '{"mayScan":true}' }],
    )
    const secret = () => accounts.webhookSecret('acme')
    await run(secret, [{ action: 'webhook-secret.created', after: null }])
    const rotate = () => accounts.rotateWebhookSecret('acme')
    await run(rotate, [{ action: 'webhook-secret.rotated', after: null }])
    const main = { accountId: 'acme', code: 'acme' }
    const campaign = { accountId: 'acme', projectCode: 'acme', name: 'Spring' }
    await run(() => projects.createCampaign(campaign), [{ action: 'campaign.created' }])
    const hours = { monFri: '09:00-17:00', sat: 'none', sun: 'none' }
    await run(() => projects.setHours(main, 'NY', hours), [{ action: 'project-hours.set' }])
    await run(() => projects.removeHours(main, 'NY'), [{ action: 'project-hours.removed' }])
  })

  it('pauses and the clock have rows', async () => {
    const { pauses } = running.callgate
    const order = { subject: 'ai', because: 'a test', pausedBy: 'ann' } as const
    await run(() => pauses.pause(order), [{ action: 'pause.ordered', reason: 'a test' }])
    await run(() => pauses.pause(order), [])
    await run(() => pauses.resume('ai'), [{ action: 'pause.ended' }])
    await run(() => running.setBack(mondayNoon), [{ action: 'clock.accepted' }])
  })
})

it('rows of opt-outs that are stored at once are complete, whoever reads when', async () => {
  const seen: number[] = []
  let isDone = false
  const read = async () => {
    let last = await readLatestSeq()
    while (!isDone || last < (await readLatestSeq())) {
      await nextTurn()
      for (const { seq } of await readRows(last)) {
        seen.push(seq)
        last = seq
      }
    }
  }
  const before = await readLatestSeq()
  const reading = read()
  const { keys } = running.callgate
  await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      // These take the lock of the sequence of changes after theirs, and those before.
      if (index % 4 === 0) await keys.create({ accountId: 'main', role: 'Agent', label: '' })
      else {
        const phoneList = String(2125551000 + index)
        await send({ path: `${rpc}/pdnc`, json: { phoneList, actionType: 'add' } })
      }
    }),
  )
  isDone = true
  await reading
  expect(seen).toEqual(Array.from({ length: 40 }, (_, index) => before + 1 + index))
})
