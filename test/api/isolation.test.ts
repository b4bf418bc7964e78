/**
 * Two real accounts over one database. Every endpoint there is asked for what is the first one's
 * with the key of the second, then with the owner's own: which shows that the request named
 * something real, and that the stranger's changed nothing.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DecisionStore } from '../../src/gate/journal/projection/decision-store.js'
import { JournalProjection } from '../../src/gate/journal/projection/journal-projection.js'
import { findSigningKey } from '../../src/gate/journal/tree/tree-head.js'
import { ChangeRequests } from '../../src/service/changes/change-requests.js'
import { mondayNoon, type TestCallgate } from '../support/test-callgate.js'
import { isPostgres } from '../support/test-engine.js'
import {
  type Answer,
  type Ask,
  openTwoAccounts,
  type TwoAccounts,
} from '../support/two-accounts.js'
import { endpoints, isRefusalIn } from '../support/walk-endpoints.js'

let accounts: TwoAccounts
let running: TestCallgate
let owner: string
let stranger: string

/** On the owner's internal list, with a permission record, and monitored. */
const listed = '2127365001'
const consented = '2127365002'
const monitored = '2127365003'
/** There is a decision about it. */
const called = '2127365008'
const calledToo = '2127365010'
/** Nothing is known of it. */
const reported = '2127365011'
const project = 'MINE'

/** What the owner has; the ids are filled in before the first test. */
const mine = {
  campaign: 0,
  entity: 0,
  scan: '',
  decision: '',
  call: '',
  otherCall: '',
  warming: '',
  approval: '',
  bundle: '',
  change: '',
  permit: '',
  value: '',
  key: '',
}

const send = (key: string | undefined, asked: Ask): Promise<Answer> => accounts.send(key, asked)

const webhook = 'http://127.0.0.1:9/nobody'

beforeAll(async () => {
  accounts = await openTwoAccounts()
  running = accounts.running
  owner = accounts.owner
  stranger = accounts.stranger
  await ownThings()
  // A search finds what is in the index, and over PostgreSQL what was copied.
  await running.callgate.journal.drain()
  if (isPostgres()) await copyDecisions()
  await running.callgate.storage.db
    .insertInto('flag_removals')
    .values({ account_id: 'main', number: monitored, source: 'CarrierA', removed_at: mondayNoon })
    .execute()
  await running.callgate.storage.db
    .insertInto('unclear_opt_outs')
    .values({
      ...{ account_id: 'main', id: 'unclear-1', platform: 'retell', kind: 'summary' },
      ...{ call: 'c-0', event_id: 'e-0', heard_at: mondayNoon },
    })
    .execute()
})

afterAll(async () => {
  await running.end()
})

/** As the thread of a server does. */
async function copyDecisions(): Promise<void> {
  const { journal, settings, storage } = running.callgate
  const journalSettings = {
    folder: join(running.dataDir, 'journal'),
    keyPath: findSigningKey(running.dataDir, settings.journal.signingKeyFile),
  }
  const store = new DecisionStore(storage.db)
  const projection = new JournalProjection(journalSettings, async () => store)
  await projection.handle({ lastSeq: journal.durableSeq, notStoredSeq: undefined })
}

async function owned<Body>(asked: Ask): Promise<Body> {
  const answer = await send(owner, asked)
  expect(`${asked.path} ${answer.status} ${answer.text}`).toMatch(/^\S+ 20[012] /)
  return (answer.text === '' ? {} : answer.json()) as Body
}

async function ownThings(): Promise<void> {
  for (const ProjectCode of [project, 'SAVED', 'SHOWN']) {
    await owned({ path: '/v1.5/projects', json: { ProjectCode, ProjectName: 'Mine alone' } })
  }
  const { projects } = running.callgate
  mine.campaign = await projects.createCampaign({
    accountId: 'main',
    projectCode: project,
    name: 'Mine',
  })
  const callerIds = [{ number: '2127365009', projectId: 'SHOWN', owner: 'Mine', proof: 'invoice' }]
  await owned({ path: '/v1/caller-ids', json: { callerIds } })
  await owned({ path: '/app/main/rpc/pdnc', query: { phoneList: listed, actionType: 'add' } })
  const ebrList = [{ phoneNumber: consented, type: 'P', dateOfLastContact: '11/20/2026' }]
  await owned({ path: '/app/main/rpc/ebr', json: { ebrList } })
  await owned({ path: '/v1.4/reputation/add', json: [{ Phone: monitored, Label: 'Mine alone' }] })
  const entity = { LegalName: 'Mine alone', EIN: '123456789', CountryCode: 'US' }
  const made = await owned<{ LegalEntityId: number }>({
    path: '/v1.5/legalentity/Create',
    json: entity,
  })
  mine.entity = made.LegalEntityId
  const scan = await owned<{ JobId: string }>({ path: '/v1.5/Reputation/OneTimeScan', json: aScan })
  mine.scan = scan.JobId
  const call = { number: consented, callKind: 'ai' }
  mine.decision = (await owned<{ id: string }>({ path: '/v1/decisions', json: call })).id
  const asking = { rights: ['decide'], calls: { approval: 'always' } } as const
  const { id: asker, key } = await running.callgate.keys.create({
    accountId: 'main',
    role: 'Agent',
    label: 'mine alone',
    ...asking,
  })
  mine.key = asker
  const paused = { subject: 'agents:main', reason: 'mine alone' }
  await owned({ path: '/v1/pauses', json: paused })
  const waiting = (await send(key, { path: '/v1/decisions', json: call })).json()
  expect(waiting).toMatchObject({ decision: 'block', reason: 'approval-needed' })
  mine.approval = (waiting as { mandate: { approval: { id: string } } }).mandate.approval.id
  const evidence = { number: consented, reason: 'mine alone' }
  mine.bundle = (await owned<{ id: string }>({ path: '/v1/evidence', json: evidence })).id
  mine.change = await ownChange(asker)
  const other = { number: called, callKind: 'manual' }
  mine.call = (await owned<{ id: string }>({ path: '/v1/decisions', json: other })).id
  const third = { number: calledToo, callKind: 'manual' }
  mine.otherCall = (await owned<{ id: string }>({ path: '/v1/decisions', json: third })).id
  const asked = await owned<{ permit: { id: string; value: string } }>({
    path: '/v1/permits',
    json: { ...call, callerId: monitored },
  })
  mine.permit = asked.permit.id
  mine.value = asked.permit.value
  mine.warming = (
    await owned<{ id: string }>({ path: '/v1/warm', json: { numbers: [consented] } })
  ).id
}

/** The id of a change that a key has asked for. */
async function ownChange(keyId: string): Promise<string> {
  const { storage, runtime } = running.callgate
  const settings = { for: ['erase'], endsAfterHours: 1 } as const
  const requests = new ChangeRequests({ storage, clock: runtime.clock, settings })
  const change = { kind: 'erase', what: 'mine alone', request: { number: consented } } as const
  const asked = await requests.require({ accountId: 'main', keyId }, change).catch(String)
  return /\bch-[0-9a-f]{20}\b/.exec(String(asked))?.[0] ?? ''
}

const aScan = {
  PhoneNumbers: [consented],
  NotificationURL: webhook,
  ScanType: 'carrier',
}

interface Try {
  /** Told apart where an endpoint is tried in several ways. */
  readonly about?: string
  readonly ask: (key: string) => Ask
  readonly theirs: (answer: Answer) => void | Promise<void>
  readonly mine: (answer: Answer) => void | Promise<void>
}

const status =
  (wanted: number) =>
  (answer: Answer): void => {
    expect(`${answer.status} ${answer.text}`).toMatch(new RegExp(`^${wanted} `))
  }

const holding =
  (text: string | RegExp) =>
  (answer: Answer): void => {
    status(200)(answer)
    expect(answer.text).toMatch(text)
  }

const lacking =
  (text: string | RegExp) =>
  (answer: Answer): void => {
    status(200)(answer)
    expect(answer.text).not.toMatch(text)
  }

/** Refused as if there were no such project, by name. */
const unknownProject = (answer: Answer) => {
  status(400)(answer)
  expect(answer.text || answer.statusText).toContain(project)
}

/** The same answer for everybody: it rests on nothing an account has. */
const forEverybody = (ask: Ask): Try => ({
  ask: () => ask,
  theirs: status(200),
  mine: status(200),
})

/** A call that takes a project, with the owner's. */
const scoped = (ask: Ask): Try => ({
  about: 'project',
  ask: () => ask,
  theirs: unknownProject,
  mine: status(200),
})

/** An opt-out is taken with a project of nobody, too, and the answer is the same then. */
function takenWithout(about: string, field: 'projectId' | 'campaignId', value: () => string): Try {
  const number = { projectId: '2127365012', campaignId: '2127365013' }[field]
  const ask = (of: string) => ({ path: '/v1/opt-outs', json: { number, [field]: of } })
  return {
    about,
    ask: () => ask(value()),
    theirs: async (answer) => {
      holding(`"ignored":[{"field":"${field}","value":"${value()}","rule":`)(answer)
      const nobodys = await send(stranger, ask('99999'))
      expect(nobodys.text).toBe(answer.text.replace(`"${value()}"`, '"99999"'))
      await expectNotListed(number)
    },
    mine: holding(/^(?!.*"ignored").*"recorded":true/),
  }
}

/** Neither in the Master Project of the owner nor in the project. */
async function expectNotListed(...numbers: readonly string[]): Promise<void> {
  for (const more of [{}, { projId: project }]) {
    const query = { phoneList: numbers.join(','), actionType: 'status', ...more }
    const { text } = await send(owner, { path: `${rpc}/pdnc`, query })
    expect(text.trim()).toBe(numbers.map((number) => `${number},,`).join('\n'))
  }
}

const rpc = '/app/main/rpc'
const hours = '/v1.5/GeoScrub'
const rndItem = { phoneNumber: consented, date: '2026-01-31' }

/** Only servers over PostgreSQL have edges; `edge.test.ts` tries that they get nothing of another account. */
const ofEdges = (path: string, query: Readonly<Record<string, string>> = {}): Try => ({
  ask: () => ({ path, query }),
  theirs: status(404),
  mine: status(404),
})

const tries: Readonly<Record<string, Try | readonly Try[]>> = {
  'edge-account': ofEdges('/v1/edge/account'),
  'edge-records': ofEdges('/v1/edge/records', { table: 'internal_dnc' }),
  // Over SQLite there is no such path. Of both accounts nothing was sent.
  'edge-decisions': {
    ask: () => ({
      path: '/v1/edge/decisions',
      json: { origin: '0'.repeat(64), firstSeq: 1, records: [] },
    }),
    theirs: isPostgres() ? holding('"decisions":0') : status(404),
    mine: isPostgres() ? holding('"decisions":0') : status(404),
  },
  'edge-attempts': {
    ask: () => ({
      path: '/v1/edge/attempts',
      json: { of: { action: 'release', decisionId: 'unknown' } },
    }),
    theirs: isPostgres() ? holding('"isCounted":false') : status(404),
    mine: isPostgres() ? holding('"isCounted":false') : status(404),
  },
  'edge-changes': ofEdges('/v1/edge/changes', { waitMs: '0' }),
  permit: {
    ask: () => ({
      path: '/v1/permits',
      json: { number: consented, callKind: 'ai', callerId: monitored },
    }),
    theirs: lacking('"permit":'),
    mine: holding('"permit":'),
  },
  'permit-read': {
    ask: () => ({ path: `/v1/permits/${mine.permit}` }),
    theirs: status(404),
    mine: holding('"state":"issued"'),
  },
  'permit-use': {
    ask: () => ({
      path: '/v1/permits/use',
      json: { value: mine.value, number: consented, callerId: monitored },
    }),
    theirs: status(404),
    mine: holding('"state":"used"'),
  },
  // By now it is used.
  'permit-use-by-id': {
    ask: () => ({
      path: `/v1/permits/${mine.permit}/use`,
      json: { number: consented, callerId: monitored },
    }),
    theirs: status(404),
    mine: status(409),
  },
  'permit-release': {
    ask: () => ({ path: `/v1/permits/${mine.permit}/release`, json: {} }),
    theirs: status(404),
    mine: status(409),
  },
  // What another account says of the call of this one changes nothing of it.
  'platform-calls': {
    ask: () => ({
      path: '/v1/platform-calls',
      json: {
        platform: 'retell',
        calls: [{ decisionId: mine.decision, number: called, callIds: ['c-1'] }],
      },
    }),
    theirs: async (answer) => {
      status(200)(answer)
      const rows = running.callgate.storage.db.selectFrom('platform_calls').select('account_id')
      expect(await rows.where('id', '=', mine.decision).execute()).toEqual([
        { account_id: 'other' },
      ])
    },
    mine: status(200),
  },
  'platform-calls-due': {
    ask: () => ({ path: '/v1/platform-calls', query: { platform: 'vapi', due: 'fetch' } }),
    theirs: holding('{"calls":[]}'),
    mine: holding('{"calls":[]}'),
  },
  'platform-event': {
    ask: () => ({
      path: '/v1/platform-events',
      json: {
        platform: 'retell',
        receivedAt: new Date(mondayNoon).toISOString(),
        body: JSON.stringify({
          event: 'transcript_updated',
          call: { call_id: 'c-9', metadata: { callgate_decision: mine.decision } },
        }),
      },
    }),
    theirs: async (answer) => {
      status(200)(answer)
      const rows = running.callgate.storage.db.selectFrom('platform_events').select('account_id')
      expect(await rows.execute()).toEqual([{ account_id: 'other' }])
      const decision = await send(owner, { path: `/v1/decisions/${mine.decision}` })
      lacking('"outcome"')(decision)
    },
    mine: status(200),
  },
  'platform-report': {
    ask: () => ({ path: '/v1/platform-reports', json: { platform: 'bland', canFetch: true } }),
    theirs: status(200),
    mine: status(200),
  },
  'unclear-opt-outs': {
    ask: () => ({ path: '/v1/unclear-opt-outs' }),
    theirs: lacking('"id":"unclear-1"'),
    mine: holding('"id":"unclear-1"'),
  },
  'unclear-opt-out': {
    ask: () => ({ path: '/v1/unclear-opt-outs/unclear-1', json: { action: 'dismiss' } }),
    theirs: status(404),
    mine: status(200),
  },
  token: {
    ask: (key) => ({
      path: '/oauth/token',
      form: { grant_type: 'client_credentials', client_id: 'main', client_secret: key },
    }),
    theirs: status(401),
    mine: holding('access_token'),
  },
  'auth-validate': [
    {
      ...scoped({ path: '/v1.5/Auth/Validate', query: { projId: project } }),
      mine: holding('main'),
    },
    {
      about: 'campaign',
      ask: () => ({
        path: '/v1.5/Auth/Validate',
        query: { campaignId: String(mine.campaign) },
      }),
      theirs: status(400),
      mine: status(200),
    },
    {
      about: 'account',
      ask: () => ({ path: '/v1.5/Auth/Validate' }),
      theirs: holding('"AcctId":"other"'),
      mine: holding('"AcctId":"main"'),
    },
  ],
  'time-legal': {
    ask: () => ({
      path: `${hours}/IsTimeLegalToCall`,
      json: { IsTimeLegalToCall: [{ PhoneNumber: consented, DNCProjId: project }] },
    }),
    theirs: holding('INVALID_PROJECT'),
    mine: holding('"Status":"OK"'),
  },
  'legal-call-times': {
    ask: () => ({
      path: `${hours}/LegalCallTimesForDate`,
      json: { LegalCallTimesForDate: [{ PhoneNumber: consented, DNCProjId: project }] },
    }),
    theirs: holding('INVALID_PROJECT'),
    mine: holding('"Status":"OK"'),
  },
  'time-zone-info': forEverybody({
    path: `${hours}/GetTimeZoneInfo`,
    json: { PhoneList: [consented] },
  }),
  'scrub-get': [
    scoped({ path: `${rpc}/scrub`, query: { phoneList: consented, projId: project } }),
    {
      about: 'campaign',
      ask: () => ({
        path: `${rpc}/scrub`,
        query: { phoneList: consented, campaignId: String(mine.campaign) },
      }),
      theirs: status(400),
      mine: status(200),
    },
    {
      about: 'internal list and consent',
      ask: () => ({
        path: `${rpc}/scrub`,
        query: { phoneList: `${listed},${consented}`, version: '8', output: 'json' },
      }),
      theirs: (answer) => expectLetters(answer, ['W', 'W']),
      mine: (answer) => expectLetters(answer, ['P', 'GP']),
    },
  ],
  'scrub-post': [
    scoped({ path: `${rpc}/scrub`, json: { phoneList: consented, projId: project } }),
    {
      ...scoped({
        path: `${rpc}/scrub`,
        json: {
          phoneList: '2127365009',
          projId: project,
          ebrList: [{ phoneNumber: '2127365009', type: 'S', dateOfLastContact: '11/20/2026' }],
        },
      }),
      about: 'project, with records',
    },
  ],
  'pdnc-get': [
    scoped({
      path: `${rpc}/pdnc`,
      query: { phoneList: '2127365008', actionType: 'add', projId: project },
    }),
    {
      about: 'status',
      ask: () => ({ path: `${rpc}/pdnc`, query: { phoneList: listed, actionType: 'status' } }),
      theirs: holding(`${listed},,`),
      mine: holding(`${listed},2026-`),
    },
    {
      about: 'count',
      ask: () => ({ path: `${rpc}/pdnc`, query: { actionType: 'count' } }),
      theirs: holding(/^0,$/),
      mine: holding(/^1,/),
    },
  ],
  'pdnc-post': [
    scoped({
      path: `${rpc}/pdnc`,
      form: { phoneList: listed, actionType: 'remove', projId: project },
    }),
    {
      about: 'remove',
      ask: () => ({ path: `${rpc}/pdnc`, form: { phoneList: listed, actionType: 'remove' } }),
      theirs: async (answer) => {
        status(200)(answer)
        const query = { phoneList: listed, actionType: 'status' }
        holding(`${listed},2026-`)(await send(owner, { path: `${rpc}/pdnc`, query }))
      },
      mine: status(200),
    },
  ],
  ebr: scoped({
    path: `${rpc}/ebr`,
    json: {
      ebrList: [{ phoneNumber: '2127365007', type: 'S', dateOfLastContact: '11/20/2026' }],
      projId: project,
    },
  }),
  'ebr-get': [
    scoped({ path: `${rpc}/ebr`, query: { phoneList: consented, projId: project } }),
    {
      ask: () => ({ path: `${rpc}/ebr`, query: { phoneList: consented } }),
      theirs: lacking(consented),
      mine: holding(consented),
    },
  ],
  'ebr-remove': [
    scoped({ path: `${rpc}/ebr/remove`, form: { phoneList: consented, projId: project } }),
    {
      ask: () => ({ path: `${rpc}/ebr/remove`, form: { phoneList: consented } }),
      theirs: holding('{"removed":0}'),
      mine: holding('{"removed":1}'),
    },
  ],
  consent: scoped({
    path: '/v1/consents',
    json: {
      ...{ number: '2127365007', givenAt: '2026-11-20T15:00:00Z', seller: 'Acme' },
      ...{ channel: 'web', method: 'written', wording: 'I agree', projectId: project },
    },
  }),
  consents: [
    scoped({ path: '/v1/consents', query: { number: consented, projectId: project } }),
    {
      ask: () => ({ path: '/v1/consents', query: { number: consented } }),
      theirs: lacking('dateOfLastContact'),
      mine: holding('dateOfLastContact'),
    },
  ],
  number: [
    scoped({ path: `/v1/numbers/${consented}`, query: { projectId: project } }),
    {
      ask: () => ({ path: `/v1/numbers/${consented}` }),
      theirs: lacking('dateOfLastContact'),
      mine: holding('dateOfLastContact'),
    },
    {
      about: 'on the list',
      ask: () => ({ path: `/v1/numbers/${listed}` }),
      theirs: lacking('"optedOutBy"'),
      mine: holding('"optedOutBy"'),
    },
  ],
  'litigator-get': scoped({
    path: '/v1.5/Scrub/litigator',
    query: { phoneList: consented, projId: project },
  }),
  'litigator-post': scoped({
    path: '/v1.5/Scrub/litigator',
    json: { PhoneList: consented, ProjId: project },
  }),
  'id-premium': forEverybody({ path: '/v1.4/Data/IDPremium', query: { phone: consented } }),
  'real-time-disconnect': forEverybody({
    path: '/v1.4/Data/RealTimeDisconnect',
    query: { phoneNumber: consented },
  }),
  'res-or-business': forEverybody({
    path: '/v1.4/Data/ResOrBusiness',
    query: { phone: consented },
  }),
  verification: forEverybody({ path: '/v1.4/Data/Verification', query: { phone: consented } }),
  'ftp-upload-complete': forEverybody({ path: `${rpc}/ftpUploadComplete?upload=0` }),
  'enhanced-rnd-get': scoped({
    path: '/v1.5/Data/EnhancedRND',
    query: { ...rndItem, projId: project },
  }),
  'enhanced-rnd-post': scoped({
    path: '/v1.5/Data/EnhancedRND',
    json: { Data: [rndItem], ProjId: project },
  }),
  'rnd-basic-get': scoped({ path: '/v1.5/Data/RNDBasic', query: { ...rndItem, projId: project } }),
  'rnd-basic-post': scoped({
    path: '/v1.5/Data/RNDBasic',
    json: { Data: [rndItem], ProjId: project },
  }),
  'project-get': {
    ask: () => ({ path: `/v1.5/projects/${project}` }),
    theirs: status(404),
    mine: holding('Mine alone'),
  },
  'project-save': {
    // A code is free where another account has it; what is saved is the stranger's own.
    ask: () => ({
      path: '/v1.5/projects',
      json: { ProjectCode: 'SAVED', Notes: 'n', ProjectName: 'S' },
    }),
    theirs: async (answer) => {
      status(201)(answer)
      expect(answer.json()).toMatchObject({ AcctId: 'other', ProjectName: 'S' })
      holding('Mine alone')(await send(owner, { path: '/v1.5/projects/SAVED' }))
    },
    mine: (answer) => {
      status(200)(answer)
      expect(answer.json()).toMatchObject({ AcctId: 'main', ProjectCode: 'SAVED' })
    },
  },
  'project-update': {
    ask: () => ({
      method: 'PUT',
      path: `/v1.5/projects/${project}`,
      json: { Notes: 'taken over' },
    }),
    theirs: status(404),
    mine: status(200),
  },
  'rpc-project': [
    {
      about: 'change',
      ask: () => ({ path: `${rpc}/project`, form: { projId: project, notes: 'taken over' } }),
      theirs: status(400),
      mine: status(200),
    },
    {
      about: 'list',
      ask: () => ({ path: `${rpc}/project`, form: { output: 'xml' } }),
      theirs: lacking('Mine alone'),
      mine: holding('Mine alone'),
    },
  ],
  'rpc-project-get': {
    ask: () => ({ path: `${rpc}/project`, query: { projId: project, notes: 'taken over' } }),
    theirs: status(400),
    mine: status(200),
  },
  'legal-entities': {
    ask: () => ({ path: '/v1.5/Reputation/GetAllLegalEntities' }),
    theirs: holding(/^\[\]$/),
    mine: holding('Mine alone'),
  },
  'legal-entity-create': {
    ask: () => ({
      path: '/v1.5/legalentity/Create',
      json: { LegalName: 'Another', EIN: '987654321', CountryCode: 'US' },
    }),
    theirs: (answer) => expect(answer.json()).toMatchObject({ AcctId: 'other' }),
    mine: (answer) => expect(answer.json()).toMatchObject({ AcctId: 'main' }),
  },
  'legal-entity-update': {
    ask: () => ({
      method: 'PUT',
      path: '/v1.5/legalentity/Update',
      json: { LegalEntityId: mine.entity, City: 'Taken' },
    }),
    theirs: (answer) => expect([400, 403, 404]).toContain(answer.status),
    mine: status(200),
  },
  'reputation-add': {
    ask: () => ({
      path: '/v1.4/reputation/add',
      json: [{ Phone: '2127365006', LegalEntityId: mine.entity }],
    }),
    theirs: (answer) => expect([400, 403, 404]).toContain(answer.status),
    mine: holding('Phone number added to monitor'),
  },
  'reputation-get': {
    ask: () => ({ path: '/v1.4/reputation/get', query: { phoneList: monitored } }),
    theirs: lacking('Score'),
    mine: holding('CurrScore'),
  },
  'reputation-get-post': {
    ask: () => ({ path: '/v1.4/reputation/get', json: [monitored] }),
    theirs: lacking('Score'),
    mine: holding('CurrScore'),
  },
  'reputation-get-all': {
    ask: () => ({ path: '/v1.5/Reputation/GetAll' }),
    theirs: (answer) => {
      holding(/^\[\]$/)(answer)
      expect(answer.headers.get('x-total-count')).toBe('0')
    },
    mine: holding(monitored),
  },
  'reputation-remove': {
    ask: () => ({ path: '/v1.4/reputation/remove', json: [monitored] }),
    theirs: lacking('removed from monitor'),
    mine: holding('removed from monitor'),
  },
  'flags-removed-summary': {
    ask: () => ({ path: '/v1.5/Reputation/FlagsRemovedSummary' }),
    theirs: holding('"Total":0'),
    mine: holding('"Total":1'),
  },
  'scan-submit': {
    // Whoever submits a job is the one who may read it.
    ask: () => ({ path: '/v1.5/Reputation/OneTimeScan', json: aScan }),
    theirs: async (answer) => {
      const { JobId: jobId } = answer.json() as { JobId: string }
      const asked = { path: '/v1.5/Reputation/OneTimeScan', query: { jobId } }
      status(403)(await send(owner, asked))
      status(200)(await send(stranger, asked))
    },
    mine: status(200),
  },
  'scan-status': {
    ask: () => ({ path: '/v1.5/Reputation/OneTimeScan', query: { jobId: mine.scan } }),
    theirs: (answer) => {
      status(403)(answer)
      expect(answer.text).not.toContain('Results')
    },
    mine: status(200),
  },
  decide: [
    {
      about: 'project',
      ask: () => ({
        path: '/v1/decisions',
        json: { number: '2127365005', callKind: 'manual', projectId: project },
      }),
      theirs: holding('unknown-project'),
      mine: holding('"decision":"allow"'),
    },
    {
      about: 'campaign',
      ask: () => ({
        path: '/v1/decisions',
        json: { number: '2127365005', callKind: 'manual', campaignId: mine.campaign },
      }),
      theirs: holding('unknown-project'),
      mine: holding('"decision":"allow"'),
    },
  ],
  preview: {
    ask: () => ({
      path: '/v1/decisions/preview',
      json: { numbers: ['2127365005'], callKind: 'manual', projectId: project },
    }),
    theirs: holding('unknown-project'),
    mine: holding('"allowed":1'),
  },
  'predial-get': {
    ask: () => ({
      path: '/v1/predial',
      query: { number: '2127365005', kind: 'manual', project },
    }),
    theirs: holding(/^block:unknown-project:/),
    mine: holding(/^allow:2127365005:/),
  },
  'predial-post': {
    ask: () => ({ path: '/v1/predial', form: { number: '2127365005', kind: 'manual', project } }),
    theirs: holding(/^block:unknown-project:/),
    mine: holding(/^allow:2127365005:/),
  },
  decisions: {
    ask: () => ({ path: '/v1/decisions', query: { from: '2000-01-01' } }),
    theirs: lacking(`"accountId":"main"`),
    mine: holding(`"accountId":"main"`),
  },
  'decisions-stream': {
    ask: () => ({
      path: '/v1/decisions/stream',
      query: { after: '0'.repeat(29), decision: 'allow', seconds: '1' },
    }),
    theirs: lacking('event:'),
    mine: holding(`"number":"${consented}"`),
  },
  live: {
    ask: () => ({ path: '/v1/live' }),
    theirs: status(403),
    mine: holding('"steps"'),
  },
  decision: {
    ask: () => ({ path: `/v1/decisions/${mine.decision}` }),
    theirs: status(404),
    mine: holding('"id"'),
  },
  'decision-proof': {
    ask: () => ({ path: `/v1/decisions/${mine.decision}/proof` }),
    // The index may be behind, which is said to everybody, or the record not signed yet.
    theirs: (answer) => {
      expect([404, 503]).toContain(answer.status)
      expect(answer.text).not.toContain(consented)
    },
    mine: (answer) => expect([200, 503]).toContain(answer.status),
  },
  journal: {
    ask: () => ({ path: '/v1/journal' }),
    theirs: holding('"checkpoint":"callgate/journal/'),
    mine: holding('"checkpoint":"callgate/journal/'),
  },
  outcome: {
    ask: () => ({ path: `/v1/decisions/${mine.call}/outcome`, json: { state: 'answered' } }),
    theirs: async (answer) => {
      status(404)(answer)
      const path = `/v1/decisions/${mine.call}`
      lacking('"outcome"')(await send(owner, { path }))
    },
    mine: holding('recorded'),
  },
  // Each account has its own of the same ref.
  attempts: {
    ask: (key) => {
      const at = key === stranger ? '2026-11-23T15:00:00Z' : '2026-11-23T16:00:00Z'
      return {
        path: '/v1/attempts',
        json: { attempts: [{ number: called, at, ref: 'one', channel: 'call' }] },
      }
    },
    theirs: holding('recorded'),
    mine: holding('recorded'),
  },
  'attempts-get': [
    scoped({ path: '/v1/attempts', query: { number: called, projectId: project } }),
    {
      ask: () => ({ path: '/v1/attempts', query: { number: called } }),
      theirs: lacking('"at":"2026-11-23T16:00:00Z"'),
      mine: holding('"at":"2026-11-23T16:00:00Z"'),
    },
  ],
  'opt-out': [
    {
      about: 'decision, with a number',
      ask: () => ({ path: '/v1/opt-outs', json: { decisionId: mine.otherCall, number: reported } }),
      theirs: async (answer) => {
        holding('this account has no such decision')(answer)
        await expectNotListed(calledToo, reported)
      },
      mine: holding(/^(?!.*no such decision).*"recorded":true/),
    },
    {
      about: 'decision',
      ask: () => ({ path: '/v1/opt-outs', json: { decisionId: mine.call } }),
      theirs: async (answer) => {
        status(404)(answer)
        const query = { phoneList: called, actionType: 'status' }
        const listing = await send(owner, { path: '/app/main/rpc/pdnc', query })
        holding(/^\d{10},,$/)(listing)
      },
      mine: holding('recorded'),
    },
    takenWithout('project', 'projectId', () => project),
    takenWithout('campaign', 'campaignId', () => String(mine.campaign)),
  ],
  'list-file': {
    ask: () => ({ path: `/v1/list-files/${'0'.repeat(64)}` }),
    theirs: status(404),
    mine: status(404),
  },
  lists: {
    ask: () => ({ path: '/v1/lists' }),
    // It may use those of main, and sees no more of them than their age.
    theirs: lacking('"versions":['),
    mine: holding('"versions":['),
  },
  'list-rollback': {
    ask: () => ({ path: '/v1/lists/us-dnc/rollback', json: { reason: 'a test' } }),
    theirs: status(403),
    mine: status(409),
  },
  status: { ask: () => ({ path: '/v1/status' }), theirs: status(403), mine: status(200) },
  projects: {
    ask: () => ({ path: '/v1/projects' }),
    theirs: lacking('"code":"MINE"'),
    mine: holding('"code":"MINE"'),
  },
  'project-hours': {
    ask: () => ({
      path: `/v1/projects/${project}/hours`,
      json: { region: 'FL', monFri: '09:00-20:00', sat: 'none', sun: 'none' },
    }),
    theirs: status(400),
    mine: holding('"done":true'),
  },
  rules: {
    // What is entered for calls of one account is in test/api/rules.test.ts.
    ask: () => ({ path: '/v1/rules', query: { region: 'FL' } }),
    theirs: holding('"name":"Florida"'),
    mine: holding('"name":"Florida"'),
  },
  'caller-ids': {
    ask: () => ({ path: '/v1/caller-ids' }),
    theirs: holding('{"callerIds":[]}'),
    mine: holding('"number":"2127365009"'),
  },
  'caller-id-add': {
    // A project of the other account is none of the own.
    ask: () => ({
      path: '/v1/caller-ids',
      json: {
        callerIds: [{ number: '2127365009', projectId: 'SHOWN', owner: 'Mine', proof: 'invoice' }],
      },
    }),
    theirs: status(400),
    mine: holding('"added":1'),
  },
  'caller-id-end': {
    ask: () => ({ path: '/v1/caller-ids/end', json: { number: '2127365009', projectId: 'SHOWN' } }),
    theirs: status(404),
    mine: holding('"ended":true'),
  },
  keys: {
    ask: () => ({ path: '/v1/keys' }),
    theirs: lacking('mine alone'),
    mine: holding('"label":"mine alone"'),
  },
  'key-create': {
    // A label is that of one key of an account.
    ask: () => ({ path: '/v1/keys', json: { label: 'mine alone', role: 'Agent' } }),
    theirs: status(200),
    mine: status(409),
  },
  'key-change': {
    ask: () => ({ path: `/v1/keys/${mine.key}`, json: { rights: ['look-up'] } }),
    theirs: status(404),
    mine: holding('"version":2'),
  },
  'key-revoke': {
    ask: () => ({ path: `/v1/keys/${mine.key}/revoke`, json: {} }),
    theirs: status(404),
    mine: holding('"revoked":true'),
  },
  pauses: {
    ask: () => ({ path: '/v1/pauses' }),
    theirs: holding('{"pauses":[]}'),
    mine: holding('"subject":"agents:main"'),
  },
  pause: {
    ask: () => ({ path: '/v1/pauses', json: { subject: 'agents:main', reason: 'theirs' } }),
    theirs: status(400),
    mine: status(409),
  },
  'pause-end': {
    ask: () => ({ path: '/v1/pauses/end', json: { subject: 'agents:main' } }),
    theirs: status(400),
    mine: holding('"ended":true'),
  },
  audit: {
    ask: () => ({ path: '/v1/audit', query: { subject: listed } }),
    theirs: lacking('"action":"opt-out.added"'),
    mine: holding('"action":"opt-out.added"'),
  },
  approvals: {
    ask: () => ({ path: '/v1/approvals' }),
    theirs: holding('{"approvals":[]}'),
    mine: holding('"state":"waiting"'),
  },
  'approval-verdict': {
    ask: () => ({
      path: `/v1/approvals/${mine.approval}`,
      json: { verdict: 'refuse', subjectHash: '0'.repeat(64) },
    }),
    theirs: status(404),
    mine: status(409),
  },
  'evidence-ask': {
    // A bundle is seen by the account that asked for it alone; test/service/evidence-bundles.test.ts looks into them.
    ask: () => ({ path: '/v1/evidence', json: { number: consented, reason: 'a claim' } }),
    theirs: async (answer) => {
      const { id } = answer.json() as { id: string }
      status(404)(await send(owner, { path: `/v1/evidence/${id}` }))
      status(200)(await send(stranger, { path: `/v1/evidence/${id}` }))
    },
    mine: status(202),
  },
  'evidence-bundles': {
    ask: () => ({ path: '/v1/evidence' }),
    theirs: lacking('mine alone'),
    mine: holding('mine alone'),
  },
  'evidence-bundle': {
    ask: () => ({ path: `/v1/evidence/${mine.bundle}` }),
    theirs: status(404),
    mine: holding('mine alone'),
  },
  'evidence-file': {
    ask: () => ({ path: `/v1/evidence/${mine.bundle}/file` }),
    theirs: status(404),
    // It may wait, or have failed, since nothing is signed yet.
    mine: (answer) => expect([200, 409]).toContain(answer.status),
  },
  'evidence-delete': {
    ask: () => ({ path: `/v1/evidence/${mine.bundle}/delete`, json: { reason: 'a test' } }),
    theirs: status(404),
    mine: holding('"deleted":true'),
  },
  changes: {
    ask: () => ({ path: '/v1/changes' }),
    theirs: holding('{"changes":[]}'),
    mine: holding('"what":"mine alone"'),
  },
  change: {
    ask: () => ({ path: `/v1/changes/${mine.change}` }),
    theirs: status(404),
    mine: holding(consented),
  },
  'change-approve': {
    ask: () => ({
      path: `/v1/changes/${mine.change}/approve`,
      json: { requestHash: '0'.repeat(64) },
    }),
    theirs: status(404),
    mine: status(409),
  },
  'change-refuse': {
    ask: () => ({
      path: `/v1/changes/${mine.change}/refuse`,
      json: { requestHash: '0'.repeat(64) },
    }),
    theirs: status(404),
    mine: status(409),
  },
  'warm-start': {
    // A job is seen by the account that started it alone.
    ask: () => ({ path: '/v1/warm', json: { numbers: [consented] } }),
    theirs: async (answer) => {
      const { id } = answer.json() as { id: string }
      status(404)(await send(owner, { path: `/v1/warm/${id}` }))
      status(200)(await send(stranger, { path: `/v1/warm/${id}` }))
    },
    mine: status(202),
  },
  'warm-progress': {
    ask: () => ({ path: `/v1/warm/${mine.warming}` }),
    theirs: status(404),
    mine: status(200),
  },
  'warm-stop': {
    ask: () => ({ method: 'POST', path: `/v1/warm/${mine.warming}/stop` }),
    theirs: status(404),
    mine: holding('"state":"stopped"'),
  },
}

function expectLetters(answer: Answer, wanted: readonly string[]): void {
  status(200)(answer)
  const rows = answer.json() as { ResultCode: string; EBRType: string }[]
  expect(rows.map((row) => `${row.ResultCode}${row.EBRType}`)).toEqual(wanted)
}

describe('what is another account’s', () => {
  it('is tried on every endpoint there is', () => {
    expect(Object.keys(tries).sort()).toEqual([...endpoints.keys()].sort())
  })

  for (const [name, ways] of Object.entries(tries)) {
    for (const one of [ways].flat()) {
      it(`is not read, used or changed: ${name}${one.about ? `, ${one.about}` : ''}`, async () => {
        await one.theirs(await send(stranger, one.ask(stranger)))
        await one.mine(await send(owner, one.ask(owner)))
      })
    }
  }

  it('is not told by decisions that were kept', async () => {
    const json = { number: consented, callKind: 'ai' }
    const told = async (key: string) =>
      ((await send(key, { path: '/v1/decisions', json })).json() as { decision: string }).decision
    const ebrList = [{ phoneNumber: consented, type: 'P', dateOfLastContact: '11/20/2026' }]
    await owned({ path: `${rpc}/ebr`, json: { ebrList } })
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await told(owner)).toBe('allow')
      expect(await told(stranger)).toBe('block')
    }
  })
})

describe('without a valid key', () => {
  const keyed = [...endpoints.values()].filter(({ access }) => access !== 'open')
  const keys: readonly (readonly [string, () => string | undefined])[] = [
    ['no key', () => undefined],
    ['a key of nobody', () => 'x'.repeat(44)],
    ['no key at all', () => 'garbage'],
    ['a revoked key', () => accounts.revoked],
  ]

  /** Something is sent where the key might stand in the body. */
  function smallest({ method, accepts }: (typeof keyed)[number]): Pick<Ask, 'json' | 'form'> {
    if (method === 'GET') return {}
    return accepts.includes('json') ? { json: {} } : { form: { a: '1' } }
  }

  for (const [what, key] of keys) {
    it(`every endpoint answers 401 in its own shape: ${what}`, async () => {
      const wrong: string[] = []
      for (const endpoint of keyed) {
        for (const path of endpoint.paths) {
          const { method } = endpoint
          const asked = { method, path: path.replace(/:\w+/, 'x'), ...smallest(endpoint) }
          const answer = await send(key(), asked)
          const fits = answer.status === 401 && isRefusalIn(endpoint.errors, answer)
          if (!fits) wrong.push(`${endpoint.name} ${path}: ${answer.status} ${answer.text}`)
        }
      }
      expect(wrong).toEqual([])
    })
  }

  it('every endpoint that takes its key elsewhere answers 401 to a wrong one there', async () => {
    const wrong: string[] = []
    for (const endpoint of keyed.filter(({ keyAlsoIn }) => keyAlsoIn.includes('query'))) {
      const path = (endpoint.paths[0] ?? '').replace(/:\w+/, 'x')
      const query = { loginId: accounts.revoked }
      const { method } = endpoint
      const answer = await send(undefined, { method, path, query, ...smallest(endpoint) })
      if (answer.status !== 401) wrong.push(`${endpoint.name}: ${answer.status}`)
    }
    expect(wrong).toEqual([])
  })

  it('an open endpoint takes no key for credentials', async () => {
    const open = [...endpoints.values()].filter(({ access }) => access === 'open')
    expect(open.map(({ name }) => name)).toEqual(['token'])
    for (const path of open.flatMap(({ paths }) => paths)) {
      const answer = await send(owner, { path, form: { grant_type: 'client_credentials' } })
      expect(answer.status).toBe(400)
      expect(isRefusalIn('oauth', answer)).toBe(true)
    }
  })
})
