/** Projects as clients make and change them, and what their addresses are told. */
import { describe, expect, test } from 'vitest'
import type { ProjectInput } from '../../src/service/projects/project-input.js'
import { useDatabase } from '../support/database.js'
import { caller } from '../support/service-subjects.js'
import { buildProjects, keptEvents, setAutoPrefix } from './projects-fixture.js'

const database = useDatabase()
const main = caller('main')
const url = 'https://hooks.example.com/p'

async function build(input: ProjectInput = {}) {
  const parts = await buildProjects(database.storage)
  const { projects, clock } = parts
  await projects.records.save(main, { code: 'sales', input: { name: 'Sales', ...input } })
  clock.advance(60_000)
  const save = (change: ProjectInput, code = 'SALES') =>
    projects.records.save(main, { code, input: change })
  const switchTo = (handler: 'deactivate_project' | 'reactivate_project') =>
    projects.rpc.handle(main, { code: 'SALES', handler, listing: false })
  return { ...parts, save, switchTo }
}

const unknownFederal = {
  Status: 'pending',
  OrgId: null,
  San: null,
  CheckedOn: null,
  Message: null,
  Expiration: null,
  HasEntireUs: false,
  AreaCodes: [],
}

describe('making a project', () => {
  test('gives it as its readers see it, with its default campaign', async () => {
    const { projects } = await buildProjects(database.storage)
    const made = await projects.records.save(main, { code: ' sales ', input: { name: ' Sales ' } })
    const scope = await projects.resolve('main', { projectId: 'SALES' })
    expect(made).toEqual({
      created: true,
      project: {
        ProjectCode: 'SALES',
        ProjectName: 'Sales',
        AcctId: 'main',
        Status: 'active',
        DefaultCampaignId: scope?.campaignId,
        FtcValidation: unknownFederal,
        StateRegistrations: {},
        Webhook: { Url: null, LastDelivery: null },
        CreatedOn: '2026-11-20T12:00:00Z',
        LastModifiedOn: '2026-11-20T12:00:00Z',
      },
    })
    expect(await projects.records.get(main, 'sales')).toEqual(made.project)
  })

  test.each([
    ['no code', undefined, { name: 'x' }, 'ProjectCode'],
    ['a blank code', ' ', { name: 'x' }, 'ProjectCode'],
    ['a code with a blank inside', 'A B', { name: 'x' }, 'ProjectCode'],
    ['a code that is not ASCII', 'straße', { name: 'x' }, 'ProjectCode'],
    ['a code that is ASCII in upper case alone', 'ſales', { name: 'x' }, 'ProjectCode'],
    ['a code that is too long', 'A'.repeat(41), { name: 'x' }, 'ProjectCode'],
    ['no name', 'NEW', {}, 'ProjectName'],
    ['a null name', 'NEW', { name: null }, 'ProjectName'],
    ['a name of two lines', 'NEW', { name: 'a\nb' }, 'ProjectName'],
    ['a name that is too long', 'NEW', { name: 'x'.repeat(201) }, 'ProjectName'],
    ['notes with a NUL', 'NEW', { name: 'x', notes: 'a\0b' }, 'Notes'],
    ['notes that are too long', 'NEW', { name: 'x', notes: 'x'.repeat(2001) }, 'Notes'],
    ['a SAN with a blank', 'NEW', { name: 'x', san: '1 2' }, 'San'],
    ['an organization id that is too long', 'NEW', { name: 'x', orgId: '1'.repeat(41) }, 'OrgId'],
    ['a bad address', 'NEW', { name: 'x', webhookUrl: 'http://x' }, 'WebhookUrl'],
    [
      'an address that is too long',
      'NEW',
      { name: 'x', webhookUrl: `https://${'x'.repeat(1493)}` },
      'WebhookUrl',
    ],
  ])('%s is refused, and nothing is made', async (_name, code, input, field) => {
    const { projects } = await buildProjects(database.storage)
    await expect(projects.records.save(main, { code, input })).rejects.toMatchObject({
      kind: 'invalid-request',
      problems: [{ field }],
    })
    expect(await projects.list('main')).toHaveLength(1)
  })

  test('an address of exactly 1500 characters is taken', async () => {
    const { save } = await build()
    const webhookUrl = `https://${'x'.repeat(1492)}`
    expect((await save({ webhookUrl })).project.Webhook.Url).toBe(webhookUrl)
  })
})

describe('codes of an account with a prefix', () => {
  test.each([
    ['sales', 'MAIN_SALES'],
    ['MAIN_sales', 'MAIN_SALES'],
    ['main', 'main'],
    ['OLD', 'OLD'],
  ])('%s means %s, again and again', async (code, stored) => {
    const { projects } = await buildProjects(database.storage)
    await projects.create({ accountId: 'main', code: 'OLD', name: 'From before' })
    await setAutoPrefix(database.db)
    for (const name of ['One', 'Two']) {
      const { project } = await projects.records.save(main, { code, input: { name } })
      expect(project).toMatchObject({ ProjectCode: stored, ProjectName: name })
    }
    expect((await projects.records.get(main, stored)).ProjectName).toBe('Two')
  })

  test('reading takes the code as it was returned', async () => {
    const { projects } = await buildProjects(database.storage)
    await setAutoPrefix(database.db)
    await projects.records.save(main, { code: 'SALES', input: { name: 'x' } })
    await expect(projects.records.get(main, 'SALES')).rejects.toMatchObject({ kind: 'not-found' })
    const update = { code: 'SALES', bodyCode: undefined, input: { name: 'y' } }
    await expect(projects.records.update(main, update)).rejects.toMatchObject({ kind: 'not-found' })
  })

  test.each([
    ['the prefix alone', 'MAIN_'],
    ['a rest that begins with a line', 'MAIN_-X'],
    ['a rest of 41', 'A'.repeat(41)],
  ])('%s is no code', async (_name, code) => {
    const { projects } = await buildProjects(database.storage)
    await setAutoPrefix(database.db)
    const save = projects.records.save(main, { code, input: { name: 'x' } })
    await expect(save).rejects.toMatchObject({ problems: [{ field: 'ProjectCode' }] })
  })
})

describe('changing a project', () => {
  test('what is not given stays, null and blank clear', async () => {
    const { save } = await build({ notes: 'a', san: '1-2-26', orgId: '7', webhookUrl: url })
    const renamed = await save({ name: 'New' })
    expect(renamed).toMatchObject({
      created: false,
      project: {
        ProjectName: 'New',
        FtcValidation: { San: '1-2-26', OrgId: '7', Status: 'pending' },
        Webhook: { Url: url },
        CreatedOn: '2026-11-20T12:00:00Z',
        LastModifiedOn: '2026-11-20T12:01:00Z',
      },
    })
    const cleared = await save({ notes: null, san: '', orgId: null, webhookUrl: ' ' })
    expect(cleared.project.FtcValidation).toEqual(unknownFederal)
    expect(cleared.project.Webhook.Url).toBeNull()
    const row = await database.db
      .selectFrom('projects')
      .select('notes')
      .where('code', '=', 'SALES')
      .executeTakeFirstOrThrow()
    expect(row.notes).toBeNull()
  })

  test('a change that changes nothing leaves no trace', async () => {
    const { save, changes } = await build({ notes: 'a', san: '1-2-26' })
    const heard = changes.heard.length
    const { project } = await save({ name: 'Sales', notes: 'a', san: '1-2-26' })
    expect(project.LastModifiedOn).toBe('2026-11-20T12:00:00Z')
    expect(changes.heard).toHaveLength(heard)
  })

  test('switches reach the scope at once, other fields disturb nobody', async () => {
    const { save, projects, changes } = await build()
    await projects.resolve('main', { projectId: 'SALES' })
    const heard = changes.heard.length
    await save({ notes: 'x', webhookUrl: url })
    expect(changes.heard).toHaveLength(heard)
    await save({ inheritsInternalDnc: true, inheritsEbr: true })
    expect(changes.heard).toHaveLength(heard + 1)
    expect(await projects.resolve('main', { projectId: 'SALES' })).toMatchObject({
      internalDncList: 'main',
      ebrProject: 'main',
    })
    await save({ inheritsInternalDnc: false })
    expect(await projects.resolve('main', { projectId: 'SALES' })).toMatchObject({
      internalDncList: 'SALES',
      ebrProject: 'main',
    })
  })

  test('a code in the body must be that of the address', async () => {
    const { projects } = await build()
    const update = (bodyCode: string) =>
      projects.records.update(main, { code: 'sales', bodyCode, input: { name: 'Same' } })
    expect((await update('Sales')).project.ProjectName).toBe('Same')
    await expect(update('ſales')).rejects.toMatchObject({ problems: [{ field: 'ProjectCode' }] })
    await expect(update('OTHER')).rejects.toMatchObject({ problems: [{ field: 'ProjectCode' }] })
  })

  test('a project of another account is not found, and its code may be used', async () => {
    const { projects } = await build()
    const other = caller('other')
    await expect(projects.records.get(other, 'SALES')).rejects.toMatchObject({ kind: 'not-found' })
    const update = { code: 'SALES', bodyCode: undefined, input: { name: 'Mine now' } }
    await expect(projects.records.update(other, update)).rejects.toMatchObject({
      kind: 'not-found',
    })
    const theirs = await projects.records.save(other, { code: 'SALES', input: { name: 'Theirs' } })
    expect(theirs).toMatchObject({ created: true, project: { AcctId: 'other' } })
    expect((await projects.records.get(main, 'SALES')).ProjectName).toBe('Sales')
  })

  test('the Master Project is changed by the account’s id', async () => {
    const { save } = await build()
    const { project } = await save({ name: 'All of us' }, 'MAIN')
    expect(project).toMatchObject({ ProjectCode: 'main', ProjectName: 'All of us' })
  })

  test('many at once make one project and lose no field', async () => {
    const { projects } = await buildProjects(database.storage)
    const saves = await Promise.all(
      [{ notes: 'n' }, { san: '1-2-26' }, { orgId: '7' }, { inheritsEbr: true }].map((input) =>
        projects.records.save(main, { code: 'RACE', input: { name: 'Race', ...input } }),
      ),
    )
    expect(saves.filter(({ created }) => created)).toHaveLength(1)
    expect((await projects.records.get(main, 'RACE')).FtcValidation).toMatchObject({
      San: '1-2-26',
      OrgId: '7',
      Status: 'pending',
    })
    expect(await projects.resolve('main', { projectId: 'RACE' })).toMatchObject({
      ebrProject: 'main',
    })
  })
})

describe('an inactive project', () => {
  test('is refused as a scope at once, and only reactivating changes it', async () => {
    const { save, switchTo, projects } = await build()
    expect(await projects.resolve('main', { projectId: 'SALES' })).toBeDefined()
    await switchTo('deactivate_project')
    expect(await projects.resolve('main', { projectId: 'SALES' })).toBeUndefined()
    expect((await projects.records.get(main, 'SALES')).Status).toBe('inactive')
    await expect(save({ name: 'New' })).rejects.toMatchObject({ kind: 'forbidden' })
    await expect(save({})).rejects.toMatchObject({ kind: 'forbidden' })
    await switchTo('deactivate_project')
    await switchTo('reactivate_project')
    expect(await projects.resolve('main', { projectId: 'SALES' })).toBeDefined()
    expect((await save({ name: 'New' })).project).toMatchObject({
      Status: 'active',
      ProjectName: 'New',
    })
  })
})

describe('the federal ids', () => {
  const validate = async (parts: Awaited<ReturnType<typeof build>>) =>
    parts.projects.registrations.recordFtcValidation(
      { accountId: 'main', code: 'SALES' },
      { status: 'validated', orgId: '7', expiration: '2026-12-31', areaCodes: ['212'] },
    )

  test.each([
    ['the same SAN', { san: '1-2-26' }, 'validated'],
    ['another SAN', { san: '1-2-27' }, 'pending'],
    ['another organization', { orgId: '8' }, 'pending'],
    ['no SAN, the organization stays', { san: null }, 'pending'],
    ['neither', { san: null, orgId: null }, 'pending'],
    ['the SAN in the common field', { federalId: '1-2-26' }, 'validated'],
    ['the resolved organization in the common field', { federalId: '7' }, 'validated'],
    ['another in the common field', { federalId: '9' }, 'pending'],
  ])('%s', async (_name, input, status) => {
    const parts = await build({ san: '1-2-26' })
    await validate(parts)
    const { FtcValidation } = (await parts.save(input)).project
    expect(FtcValidation.Status).toBe(status)
    const isKept = status === 'validated'
    expect(FtcValidation.Expiration).toBe(isKept ? '2026-12-31' : null)
    expect(FtcValidation.AreaCodes).toEqual(isKept ? ['212'] : [])
    expect(FtcValidation.CheckedOn === null).toBe(!isKept)
  })

  test.each([
    ['1122-334455-08', { San: '1122-334455-08', OrgId: null }],
    ['12345678', { San: null, OrgId: '12345678' }],
    ['ab-12', { San: null, OrgId: 'ab-12' }],
  ])('%s is told apart by its look', async (federalId, expected) => {
    const { save } = await build({ san: 'old', orgId: 'old' })
    expect((await save({ federalId })).project.FtcValidation).toMatchObject(expected)
  })
})

describe('what the address is told', () => {
  test('of each changed status, with the one before', async () => {
    const { save, switchTo, queue } = await build({ webhookUrl: url })
    expect(await keptEvents(database.db)).toEqual([])
    await save({ san: '1-2-26' })
    await switchTo('deactivate_project')
    expect(queue.woken()).toBe(2)
    const common = { accountId: 'main', kind: 'project', subject: 'SALES', url }
    const about = { ProjectCode: 'SALES', AcctId: 'main' }
    expect(await keptEvents(database.db)).toEqual([
      {
        ...common,
        event: 'project.ftcValidation',
        body: {
          ...about,
          Data: {
            FtcValidation: { ...unknownFederal, Status: 'pending', San: '1-2-26' },
            Previous: null,
          },
        },
      },
      {
        ...common,
        event: 'project.status',
        body: { ...about, Data: { Status: 'inactive', Previous: 'active' } },
      },
    ])
  })

  test.each<[string, ProjectInput, ProjectInput]>([
    ['no address', {}, { san: '1-2-26' }],
    ['no status changed', { webhookUrl: url }, { name: 'New', notes: 'x', inheritsEbr: true }],
    ['still pending', { webhookUrl: url, san: '1-2-25' }, { san: '1-2-26' }],
    ['the address goes with the change', { webhookUrl: url }, { webhookUrl: null, san: '1-2-26' }],
  ])('nothing: %s', async (_name, before, change) => {
    const { save, queue } = await build(before)
    await save(change)
    expect(await keptEvents(database.db)).toEqual([])
    expect(queue.woken()).toBe(0)
  })

  test('an address that comes with the change is told of it', async () => {
    const { save } = await build()
    await save({ webhookUrl: url, orgId: '7' })
    expect(await keptEvents(database.db)).toMatchObject([{ event: 'project.ftcValidation', url }])
  })

  test('a change whose notification cannot be kept is not made', async () => {
    const { save, switchTo, projects, queue } = await build({ webhookUrl: url })
    queue.breakDown()
    await expect(switchTo('deactivate_project')).rejects.toThrow('the queue is broken')
    await expect(save({ name: 'New', san: '1-2-26' })).rejects.toThrow('the queue is broken')
    expect(await projects.records.get(main, 'SALES')).toMatchObject({
      Status: 'active',
      ProjectName: 'Sales',
      FtcValidation: unknownFederal,
    })
    expect(await keptEvents(database.db)).toEqual([])
    expect(queue.woken()).toBe(0)
  })

  test('the last delivery is shown', async () => {
    const { projects, queue } = await build({ webhookUrl: url })
    queue.delivered({
      eventId: 'evt_1',
      event: 'project.status',
      attempt: 2,
      httpStatus: null,
      sentAt: 1_000,
    })
    expect((await projects.records.get(main, 'SALES')).Webhook).toEqual({
      Url: url,
      LastDelivery: {
        EventId: 'evt_1',
        Event: 'project.status',
        Attempt: 2,
        HttpStatus: null,
        SentOn: '1970-01-01T00:00:01Z',
      },
    })
  })
})
