import { describe, expect, test } from 'vitest'
import { toLocalDay } from '../../src/domain/time/dates.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects } from '../support/service-subjects.js'

const database = useDatabase()
const build = () => buildSubjects(database.storage)

/** Account `main` with project SALES (two campaigns) and OLD (inactive); `other` with FOREIGN. */
async function buildWithProjects() {
  const subjects = await build()
  const { projects } = subjects
  const code = await projects.create({ accountId: 'main', code: ' sales ', name: 'Sales' })
  await projects.create({ accountId: 'main', code: 'OLD', name: 'Old' })
  await projects.create({ accountId: 'other', code: 'FOREIGN', name: 'Foreign' })
  const spring = await projects.createCampaign({
    accountId: 'main',
    projectCode: code,
    name: 'Spring',
  })
  const ended = await projects.createCampaign({
    accountId: 'main',
    projectCode: code,
    name: 'Ended',
  })
  const ofOld = (await projects.list('main')).find((project) => project.code === 'OLD')
  await database.db
    .updateTable('campaigns')
    .set({ status: 'inactive' })
    .where('id', '=', ended)
    .execute()
  await database.db
    .updateTable('projects')
    .set({ status: 'inactive' })
    .where('code', '=', 'OLD')
    .execute()
  subjects.clock.advance(1000)
  const foreign = await projects.resolve('other', { projectId: 'FOREIGN' })
  const ids = {
    spring: String(spring),
    ended: String(ended),
    old: String(ofOld?.campaigns[0]?.id),
    foreign: String(foreign?.campaignId),
  }
  return { ...subjects, ids }
}

describe('which project a request means', () => {
  test('a code is stored trimmed and in upper case', async () => {
    const { projects } = await buildWithProjects()
    expect((await projects.list('main')).map((project) => project.code)).toEqual([
      'main',
      'OLD',
      'SALES',
    ])
  })

  test.each([
    ['nothing', {}, 'main'],
    ['blank fields', { projectId: '  ', campaignId: '' }, 'main'],
    ['the account id', { projectId: 'main' }, 'main'],
    ['the account id in another case', { projectId: ' MAIN ' }, 'main'],
    ['a code', { projectId: 'SALES' }, 'SALES'],
    ['a code with blanks and in lower case', { projectId: ' sales ' }, 'SALES'],
    ['a campaign alone', { campaignId: '$spring' }, 'SALES'],
    ['a campaign of the project', { projectId: 'sales', campaignId: '$spring' }, 'SALES'],
    ['a campaign with leading noughts', { campaignId: '00$spring' }, 'SALES'],
    ['an unknown project', { projectId: 'NOPE' }, undefined],
    ['a code that is another one in upper case alone', { projectId: 'ſales' }, undefined],
    ['a project of another account', { projectId: 'FOREIGN' }, undefined],
    ['the id of another account', { projectId: 'other' }, undefined],
    ['an inactive project', { projectId: 'OLD' }, undefined],
    ['a campaign of an inactive project', { campaignId: '$old' }, undefined],
    ['an inactive campaign', { campaignId: '$ended' }, undefined],
    ['a campaign of another account', { campaignId: '$foreign' }, undefined],
    ['a campaign of another project', { projectId: 'main', campaignId: '$spring' }, undefined],
    ['an unknown campaign', { campaignId: '99999999' }, undefined],
    ['a campaign that is no number', { campaignId: '1 or 1=1' }, undefined],
    ['a campaign of nine digits', { campaignId: '000000001' }, undefined],
    ['a negative campaign', { campaignId: '-1' }, undefined],
  ] as const)('%s', async (_name, choice, expected) => {
    const { projects, ids } = await buildWithProjects()
    const campaignId =
      'campaignId' in choice
        ? choice.campaignId.replace(/\$(\w+)/, (_text, name: keyof typeof ids) => ids[name])
        : undefined
    const projectId = 'projectId' in choice ? choice.projectId : undefined
    const scope = await projects.resolve('main', { projectId, campaignId })
    expect(scope?.projectCode).toBe(expected)
    if (scope && campaignId) expect(scope.campaignId).toBe(Number(campaignId))
  })

  test("without a campaign the project's default one counts", async () => {
    const { projects } = await buildWithProjects()
    const sales = (await projects.list('main')).find((project) => project.code === 'SALES')
    const byDefault = sales?.campaigns.find((campaign) => campaign.isDefault)
    expect(await projects.resolve('main', { projectId: 'SALES' })).toMatchObject({
      campaignId: byDefault?.id,
    })
  })

  test('an unknown account has no Master Project', async () => {
    const { projects } = await build()
    expect(await projects.resolve('nobody')).toBeUndefined()
  })
})

describe('what a scope holds', () => {
  test.each([
    ['own list and records', {}, { internalDncList: 'P', ebrProject: 'P' }],
    ["the Master's list", { inheritsInternalDnc: true }, { internalDncList: 'main' }],
    ["the Master's records", { inheritsEbr: true }, { ebrProject: 'main', internalDncList: 'P' }],
    ['an exemption', { industryExemption: true }, { industryExemption: true }],
    ['VoIP restricted', { voipRestricted: true }, { voipRestricted: true }],
    ['nothing on', {}, { industryExemption: false, voipRestricted: false, hours: [] }],
  ])('%s', async (_name, switches, expected) => {
    const { projects } = await build()
    await projects.create({ accountId: 'main', code: 'P', name: 'P', ...switches })
    expect(await projects.resolve('main', { projectId: 'p' })).toMatchObject(expected)
  })

  test('hours are read as seconds of the day and days of the calendar', async () => {
    const { projects } = await build()
    const master = { accountId: 'main', code: 'main' }
    await projects.setHours(master, 'fl', {
      monFri: '09:00-18:30',
      sat: '10:00-12:00',
      sun: 'none',
      effectiveFrom: '2026-11-01',
      effectiveUntil: '2026-12-31',
    })
    expect((await projects.resolve('main'))?.hours).toEqual([
      {
        region: 'FL',
        monFri: { start: 32_400, end: 66_600 },
        sat: { start: 36_000, end: 43_200 },
        sun: undefined,
        effectiveFrom: toLocalDay(2026, 11, 1),
        effectiveUntil: toLocalDay(2026, 12, 31),
      },
    ])
    expect((await projects.resolve('other'))?.hours).toEqual([])
  })

  test('hours taken away leave those of the law, and can be taken away once', async () => {
    const { projects, changes } = await build()
    const master = { accountId: 'main', code: 'main' }
    const week = { monFri: '09:00-18:00', sat: 'none', sun: 'none' }
    await projects.setHours(master, 'FL', { ...week, effectiveUntil: '2026-12-31' })
    await projects.setHours(master, 'FL', { ...week, effectiveFrom: '2027-01-01' })
    await projects.setHours(master, 'GA', week)
    expect((await projects.resolve('main'))?.hours).toHaveLength(3)
    const heard = changes.heard.length
    await projects.removeHours(master, ' fl ')
    expect((await projects.resolve('main'))?.hours.map(({ region }) => region)).toEqual(['GA'])
    expect(changes.heard).toHaveLength(heard + 1)
    await expect(projects.removeHours(master, 'FL')).rejects.toMatchObject({
      problems: [{ field: 'region', value: 'FL' }],
    })
  })

  test('hours from the same first day are replaced, those of other days and regions stay', async () => {
    const { projects } = await build()
    const master = { accountId: 'main', code: 'main' }
    const week = { monFri: '09:00-18:00', sat: 'none', sun: '00:00-00:00' }
    await projects.setHours(master, 'FL', { ...week, effectiveUntil: '2026-12-31' })
    await projects.setHours(master, 'FL', { ...week, effectiveFrom: '2027-01-01' })
    await projects.setHours(master, 'GA', week)
    await projects.setHours(master, 'FL', { ...week, monFri: 'none', effectiveFrom: '2027-01-01' })
    const hours = (await projects.resolve('main'))?.hours ?? []
    expect(
      hours.map((one) => [one.region, one.effectiveFrom, one.monFri !== undefined]).sort(),
    ).toEqual(
      [
        ['FL', undefined, true],
        ['FL', toLocalDay(2027, 1, 1), false],
        ['GA', undefined, true],
      ].sort(),
    )
  })

  test.each([
    ['region', 'Florida', {}],
    ['monFri', 'FL', { monFri: '9-17' }],
    ['monFri', 'FL', { monFri: '18:00-09:00' }],
    ['sat', 'FL', { sat: '' }],
    ['sun', 'FL', { sun: '09:60-10:00' }],
    ['effectiveFrom', 'FL', { effectiveFrom: '2026-02-30' }],
    ['effectiveUntil', 'FL', { effectiveFrom: '2026-02-02', effectiveUntil: '2026-02-01' }],
    ['effectiveFrom', 'FL', { effectiveFrom: '2026-06-01' }],
  ])('bad hours are refused by the name of %s (%#)', async (field, region, change) => {
    const { projects } = await build()
    const master = { accountId: 'main', code: 'main' }
    const week = { monFri: '09:00-18:00', sat: 'none', sun: 'none' }
    await projects.setHours(master, 'FL', week)
    const before = await projects.resolve('main')
    await expect(projects.setHours(master, region, { ...week, ...change })).rejects.toMatchObject({
      kind: 'invalid-request',
      problems: [{ field }],
    })
    expect((await projects.resolve('main'))?.hours).toEqual(before?.hours)
  })
})

describe('making projects and campaigns', () => {
  test.each([
    ['a code that exists', { code: 'sales', name: 'Again' }, 'projectCode'],
    ['the Master Project', { code: 'Main', name: 'Again' }, 'projectCode'],
    ['a code with a blank inside', { code: 'A B', name: 'x' }, 'projectCode'],
    ['an empty code', { code: ' ', name: 'x' }, 'projectCode'],
    ['an empty name', { code: 'NEW', name: ' ' }, 'projectName'],
  ])('%s is refused', async (_name, project, field) => {
    const { projects } = await buildWithProjects()
    await expect(projects.create({ accountId: 'main', ...project })).rejects.toMatchObject({
      kind: 'invalid-request',
      problems: [{ field }],
    })
  })

  test('two accounts may use one code, each for its own project', async () => {
    const { projects } = await buildWithProjects()
    await projects.create({ accountId: 'other', code: 'SALES', name: 'Theirs' })
    const mine = await projects.resolve('main', { projectId: 'SALES' })
    const theirs = await projects.resolve('other', { projectId: 'SALES' })
    expect(mine?.accountId).toBe('main')
    expect(theirs?.accountId).toBe('other')
    expect(mine?.campaignId).not.toBe(theirs?.campaignId)
  })

  test('a campaign needs an active project of the account', async () => {
    const { projects } = await buildWithProjects()
    for (const projectCode of ['NOPE', 'OLD', 'FOREIGN']) {
      await expect(
        projects.createCampaign({ accountId: 'main', projectCode, name: 'x' }),
      ).rejects.toMatchObject({ problems: [{ field: 'projectCode', value: projectCode }] })
    }
  })
})

describe('what is remembered of projects', () => {
  test('a scope asked for within the second is answered at once', async () => {
    const { projects, clock } = await build()
    const asked = projects.resolve('main')
    expect(asked).toBeInstanceOf(Promise)
    const scope = await asked
    clock.advance(999)
    expect(projects.resolve('main')).toBe(scope)
    expect(await projects.resolve('main', { projectId: 'MAIN' })).toEqual(scope)
    clock.advance(1)
    const askedAgain = projects.resolve('main')
    expect(askedAgain).toBeInstanceOf(Promise)
    expect(await askedAgain).toEqual(scope)
  })

  test('own writes are seen and announced at once', async () => {
    const { projects, changes } = await build()
    await projects.resolve('main')
    await projects.setHours({ accountId: 'main', code: 'main' }, 'FL', {
      monFri: 'none',
      sat: 'none',
      sun: 'none',
    })
    expect(changes.heard).toEqual(['everything'])
    expect((await projects.resolve('main'))?.hours).toHaveLength(1)
  })

  test('writes of another process are seen within a second', async () => {
    const { projects, clock } = await build()
    const elsewhere = await build()
    await projects.resolve('main')
    await elsewhere.projects.setHours({ accountId: 'main', code: 'main' }, 'FL', {
      monFri: 'none',
      sat: 'none',
      sun: 'none',
    })
    expect((await projects.resolve('main'))?.hours).toHaveLength(0)
    clock.advance(1000)
    expect((await projects.resolve('main'))?.hours).toHaveLength(1)
  })

  test('projects, campaigns and hours survive a restart', async () => {
    const { ids } = await buildWithProjects()
    await database.reopen()
    const { projects } = await build()
    expect(await projects.resolve('main', { campaignId: ids.spring })).toMatchObject({
      projectCode: 'SALES',
    })
  })
})
