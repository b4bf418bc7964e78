/** Projects over HTTP: both ways of making and changing, and what each says when it refuses. */
import { beforeEach, describe, expect, test } from 'vitest'
import { projectGet, projectSave, projectUpdate } from '../../src/api/accounts/projects.js'
import { rpcProject, rpcProjectGet } from '../../src/api/accounts/rpc-project.js'
import { createRoute } from '../../src/api/route.js'
import { readSdkProject } from '../clients/sdk-reader.js'
import {
  buildProjects,
  keptEvents,
  type ProjectParts,
  setAutoPrefix,
} from '../service/projects-fixture.js'
import { useDatabase } from '../support/database.js'
import { hostileRequest, randomFrom } from '../support/hostile-requests.js'
import { shortOrLong } from '../support/long.js'
import { caller } from '../support/service-subjects.js'
import { admin, adminKey, openTestApp } from '../support/test-app.js'

const database = useDatabase()
let parts: ProjectParts
const bugs: unknown[] = []
const otherKey = 'o'.repeat(44)
const app = await openTestApp({
  routes: [
    createRoute(projectGet, (who, { code }) => parts.projects.records.get(who, code)),
    createRoute(projectSave, (who, request) => parts.projects.records.save(who, request)),
    createRoute(projectUpdate, (who, request) => parts.projects.records.update(who, request)),
    createRoute(rpcProject, (who, request) => parts.projects.rpc.handle(who, request)),
    createRoute(rpcProjectGet, (who, request) => parts.projects.rpc.handle(who, request)),
  ],
  authenticate: (key) =>
    key === adminKey ? admin : key === otherKey ? caller('other') : undefined,
  logger: {
    error: (_message, fields) => bugs.push(fields),
    warn: () => undefined,
    info: () => undefined,
    debug: () => undefined,
  },
})

beforeEach(async () => {
  parts = await buildProjects(database.storage)
})

const save = (body: unknown, key: string | null = adminKey) =>
  app.post('/v1.5/projects', body, { key })
const update = (code: string, body: unknown, key: string | null = adminKey) =>
  app.post(`/v1.5/projects/${code}`, body, { method: 'PUT', key })
const read = (code: string, key: string | null = adminKey) =>
  app.send(`/v1.5/projects/${code}`, { key })

describe('JSON', () => {
  test('a new project is 201 with its address, and found there', async () => {
    const made = await save({
      ProjectCode: 'sales',
      ProjectName: 'Sales',
      Notes: 'n',
      San: '1122-334455-26',
      WebhookUrl: 'https://hooks.example.com/p',
      InheritInternalDnc: true,
      InheritEbr: false,
    })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe('/v1.5/projects/SALES')
    const found = await app.send(made.headers.get('location') ?? '')
    expect(found.status).toBe(200)
    expect(found.text).toBe(made.text)
    const { DefaultCampaignId } = found.json() as { DefaultCampaignId: number }
    expect(DefaultCampaignId).toEqual(expect.any(Number))
    expect(found.text).toBe(
      JSON.stringify({
        ProjectCode: 'SALES',
        ProjectName: 'Sales',
        AcctId: 'main',
        Status: 'active',
        DefaultCampaignId,
        FtcValidation: {
          Status: 'pending',
          OrgId: null,
          San: '1122-334455-26',
          CheckedOn: null,
          Message: null,
          Expiration: null,
          HasEntireUs: false,
          AreaCodes: [],
        },
        StateRegistrations: {},
        Webhook: { Url: 'https://hooks.example.com/p', LastDelivery: null },
        CreatedOn: '2026-11-20T12:00:00Z',
        LastModifiedOn: '2026-11-20T12:00:00Z',
      }),
    )
    expect(projectGet.response.parse(found.json())).toEqual(found.json())
  })

  test('the same code again is 200 and changes what is given', async () => {
    await save({ ProjectCode: 'SALES', ProjectName: 'Sales', OrgId: 12345 })
    const again = await save({ ProjectCode: 'Sales', Notes: 'n' })
    expect(again.status).toBe(200)
    expect(again.headers.get('location')).toBeNull()
    expect(again.json()).toMatchObject({ ProjectName: 'Sales', FtcValidation: { OrgId: '12345' } })
    const put = await update('sales', { ProjectCode: 'SALES', ProjectName: 'New', OrgId: null })
    expect(put.status).toBe(200)
    expect(put.json()).toMatchObject({ ProjectName: 'New', FtcValidation: { Status: 'pending' } })
    expect((await read('SALES')).text).toBe(put.text)
  })

  test('the Master Project is read by the account’s id', async () => {
    expect((await read('MAIN')).json()).toMatchObject({ ProjectCode: 'main', Status: 'active' })
  })

  test('all that operators record is shown', async () => {
    await save({ ProjectCode: 'SALES', ProjectName: 'Sales', San: '1-2-26' })
    const ref = { accountId: 'main', code: 'SALES' }
    const { registrations } = parts.projects
    await registrations.recordFtcValidation(ref, { status: 'validated', expiration: '2026-12-31' })
    await registrations.recordRegistration(ref, {
      state: 'FL',
      status: 'approved',
      confirmation: 'A',
    })
    const answer = await read('SALES')
    expect(answer.json()).toMatchObject({
      FtcValidation: { Status: 'validated', Expiration: '2026-12-31' },
      StateRegistrations: { FL: { Status: 'approved', Confirmation: 'A', SubmittedOn: null } },
    })
    expect(projectGet.response.safeParse(answer.json()).success).toBe(true)
  })

  test.each([
    ['no body', () => save(''), 400, 'the body is missing'],
    ['no code', () => save({ ProjectName: 'x' }), 400, 'ProjectCode: is required'],
    ['no name', () => save({ ProjectCode: 'X' }), 400, 'ProjectName: is required'],
    [
      'a bad code',
      () => save({ ProjectCode: '../X', ProjectName: 'x' }),
      400,
      "ProjectCode '../X'",
    ],
    ['a list as name', () => save({ ProjectCode: 'X', ProjectName: [] }), 400, 'must be text'],
    ['a slip', () => save({ ProjectCode: 'X', Project_Name: 'x' }), 400, 'is an unknown field'],
    ['text as a switch', () => save({ ProjectCode: 'X', InheritEbr: '1' }), 400, 'true or false'],
    [
      'half a number as id',
      () => save({ ProjectCode: 'X', OrgId: 1.5 }),
      400,
      "OrgId '1.5': must be text",
    ],
    [
      'a bad address',
      () => save({ ProjectCode: 'X', ProjectName: 'x', WebhookUrl: 'ftp://x' }),
      400,
      "WebhookUrl 'ftp://x'",
    ],
    ['an unknown code', () => read('NOPE'), 404, "ProjectCode 'NOPE': is not a project of this"],
    ['a code of anything', () => read('%00%F0%9F%A6%86..%2F'), 404, 'is not a project'],
    ['a percent that means nothing', () => read('%zz'), 400, 'not well formed'],
    ['PUT to an unknown code', () => update('NOPE', { ProjectName: 'x' }), 404, 'is not a project'],
    [
      'another code in the body',
      () => update('main', { ProjectCode: 'X' }),
      400,
      'cannot be changed',
    ],
    ['the code given again', () => update('main', { code: 'X' }), 400, 'is given twice'],
    ['no key', () => read('main', null), 401, 'is missing'],
    ['a bad key', () => read('main', 'x'), 401, 'is not valid'],
    ['a bad key on a change', () => save({}, 'x'), 401, 'is not valid'],
    [
      'a form',
      () => app.send('/v1.5/projects', form({ ProjectCode: 'X' })),
      415,
      'application/json',
    ],
  ])('%s is a problem', async (_name, call, status, detail) => {
    const answer = await call()
    expect(answer.status).toBe(status)
    const problem = answer.json() as Record<string, unknown>
    expect(Object.keys(problem)).toEqual(['type', 'title', 'status', 'detail', 'instance'])
    expect(problem.detail).toContain(detail)
  })

  test('another account’s project is not found, as one that nobody has', async () => {
    await save({ ProjectCode: 'SALES', ProjectName: 'Sales' })
    for (const call of [read, (code: string, key: string) => update(code, {}, key)]) {
      const theirs = await call('SALES', otherKey)
      const nobodys = await call('NOPE', otherKey)
      expect(theirs.status).toBe(404)
      expect(theirs.text.replaceAll('SALES', 'NOPE')).toBe(nobodys.text)
    }
  })
})

function form(fields: Readonly<Record<string, string>>): RequestInit {
  return { method: 'POST', body: new URLSearchParams(fields) }
}

const rpcPath = '/app/main/rpc/project'

/** Status, reason phrase and body of the older call. */
async function rpc(init: RequestInit, query = '', key: string | null = adminKey) {
  const response = await fetch(`${app.url}${rpcPath}${query}`, {
    method: 'POST',
    ...init,
    headers: { ...(key !== null && { loginId: key }) },
  })
  return [response.status, response.statusText, await response.text()] as const
}

const rpcForm = (fields: Readonly<Record<string, string>>) => rpc(form(fields))

describe('the older call', () => {
  const made = { project_code: ' sales ', project_name: 'Sales' }

  test.each([
    ['query', (fields: typeof made) => rpc({}, `?${new URLSearchParams(fields)}`)],
    [
      'query, by GET',
      (fields: typeof made) => rpc({ method: 'GET' }, `?${new URLSearchParams(fields)}`),
    ],
    ['form', rpcForm],
    [
      'multipart',
      (fields: typeof made) => {
        const body = new FormData()
        for (const [name, value] of Object.entries(fields)) body.append(name, value)
        return rpc({ body })
      },
    ],
  ])('makes with 201 and changes with 200, both without body: %s', async (_name, send) => {
    expect(await send(made)).toEqual([201, 'Created', ''])
    expect(await send({ ...made, project_name: 'New' })).toEqual([200, 'OK', ''])
    expect((await read('SALES')).json()).toMatchObject({ ProjectName: 'New' })
  })

  test.each([
    ['query', () => rpc({}, `?loginId=${adminKey}&project_code=X&project_name=x`, null)],
    [
      'form',
      () => rpc(form({ LOGINID: adminKey, project_code: 'X', project_name: 'x' }), '', null),
    ],
  ])('takes the key as a field: %s', async (_name, send) => {
    expect((await send())[0]).toBe(201)
  })

  test('fields are stored; empty ones are not given', async () => {
    await rpcForm({
      ...made,
      notes: 'n',
      nat_dnc_org_id: '1122-334455-26',
      use_master_dnc_dnm_database: '1',
      use_master_override_database: 'true',
    })
    await rpcForm({
      ...made,
      notes: '',
      nat_dnc_org_id: '',
      use_master_dnc_dnm_database: '',
      use_master_override_database: '0',
    })
    expect((await read('SALES')).json()).toMatchObject({
      FtcValidation: { San: '1122-334455-26', OrgId: null, Status: 'pending' },
    })
    expect(await parts.projects.resolve('main', { projectId: 'SALES' })).toMatchObject({
      internalDncList: 'main',
      ebrProject: 'SALES',
    })
  })

  test('handlers say what is meant', async () => {
    const handle = async (handler: string, more = {}) =>
      (await rpcForm({ project_code: 'SALES', handler, ...more })).slice(0, 2).join(' ')
    const unknown = "400 project_code 'SALES': is not a project of this account"
    expect(await handle('update_project', { project_name: 'x' })).toBe(unknown)
    expect(await handle('deactivate_project')).toBe(unknown)
    expect(await handle('reactivate_project')).toBe(unknown)
    expect(await handle('insert_project', { project_name: 'Sales' })).toBe('201 Created')
    expect(await handle('insert_project', { project_name: 'Sales' })).toBe(
      "400 project_code 'SALES': already exists",
    )
    expect(await handle('UPDATE_PROJECT', { project_name: 'New' })).toBe('200 OK')
    expect(await handle('deactivate_project', { project_name: 'Last' })).toBe('200 OK')
    const inactive = "403 project_code 'SALES': is an inactive project; reactivate it first"
    expect(await handle('update_project', { project_name: 'No' })).toBe(inactive)
    expect(await handle('', { project_name: 'No' })).toBe(inactive)
    expect(await handle('deactivate_project', { project_name: 'No' })).toBe(inactive)
    expect(await handle('deactivate_project', { project_name: 'Last' })).toBe('200 OK')
    expect((await read('SALES')).json()).toMatchObject({ Status: 'inactive', ProjectName: 'Last' })
    expect(await handle('reactivate_project', { project_name: 'Back' })).toBe('200 OK')
    expect((await read('SALES')).json()).toMatchObject({ Status: 'active', ProjectName: 'Back' })
  })

  test('the Master Project is addressed by projId and stays active', async () => {
    expect(await rpcForm({ projId: 'main', project_name: 'All' })).toEqual([200, 'OK', ''])
    expect((await read('main')).json()).toMatchObject({ ProjectName: 'All' })
    for (const field of ['projId', 'project_code']) {
      const [status, reason] = await rpcForm({ [field]: 'main', handler: 'deactivate_project' })
      expect([status, reason]).toEqual([
        400,
        `${field} 'main': is the Master Project, which cannot be deactivated`,
      ])
    }
  })

  test.each<[string, Record<string, string>, number, string]>([
    ['nothing', {}, 400, 'project_code: is required'],
    ['no name', { project_code: 'X' }, 400, 'project_name: is required for a new project'],
    ['a bad code', { project_code: 'é', project_name: 'x' }, 400, "project_code '?': must be 1 to"],
    ['a line in the name', { project_code: 'X', project_name: 'a\r\nb' }, 400, "'a??b': must be"],
    ['a bad id', { ...made, nat_dnc_org_id: '1 2' }, 400, "nat_dnc_org_id '1 2': must be"],
    ['a bad switch', { ...made, use_master_override_database: '2' }, 400, 'must be 0, 1, true'],
    ['an unknown handler', { ...made, handler: 'drop' }, 400, "handler 'drop': must be one of"],
    ['a slip', { ...made, projectname: '1' }, 400, "projectname '1': is an unknown field"],
    ['an unknown output', { ...made, output: 'json' }, 400, "output 'json': must be xml"],
    ['projId of none', { projId: 'X', project_name: 'x' }, 400, "projId 'X': is not a project of"],
    [
      'two projects',
      { projId: 'main', project_code: 'X' },
      400,
      "projId 'main': is not the same project",
    ],
    ['to make by projId', { projId: 'X', handler: 'insert_project' }, 400, 'use project_code'],
    ['a list of none', { projId: 'X', output: 'xml' }, 400, "projId 'X': is not a project of"],
  ])('%s is refused in the status line and in the body', async (_name, fields, status, reason) => {
    const answer = await rpcForm(fields)
    expect(answer[0]).toBe(status)
    expect(answer[1]).toContain(reason)
    // The body may hold what a status line cannot.
    expect(answer[2].replace(/[^\x20-\x7e]/g, '?')).toContain(reason)
    expect(await parts.projects.list('main')).toHaveLength(1)
  })

  test('without a valid key nothing is told but that', async () => {
    expect(await rpc(form(made), '', 'x')).toEqual([
      401,
      ...Array(2).fill('The API key is not valid'),
    ])
    expect((await rpc(form(made), '', null))[0]).toBe(401)
  })

  test('another account’s project is neither listed nor changed', async () => {
    await rpcForm(made)
    const asOther = (fields: Record<string, string>) => rpc(form(fields), '', otherKey)
    expect((await asOther({ projId: 'SALES', project_name: 'x' }))[0]).toBe(400)
    expect((await asOther({ projId: 'SALES', output: 'xml' }))[0]).toBe(400)
    expect((await asOther({ projId: 'main', output: 'xml' }))[0]).toBe(400)
    expect((await asOther({ output: 'xml' }))[2]).not.toContain('SALES')
    expect((await asOther(made))[0]).toBe(201)
    expect((await read('SALES')).json()).toMatchObject({ AcctId: 'main' })
  })

  test('tells the project’s address of a switch, as the JSON way', async () => {
    await save({ ProjectCode: 'SALES', ProjectName: 'x', WebhookUrl: 'https://x.example' })
    await rpcForm({ project_code: 'SALES', handler: 'deactivate_project' })
    expect(await keptEvents(database.db)).toMatchObject([{ event: 'project.status' }])
  })
})

describe('the list as XML', () => {
  const xml = async (fields: Record<string, string> = {}) => {
    const answer = await app.send(rpcPath, form({ output: 'xml', ...fields }))
    return [answer.status, answer.headers.get('content-type'), answer.text] as const
  }

  test('holds all projects with their campaigns, every text escaped', async () => {
    const name = `<&>"' é \u{1f986} \ufffe ]]>`
    await save({ ProjectCode: 'B', ProjectName: name })
    await parts.projects.createCampaign({ accountId: 'main', projectCode: 'B', name: 'a<b' })
    await rpcForm({ project_code: 'B', handler: 'deactivate_project' })
    const [master, b] = await parts.projects.list('main')
    const [status, contentType, text] = await xml()
    expect([status, contentType]).toEqual([200, 'application/xml; charset=utf-8'])
    const campaign = (which: { readonly id: number } | undefined, name: string, isDefault: 0 | 1) =>
      `<Campaign campaignId="${which?.id}" campaignName="${name}" campaignStatus="active" isDefault="${isDefault}"/>`
    expect(text).toBe(
      [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<DncCompliance><DncScrub><Accounts>',
        '<Account acctId="main" name="main">',
        '<Projects>',
        '<Project projId="main" name="Master Project" status="active" parentAcctId="main" parentAcctName="main">',
        '<Campaigns>',
        campaign(master?.campaigns[0], 'Default Campaign', 1),
        '</Campaigns>',
        '</Project>',
        '<Project projId="B" name="&lt;&amp;&gt;&quot;&apos; é \u{1f986} \ufffd ]]&gt;" status="inactive" parentAcctId="main" parentAcctName="main">',
        '<Campaigns>',
        campaign(b?.campaigns[0], 'Default Campaign', 1),
        campaign(b?.campaigns[1], 'a&lt;b', 0),
        '</Campaigns>',
        '</Project>',
        '</Projects>',
        '</Account>',
        '</Accounts></DncScrub></DncCompliance>',
        '',
      ].join('\n'),
    )
  })

  test('is read as it was meant by the reader of a client', async () => {
    const name = `<&>"' é \u{1f986} ]]> &amp;`
    await save({ ProjectCode: 'B', ProjectName: name })
    const [, , text] = await xml({ project_code: 'B' })
    expect(readSdkProject(text)).toMatchObject({ projId: 'B', name, parentAcctName: 'main' })
  })

  test.each([
    ['by projId', { projId: 'main' }, ['main']],
    ['the one that was put', { project_code: 'C', project_name: 'c' }, ['MAIN_C']],
    ['by a code without its prefix', { project_code: 'p' }, ['MAIN_P']],
    ['all', {}, ['main', 'MAIN_P']],
  ])('holds one or all: %s', async (_name, fields, codes) => {
    await setAutoPrefix(database.db)
    await save({ ProjectCode: 'P', ProjectName: 'p' })
    const [, , text] = await xml(fields as Record<string, string>)
    expect([...text.matchAll(/ projId="(.*?)"/g)].map((match) => match[1])).toEqual(codes)
  })

  test('changes nothing by itself', async () => {
    await save({ ProjectCode: 'P', ProjectName: 'p' })
    parts.clock.advance(1000)
    const before = (await read('P')).text
    expect((await xml({ project_code: 'P' }))[0]).toBe(200)
    expect((await xml({ projId: 'P', notes: '', handler: '' }))[0]).toBe(200)
    expect((await read('P')).text).toBe(before)
  })
})

test('random requests never give a 5xx', async () => {
  const random = randomFrom(9_091)
  const paths = [rpcPath, '/v1.5/projects', '/v1.5/projects/main', '/v1.5/projects/%E2%80%A8']
  const names = ['project_code', 'project_name', 'notes', 'handler', 'output', 'ProjectCode', 'San']
  for (let drawn = 0; drawn < shortOrLong(300, 1_000); drawn += 1) {
    const request = hostileRequest(random, paths)
    const own = names[Math.floor(random() * names.length)] ?? ''
    const body = request.body && Buffer.from(request.body).toString().replaceAll('phoneList', own)
    const answer = await app.send(request.path.replaceAll('phoneList', own), {
      method: request.method === 'POST' && random() < 0.3 ? 'PUT' : request.method,
      ...(body !== undefined && { body }),
      ...(request.contentType && { headers: { 'content-type': request.contentType } }),
    })
    expect(answer.status, JSON.stringify({ drawn, request })).toBeLessThan(500)
  }
  expect(bugs).toEqual([])
})
