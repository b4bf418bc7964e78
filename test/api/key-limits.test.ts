/** Keys limited to projects, to kinds of call and in time; and what passes whatever the key. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toJsonSchema } from '../../src/api/fields.js'
import type { NewApiKey } from '../../src/service/accounts/api-keys.js'
import { mondayNoon } from '../support/test-callgate.js'
import {
  type Answer,
  type Ask,
  openTwoAccounts,
  type TwoAccounts,
} from '../support/two-accounts.js'
import { endpoints } from '../support/walk-endpoints.js'

let accounts: TwoAccounts
const campaigns = { sales: 0, other: 0 }

const number = '2127365001'
const rpc = '/app/main/rpc'
const hours = '/v1.5/GeoScrub'

beforeAll(async () => {
  accounts = await openTwoAccounts()
  const { projects } = accounts.running.callgate
  for (const code of ['SALES', 'OTHER']) {
    await projects.create({ accountId: 'main', code, name: code })
  }
  const campaignOf = (projectCode: string) =>
    projects.createCampaign({ accountId: 'main', projectCode, name: 'Spring' })
  campaigns.sales = await campaignOf('SALES')
  campaigns.other = await campaignOf('OTHER')
})

afterAll(async () => {
  await accounts.running.end()
})

async function keyWith(limits: Partial<NewApiKey>): Promise<{ id: string; key: string }> {
  const { keys } = accounts.running.callgate
  return await keys.create({ accountId: 'main', role: 'Administrator', label: '', ...limits })
}

const send = (key: string, asked: Ask): Promise<Answer> => accounts.send(key, asked)
const summary = ({ status, statusText, text }: Answer) => `${status} ${text || statusText}`
const decision = (more: object): Ask => ({
  path: '/v1/decisions',
  json: { number, callKind: 'manual', ...more },
})

/** Every call that takes a project, naming it. */
const scoped: Readonly<Record<string, (project: string) => Ask>> = {
  'auth-validate': (projId) => ({ path: '/v1.5/Auth/Validate', query: { projId } }),
  'time-legal': (project) => ({
    path: `${hours}/IsTimeLegalToCall`,
    json: {
      IsTimeLegalToCall: [
        { PhoneNumber: number, DNCProjId: 'SALES' },
        { PhoneNumber: number, DNCProjId: project },
      ],
    },
  }),
  'legal-call-times': (project) => ({
    path: `${hours}/LegalCallTimesForDate`,
    json: { LegalCallTimesForDate: [{ PhoneNumber: number, DNCProjId: project }] },
  }),
  'scrub-get': (projId) => ({ path: `${rpc}/scrub`, query: { phoneList: number, projId } }),
  'scrub-post': (projId) => ({ path: `${rpc}/scrub`, form: { phoneList: number, projId } }),
  'pdnc-get': (projId) => ({ path: `${rpc}/pdnc`, query: { actionType: 'count', projId } }),
  'pdnc-post': (projId) => ({
    path: `${rpc}/pdnc`,
    form: { phoneList: '2127365099', actionType: 'add', projId },
  }),
  ebr: (projId) => {
    const ebrList = [{ phoneNumber: number, type: 'S', dateOfLastContact: '11/20/2026' }]
    return { path: `${rpc}/ebr`, json: { ebrList, projId } }
  },
  'ebr-get': (projId) => ({ path: `${rpc}/ebr`, query: { phoneList: number, projId } }),
  consent: (projectId) => ({
    path: '/v1/consents',
    json: {
      ...{ number, givenAt: '2026-11-20T15:00:00Z', seller: 'Acme', projectId },
      ...{ channel: 'web', method: 'written', wording: 'I agree' },
    },
  }),
  consents: (projectId) => ({ path: '/v1/consents', query: { number, projectId } }),
  number: (projectId) => ({ path: `/v1/numbers/${number}`, query: { projectId } }),
  'attempts-get': (projectId) => ({ path: '/v1/attempts', query: { number, projectId } }),
  'ebr-remove': (projId) => ({ path: `${rpc}/ebr/remove`, form: { phoneList: number, projId } }),
  'litigator-get': (projId) => ({
    path: '/v1.5/Scrub/litigator',
    query: { phoneList: number, projId },
  }),
  'litigator-post': (ProjId) => ({
    path: '/v1.5/Scrub/litigator',
    json: { PhoneList: number, ProjId },
  }),
  'enhanced-rnd-get': (projId) => ({ path: '/v1.5/Data/EnhancedRND', query: { ...rnd, projId } }),
  'enhanced-rnd-post': (ProjId) => ({
    path: '/v1.5/Data/EnhancedRND',
    json: { Data: [rnd], ProjId },
  }),
  'rnd-basic-get': (projId) => ({ path: '/v1.5/Data/RNDBasic', query: { ...rnd, projId } }),
  'rnd-basic-post': (ProjId) => ({ path: '/v1.5/Data/RNDBasic', json: { Data: [rnd], ProjId } }),
  'project-hours': (code) => ({
    path: `/v1/projects/${encodeURIComponent(code)}/hours`,
    json: { region: 'FL', monFri: '09:00-20:00', sat: 'none', sun: 'none' },
  }),
  'project-get': (code) => ({ path: `/v1.5/projects/${encodeURIComponent(code)}` }),
  'project-save': (ProjectCode) => ({ path: '/v1.5/projects', json: { ProjectCode, Notes: 'n' } }),
  'project-update': (code) => ({
    method: 'PUT',
    path: `/v1.5/projects/${encodeURIComponent(code)}`,
    json: { Notes: 'n' },
  }),
  'rpc-project': (project_code) => ({
    path: `${rpc}/project`,
    form: { project_code, notes: 'n' },
  }),
  'rpc-project-get': (project_code) => ({
    path: `${rpc}/project`,
    query: { project_code, notes: 'n' },
  }),
  decide: (projectId) => decision({ projectId }),
  permit: (projectId) => ({
    path: '/v1/permits',
    json: { number, callKind: 'manual', callerId: number, projectId },
  }),
  decisions: (project) => ({ path: '/v1/decisions', query: { project } }),
  'decisions-stream': (project) => ({
    path: '/v1/decisions/stream',
    query: { project, seconds: '1' },
  }),
  preview: (projectId) => ({
    path: '/v1/decisions/preview',
    json: { numbers: [number], callKind: 'manual', projectId },
  }),
  'predial-get': (project) => ({
    path: '/v1/predial',
    query: { number, kind: 'manual', project },
  }),
  'predial-post': (project) => ({ path: '/v1/predial', form: { number, kind: 'manual', project } }),
  'warm-start': (projectId) => ({ path: '/v1/warm', json: { numbers: [number], projectId } }),
  'opt-out': (projectId) => ({ path: '/v1/opt-outs', json: { number, projectId } }),
  'caller-id-end': (projectId) => ({ path: '/v1/caller-ids/end', json: { number, projectId } }),
  'caller-id-add': (projectId) => ({
    path: '/v1/caller-ids',
    json: { callerIds: [{ number, owner: 'Acme', proof: 'invoice', projectId }] },
  }),
}
const rnd = { phoneNumber: number, date: '2026-01-31' }

describe('a key limited to a project', () => {
  it('is tried on every endpoint that takes a project or campaign', () => {
    const taking = [...endpoints.values()].filter(
      ({ name, request, paths }) =>
        // They name campaigns and projects to permit less; keys limited to projects have no edges, and make no keys; the list has
        // those of the key.
        !['token', 'edge-attempts', 'key-create', 'key-change', 'projects'].includes(name) &&
        /proj|"[^"]*campaign/i.test(
          JSON.stringify(toJsonSchema(request).properties) + paths.join(),
        ),
    )
    expect(taking.map(({ name }) => name).sort()).toEqual(Object.keys(scoped).sort())
    // An opt-out is always taken. The others answer with a block instead, of which there is a record.
    const answering = ['decide', 'opt-out', 'permit', 'predial-get', 'predial-post']
    const unchecked = taking.filter(({ scopes }) => scopes === 'none').map(({ name }) => name)
    expect(unchecked.toSorted()).toEqual(answering)
  })

  for (const [name, ask] of Object.entries(scoped)) {
    it(`may name it, in any spelling, and no other: ${name}`, async () => {
      const { id, key } = await keyWith({ projects: ['sales'] })
      for (const project of ['SALES', 'sales']) {
        // There is none to end.
        const inScope = name === 'caller-id-end' ? /^404 / : /^20\d /
        expect(summary(await send(key, ask(project)))).toMatch(inScope)
      }
      for (const project of ['OTHER', 'main', 'NOPE', 'SALES2', 'ſales']) {
        const answer = summary(await send(key, ask(project)))
        if (name.startsWith('predial')) expect(answer).toMatch(/^200 block:key-project:\w+:end\n$/)
        else if (name === 'decide' || name === 'permit') {
          expect(answer).toMatch(/^200 .*"reason":"key-project".*limited to the projects SALES/)
        } else if (name === 'opt-out') {
          expect(answer).toMatch(/^200 .*"recorded":true,"scope":"everything"/)
          const rule = 'must be one that this key may use; the opt-out applies to every project'
          expect(answer).toContain(
            `"ignored":[{"field":"projectId","value":"${project}","rule":"${rule}"}]`,
          )
        } else {
          expect(answer).toMatch(/^403 /)
          expect(answer).toContain(`key ${id} is limited to the projects SALES`)
        }
      }
    })
  }

  const unnamed: readonly (readonly [string, Ask])[] = [
    ['decisions', decision({})],
    ['predial', { path: '/v1/predial', query: { number, kind: 'manual' } }],
    ['the internal list', { path: `${rpc}/pdnc`, query: { phoneList: number, actionType: 'add' } }],
    [
      'calling hours',
      {
        path: `${hours}/IsTimeLegalToCall`,
        json: { IsTimeLegalToCall: [{ PhoneNumber: number }] },
      },
    ],
    [
      'calling hours, with blank text',
      {
        path: `${hours}/IsTimeLegalToCall`,
        json: { IsTimeLegalToCall: [{ PhoneNumber: number, DNCProjId: ' ' }] },
      },
    ],
  ]
  for (const [what, ask] of unnamed) {
    it(`needs the Master Project to name none: ${what}`, async () => {
      const { key } = await keyWith({ projects: ['SALES'] })
      expect(summary(await send(key, ask))).toMatch(/^403 |^200 .*key-project/)
      const { key: ofMaster } = await keyWith({ projects: ['SALES', 'MAIN'] })
      expect(summary(await send(ofMaster, ask))).toMatch(/^200 /)
    })
  }

  it('says what naming none means', async () => {
    const { id, key } = await keyWith({ projects: ['SALES', 'OTHER'] })
    const json = { numbers: [number], callKind: 'manual' }
    const answer = await send(key, { path: '/v1/decisions/preview', json })
    expect(answer.json()).toMatchObject({
      detail:
        'no project is named, so the Master Project applies: ' +
        `key ${id} is limited to the projects SALES, OTHER; name one of them`,
    })
  })

  it('learns nothing about another by a decision', async () => {
    const { key } = await keyWith({ projects: ['SALES'] })
    const answer = await send(key, decision({ projectId: 'OTHER' }))
    expect(answer.json()).toMatchObject({
      decision: 'block',
      findings: [{ check: 'mandate', verdict: 'deny', reason: 'key-project' }],
    })
    const { id } = answer.json() as { id: string }
    expect((await send(accounts.owner, { path: `/v1/decisions/${id}` })).status).toBe(200)
  })

  it('changes no list or record of the Master Project that its project uses, nor whether it does', async () => {
    const { projects } = accounts.running.callgate
    await projects.create({ accountId: 'main', code: 'HEIR', name: 'Heir' })
    const { key } = await keyWith({ projects: ['HEIR'] })
    const { key: ofMain } = await keyWith({})
    const heir = { projId: 'HEIR' }
    const pdnc = (by: string, actionType: string, more = {}) =>
      send(by, { path: `${rpc}/pdnc`, query: { phoneList: '2125674100', actionType, ...more } })
    const ebrList = [{ phoneNumber: '2125674100', type: 'P', dateOfLastContact: '2026-11-20' }]
    const switching = (inherits: boolean) => ({
      path: '/v1.5/projects/HEIR',
      method: 'PUT' as const,
      json: { InheritInternalDnc: inherits, InheritEbr: inherits },
    })
    expect((await send(key, switching(true))).status).toBe(403)
    expect((await send(ofMain, switching(true))).status).toBe(200)
    expect((await send(key, switching(false))).status).toBe(403)
    expect((await send(key, switching(true))).status).toBe(200)
    expect((await pdnc(ofMain, 'add')).status).toBe(200)
    expect(summary(await pdnc(key, 'remove', heir))).toMatch(/^403 .*'main' \(inheritance\)/)
    for (const ask of [
      { path: `${rpc}/ebr`, json: { ebrList, ...heir } },
      { path: `${rpc}/ebr/remove`, json: { phoneList: '2125674100', ...heir } },
    ]) {
      expect((await send(key, ask)).status).toBe(403)
      expect((await send(ofMain, ask)).status).toBe(200)
    }
    // An opt-out is always taken.
    expect((await pdnc(key, 'add', heir)).status).toBe(200)
  })

  it('may name its campaigns, and no other', async () => {
    const { key } = await keyWith({ projects: ['SALES'] })
    const isRefused = async (more: object) =>
      (await send(key, decision(more))).text.includes('key-project')
    expect(await isRefused({ campaignId: campaigns.sales })).toBe(false)
    expect(await isRefused({ campaignId: `0${campaigns.sales}`, projectId: 'sales' })).toBe(false)
    expect(await isRefused({ campaignId: campaigns.other })).toBe(true)
    expect(await isRefused({ campaignId: campaigns.other, projectId: 'SALES' })).toBe(true)
    expect(await isRefused({ campaignId: campaigns.sales, projectId: 'OTHER' })).toBe(true)
    expect(await isRefused({ campaignId: 'x', projectId: 'SALES' })).toBe(true)
    expect(await isRefused({ campaignId: '99999999' })).toBe(true)
  })

  it('may name a campaign made after it within a second', async () => {
    const { running } = accounts
    const { key } = await keyWith({ projects: ['SALES'] })
    expect((await send(key, decision({ projectId: 'SALES' }))).status).toBe(200)
    const made = { accountId: 'main', projectCode: 'SALES', name: 'Later' }
    const campaignId = await running.callgate.projects.createCampaign(made)
    const text = async () => (await send(key, decision({ campaignId }))).text
    await expect.poll(text).not.toContain('key-project')
  })

  it('lists it alone', async () => {
    const { key } = await keyWith({ projects: ['SALES'] })
    const listed = await send(key, { path: `${rpc}/project`, form: { output: 'xml' } })
    expect(listed.status).toBe(200)
    expect(listed.text).toContain(' projId="SALES"')
    expect(listed.text).not.toMatch(/ projId="(OTHER|main)"/)
  })

  it('reads records of its decisions, and of no other', async () => {
    const { key } = await keyWith({ projects: ['SALES'] })
    const idOf = async (more: object) =>
      ((await send(accounts.owner, decision(more))).json() as { id: string }).id
    const read = async (id: string) => (await send(key, { path: `/v1/decisions/${id}` })).status
    expect(await read(await idOf({ projectId: 'SALES' }))).toBe(200)
    expect(await read(await idOf({ campaignId: campaigns.sales }))).toBe(200)
    expect(await read(await idOf({ projectId: 'OTHER' }))).toBe(403)
    expect(await read(await idOf({ campaignId: campaigns.other }))).toBe(403)
    expect(await read(await idOf({}))).toBe(403)
  })

  it('reads and stops warming for it, and for no other', async () => {
    const { key } = await keyWith({ projects: ['SALES'] })
    for (const [projectId, status] of [
      ['SALES', 200],
      ['OTHER', 403],
      [undefined, 403],
    ] as const) {
      const json = { numbers: [number], projectId }
      const { id } = (await send(accounts.owner, { path: '/v1/warm', json })).json() as {
        id: string
      }
      const job = `/v1/warm/${id}`
      expect((await send(key, { path: job })).status).toBe(status)
      const stopped = await send(key, { method: 'POST', path: `${job}/stop`, json: {} })
      expect(stopped.status).toBe(status)
      const { state } = (await send(accounts.owner, { path: job })).json() as { state: string }
      expect(state === 'stopped').toBe(status === 200)
    }
  })

  it('changes nothing of another by a refused call', async () => {
    const { key } = await keyWith({ projects: ['SALES'] })
    const phoneList = '2127365077'
    const ask = (actionType: string) => ({
      path: `${rpc}/pdnc`,
      query: { phoneList, actionType, projId: 'OTHER' },
    })
    expect((await send(key, ask('add'))).status).toBe(403)
    expect((await send(accounts.owner, ask('status'))).text).toContain(`${phoneList},,`)
  })
})

describe('a key limited to kinds of call', () => {
  const kinds = [
    ['manual', false],
    ['AI', false],
    ['autodialed', true],
  ] as const
  for (const [callKind, isRefused] of kinds) {
    it(`has ${callKind} calls ${isRefused ? 'blocked' : 'judged'}`, async () => {
      const { id, key } = await keyWith({ callKinds: ['manual', 'ai'] })
      const answer = await send(key, decision({ callKind }))
      expect(answer.json()).toMatchObject({ keyId: id, mandate: { version: 1 } })
      expect(answer.text.includes('"reason":"key-kind"')).toBe(isRefused)
      if (isRefused) expect(answer.text).toContain('it is limited to manual, ai, not autodialed')
      for (const body of ['query', 'form'] as const) {
        const line = await send(key, { path: '/v1/predial', [body]: { number, kind: callKind } })
        expect(line.status).toBe(200)
        expect(/^block:key-kind:\w+:end\n$/.test(line.text)).toBe(isRefused)
      }
    })
  }

  it('need not name the kind if there is one alone, and cannot name another', async () => {
    const { key } = await keyWith({ callKinds: ['ai'] })
    const answer = await send(key, { path: '/v1/decisions', json: { number } })
    expect(answer.json()).toMatchObject({ callKind: 'ai' })
    const line = await send(key, { path: '/v1/predial', query: { number } })
    expect(line.text).toMatch(/^block:(?!key-)/)
    const other = await send(key, decision({ callKind: 'manual' }))
    expect(other.json()).toMatchObject({ decision: 'block', reason: 'key-kind' })
    const { key: ofTwo } = await keyWith({ callKinds: ['ai', 'manual'] })
    expect((await send(ofTwo, { path: '/v1/decisions', json: { number } })).status).toBe(400)
  })
})

describe('a key that expires', () => {
  const expiresAt = mondayNoon + 3_600_000
  const until = (at: number, work: () => Promise<void>) => {
    const { clock } = accounts.running
    const before = clock.at
    clock.at = at
    return work().finally(() => {
      clock.at = before
    })
  }

  it('is refused from its expiry on, like an unknown key', async () => {
    const { key } = await keyWith({ expiresAt })
    // What expires goes by a clock that never stands still, so not by a single millisecond here.
    await until(expiresAt - 10_000, async () => {
      expect((await send(key, decision({}))).status).toBe(200)
    })
    // Less than a second later, so that the key is still remembered.
    await until(expiresAt, async () => {
      const answer = await send(key, decision({}))
      expect(summary(answer)).toMatch(/^401 .*The API key is not valid/)
      const line = await send(key, { path: '/v1/predial', query: { number, kind: 'manual' } })
      expect(summary(line)).toBe('401 block:unauthenticated:-:end\n')
    })
  })

  it('ends its tokens with it, and says so when it gives one', async () => {
    // Later than the other test, since what expires goes by a clock that never goes back.
    const start = expiresAt + 3_600_000
    const { key } = await keyWith({ expiresAt: start + 90_500 })
    const form = { grant_type: 'client_credentials', client_id: 'main', client_secret: key }
    await until(start, async () => {
      const granted = await send('', { path: '/oauth/token', form })
      const { access_token: token, expires_in: seconds } = granted.json() as {
        access_token: string
        expires_in: number
      }
      expect([89, 90]).toContain(seconds)
      const status = async () => {
        const headers = { authorization: `Bearer ${token}` }
        return (await fetch(`${accounts.running.url}/v1.5/Auth/Validate`, { headers })).status
      }
      accounts.running.clock.at = start + 60_000
      expect(await status()).toBe(200)
      accounts.running.clock.at = start + 90_500
      expect(await status()).toBe(401)
      const refused = await send('', { path: '/oauth/token', form })
      expect(refused.status).toBe(401)
      expect(refused.json()).toMatchObject({ error: 'invalid_client' })
    })
  })
})

describe.each([
  ['of another version', '{"attemptsPerWeek":5}'],
  ['that are damaged', '{"attempts'],
])('a key with limits %s', (_name, limits) => {
  const damage = async (id: string) => {
    const { db } = accounts.running.callgate.storage
    const row = { call_limits: limits }
    await db.updateTable('api_keys').set(row).where('id', '=', id).execute()
  }

  it('is refused with what to do, and logged, whatever it asks for but an emergency', async () => {
    const { id, key } = await keyWith({})
    await damage(id)
    const answer = await send(key, decision({}))
    expect(answer.status).toBe(503)
    const problem = `key ${id} is refused, since this version cannot read its limits`
    expect(answer.text).toContain(problem)
    expect((await send(key, { path: `${rpc}/scrub`, query: { phoneList: number } })).status).toBe(
      503,
    )
    const line = await send(key, { path: '/v1/predial', query: { number, kind: 'manual' } })
    expect(summary(line)).toMatch(/^503 block:/)
    const form = { grant_type: 'client_credentials', client_id: 'main', client_secret: key }
    expect((await send('', { path: '/oauth/token', form })).status).toBe(503)
    expect(accounts.running.logLines.join('')).toContain(problem)
    const emergency = await send(key, { path: '/v1/predial', query: { number: '911' } })
    expect(summary(emergency)).toMatch(/^200 allow:911:/)
  })

  it('has its tokens refused as well', async () => {
    const { id, key } = await keyWith({})
    const form = { grant_type: 'client_credentials', client_id: 'main', client_secret: key }
    const granted = await send('', { path: '/oauth/token', form })
    const { access_token: token } = granted.json() as { access_token: string }
    await damage(id)
    expect(summary(await send(token, decision({})))).toMatch(/^503 .*cannot read its limits/)
  })

  it('of a token refuses it', async () => {
    const { id, key } = await keyWith({})
    const form = { grant_type: 'client_credentials', client_id: 'main', client_secret: key }
    const granted = await send('', { path: '/oauth/token', form })
    const { access_token: token } = granted.json() as { access_token: string }
    const { db } = accounts.running.callgate.storage
    const row = { call_limits: limits }
    await db.updateTable('access_tokens').set(row).where('key_id', '=', id).execute()
    expect(summary(await send(token, decision({})))).toMatch(/^503 .*cannot read its limits/)
  })
})

describe('a token', () => {
  it('has the limits of its key', async () => {
    const { id, key } = await keyWith({
      rights: ['decide'],
      projects: ['SALES'],
      callKinds: ['ai'],
    })
    const form = { grant_type: 'client_credentials', client_id: 'main', client_secret: key }
    const granted = await send('', { path: '/oauth/token', form })
    const { access_token: token } = granted.json() as { access_token: string }
    const post = async (path: string, body: object) => {
      const answer = await fetch(`${accounts.running.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return `${answer.status} ${await answer.text()}`
    }
    const call = { number, callKind: 'ai', projectId: 'SALES' }
    expect(await post('/v1/decisions', call)).toMatch(new RegExp(`^200 .*"keyId":"${id}"`))
    expect(await post('/v1/decisions', { ...call, callKind: 'manual' })).toMatch(/^200 .*key-kind/)
    expect(await post('/v1/decisions', { ...call, projectId: 'OTHER' })).toMatch(
      /^200 .*key-project/,
    )
    expect(await post(`${rpc}/scrub`, { phoneList: number, projId: 'SALES' })).toBe(
      `403 key ${id} lacks the right 'look-up'; it has decide; use a key created with that right (callgate keys create --can)`,
    )
  })
})

describe('emergency and service codes', () => {
  const barred: readonly Partial<NewApiKey>[] = [
    { rights: ['look-up'] },
    { projects: ['SALES'] },
    { callKinds: ['ai'] },
  ]
  for (const limits of barred) {
    for (const code of ['911', '988', 'tel:911', '6-1-1']) {
      it(`pass whatever the key: ${code}, ${JSON.stringify(limits)}`, async () => {
        const { id, key } = await keyWith(limits)
        for (const body of ['query', 'form'] as const) {
          const fields = { number: code, kind: 'manual' }
          const line = await send(key, { path: '/v1/predial', [body]: fields })
          expect(summary(line)).toMatch(/^200 allow:\d11:\w+:end|^200 allow:988:\w+:end/)
        }
        const answer = await send(key, decision({ number: code }))
        expect(answer.status).toBe(200)
        expect(answer.json()).toMatchObject({
          decision: 'allow',
          reason: 'service-code',
          keyId: id,
        })
      })
    }
  }
})

describe('a refusal for a right', () => {
  it('comes before the body is read, and counts against no limit', {
    timeout: 60_000,
  }, async () => {
    const { key } = await keyWith({ rights: ['decide'] })
    const answer = await fetch(`${accounts.running.url}${rpc}/scrub`, {
      method: 'POST',
      headers: { loginId: key, 'content-type': 'application/json' },
      body: '{ not json',
    })
    expect(answer.status).toBe(403)
    for (let turn = 0; turn < 1_001; turn += 1) {
      const query = { phoneList: number }
      expect((await send(key, { path: '/v1.5/Scrub/litigator', query })).status).toBe(403)
    }
    const query = { phoneList: number }
    expect((await send(accounts.owner, { path: '/v1.5/Scrub/litigator', query })).status).toBe(200)
  })

  it('takes precedence over errors in the request', async () => {
    const { key } = await keyWith({ rights: ['look-up'] })
    for (const json of [{}, { number }, { number: 5, callKind: 'manual' }]) {
      expect((await send(key, { path: '/v1/decisions', json })).status).toBe(403)
      expect((await send(accounts.owner, { path: '/v1/decisions', json })).status).toBe(400)
    }
    const line = await send(key, { path: '/v1/predial', query: { number, kind: 'robot' } })
    expect(summary(line)).toBe('403 block:forbidden:-:end\n')
  })

  it('also meets a key in the body', async () => {
    const { id, key } = await keyWith({ rights: ['decide'] })
    const answer = await accounts.send(undefined, {
      path: `${rpc}/pdnc`,
      json: { loginId: key, phoneList: number, actionType: 'add' },
    })
    expect(answer.status).toBe(403)
    expect(answer.json()).toEqual({
      error: `key ${id} lacks the right 'records' or 'look-up'; it has decide; use a key created with that right (callgate keys create --can)`,
    })
  })
})

describe('the record of a decision', () => {
  it('names the key that asked, also over predial', async () => {
    const { id, key } = await keyWith({ rights: ['decide'] })
    const made = (await send(key, decision({}))).json() as { id: string; keyId: string }
    expect(made.keyId).toBe(id)
    const read = await send(key, { path: `/v1/decisions/${made.id}` })
    expect(read.json()).toMatchObject({ keyId: id })
    const line = await send(key, { path: '/v1/predial', query: { number, kind: 'manual' } })
    const recorded = await send(key, { path: `/v1/decisions/${line.text.split(':')[2]}` })
    expect(recorded.json()).toMatchObject({ via: 'predial', keyId: id })
    expect(recorded.text).not.toContain(key)
  })
})

describe('a token asked for with authorization_details', () => {
  const ask = async (details: unknown) => {
    const { key } = await keyWith({ callKinds: ['ai'] })
    const text = typeof details === 'string' ? details : JSON.stringify(details)
    const client = { grant_type: 'client_credentials', client_id: 'main', client_secret: key }
    const form = { ...client, authorization_details: text }
    return await send('', { path: '/oauth/token', form })
  }

  it('says what it was given', async () => {
    const details = [{ type: 'callgate_dial', kinds: ['ai'], attempts: 10 }]
    const answer = await ask(details)
    expect(answer.json()).toMatchObject({ token_type: 'Bearer', authorization_details: details })
  })

  it('is refused more than its key has', async () => {
    const answer = await ask([{ type: 'callgate_dial', kinds: ['manual'] }])
    expect([answer.status, answer.json()]).toEqual([
      400,
      {
        error: 'invalid_authorization_details',
        error_description: "kinds 'manual': the key may not ask for that",
      },
    ])
  })

  it.each([
    'x',
    {},
    [],
    [{ type: 'other' }],
    [{ type: 'callgate_dial', everything: true }],
    [{ type: 'callgate_dial', attempts: 0 }],
    [{ type: 'callgate_dial' }, { type: 'callgate_dial' }],
  ])('is refused for %j', async (details) => {
    expect((await ask(details)).json()).toMatchObject({ error: 'invalid_request' })
  })
})
