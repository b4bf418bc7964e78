/**
 * Two accounts have the same project code and the same numbers on everything. Whatever one of them
 * changes, all that the other can read stays as it was.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Ask, openTwoAccounts, type TwoAccounts } from '../support/two-accounts.js'

let accounts: TwoAccounts

const twin = 'TWIN'
/** On the internal lists; with a permission record; on the lists, with a newer permission. */
const [numberA, numberB, numberC] = ['2127365001', '2127365002', '2127365003']
const numbers = `${numberA},${numberB},${numberC}`
const dayMs = 86_400_000
const rpc = '/app/main/rpc'
const hours = { monFri: '08:00-20:00', sat: '08:00-20:00', sun: 'none' } as const

/** What an account has before the first test: the same as its twin. */
const endowment: readonly Ask[] = [
  {
    path: '/v1.5/projects',
    json: { ProjectCode: twin, ProjectName: 'Twin', San: '123456-789012-34' },
  },
  { path: '/v1.5/legalentity/Create', json: { LegalName: 'First', CountryCode: 'US' } },
  { path: '/v1.5/legalentity/Create', json: { LegalName: 'Second', CountryCode: 'US' } },
  { path: '/v1.4/reputation/add', json: [{ Phone: numberA }, { Phone: numberB }] },
  ...['', twin].flatMap((projId): Ask[] => [
    {
      path: `${rpc}/pdnc`,
      query: { phoneList: `${numberA},${numberC}`, actionType: 'add', projId },
    },
    {
      path: `${rpc}/ebr`,
      json: {
        projId,
        ebrList: [{ phoneNumber: numberB, type: 'P', dateOfLastContact: '11/20/2026' }],
      },
    },
  ]),
]

/** A Monday in March at 9 and at 19 o'clock in New York: the hours of the project tell them apart. */
const hourly = ['2026-03-09T13:00:00Z', '2026-03-09T23:00:00Z', '2026-03-10T00:30:00Z']

/** Everything an account can read. */
const views: readonly Ask[] = [
  { path: `/v1.5/projects/${twin}` },
  { path: `${rpc}/project`, form: { output: 'xml' } },
  { path: '/v1.5/Auth/Validate', query: { projId: twin } },
  { path: '/v1.5/Reputation/GetAllLegalEntities' },
  { path: '/v1.5/Reputation/GetAll' },
  { path: '/v1.5/Reputation/FlagsRemovedSummary' },
  {
    path: '/v1.5/GeoScrub/IsTimeLegalToCall',
    json: {
      IsTimeLegalToCall: hourly.map((CallProposedDateTimeInUTC) => ({
        PhoneNumber: numberA,
        CallProposedDateTimeInUTC,
        DNCProjId: twin,
      })),
    },
  },
  ...['', twin].flatMap((projId): Ask[] => [
    { path: `${rpc}/pdnc`, query: { phoneList: numbers, actionType: 'status', projId } },
    { path: `${rpc}/pdnc`, query: { actionType: 'count', projId } },
    { path: `${rpc}/ebr`, query: { phoneList: numbers, projId } },
    { path: `${rpc}/scrub`, query: { phoneList: numbers, version: '8', output: 'json', projId } },
  ]),
]

async function seenBy(key: string): Promise<readonly string[]> {
  const seen: string[] = []
  for (const view of views) {
    const { status, text } = await accounts.send(key, view)
    seen.push(`${view.path} ${status} ${text}`)
  }
  return seen
}

beforeAll(async () => {
  accounts = await openTwoAccounts()
  const { owner, stranger, send } = accounts
  for (const key of [owner, stranger]) {
    for (const asked of endowment) {
      const { status, text } = await send(key, asked)
      expect(`${asked.path} ${status} ${text}`).toMatch(/^\S+ 20[01] /)
    }
  }
  accounts.running.clock.at += dayMs
  for (const key of [owner, stranger]) {
    const ebrList = [{ phoneNumber: numberC, type: 'P', dateOfLastContact: '11/24/2026' }]
    const asked = { path: `${rpc}/ebr`, json: { ebrList, projId: twin } }
    expect((await send(key, asked)).status).toBe(200)
  }
  const { projects } = accounts.running.callgate
  for (const accountId of ['main', 'other']) {
    await projects.setHours({ accountId, code: twin }, 'NY', hours)
    await projects.registrations.recordRegistration(
      { accountId, code: twin },
      { state: 'FL', status: 'submitted', confirmation: 'C-1' },
    )
  }
})

afterAll(async () => {
  await accounts.running.end()
})

async function entityOf(key: string, name: string): Promise<number> {
  const { send } = accounts
  const answer = await send(key, { path: '/v1.5/Reputation/GetAllLegalEntities' })
  const entities = answer.json() as { LegalEntityId: number; LegalName: string }[]
  return entities.find(({ LegalName }) => LegalName === name)?.LegalEntityId ?? 0
}

const ask = (asked: Ask) => async () => {
  const { status, text } = await accounts.send(accounts.owner, asked)
  expect(`${status} ${text}`).toMatch(/^20[01] /)
}

const ref = { accountId: 'main', code: twin }
const projectsOf = () => accounts.running.callgate.projects

/** Everything an account or its operator can change, in an order in which each changes something. */
const changes: readonly (readonly [string, () => Promise<unknown>])[] = [
  [
    'a project, as JSON',
    ask({
      method: 'PUT',
      path: `/v1.5/projects/${twin}`,
      json: { ProjectName: 'Changed', Notes: 'n', OrgId: '12345678-9012' },
    }),
  ],
  [
    'a project, as a form',
    ask({ path: `${rpc}/project`, form: { project_code: twin, project_name: 'Changed again' } }),
  ],
  [
    'the hours of a project',
    () => projectsOf().setHours(ref, 'NY', { ...hours, monFri: '10:00-12:00' }),
  ],
  [
    'the validation of a project',
    () =>
      projectsOf().registrations.recordFtcValidation(ref, {
        status: 'validated',
        areaCodes: ['212'],
      }),
  ],
  [
    'the registration of a project',
    () => projectsOf().registrations.recordRegistration(ref, { state: 'TX', status: 'approved' }),
  ],
  [
    'the campaigns of a project',
    () => projectsOf().createCampaign({ accountId: 'main', projectCode: twin, name: 'More' }),
  ],
  [
    'the default entity',
    async () =>
      ask({
        method: 'PUT',
        path: '/v1.5/legalentity/Update',
        json: { LegalEntityId: await entityOf(accounts.owner, 'Second'), IsDefault: true },
      })(),
  ],
  [
    'a new default entity',
    ask({ path: '/v1.5/legalentity/Create', json: { LegalName: 'Third', IsDefault: true } }),
  ],
  [
    'the internal list: more',
    ask({ path: `${rpc}/pdnc`, form: { phoneList: numbers, actionType: 'add' } }),
  ],
  [
    'the internal list of a project: once more',
    ask({
      path: `${rpc}/pdnc`,
      form: { phoneList: numberC, actionType: 'add', projId: twin },
    }),
  ],
  [
    'the internal list of a project: less',
    ask({ path: `${rpc}/pdnc`, form: { phoneList: numbers, actionType: 'remove', projId: twin } }),
  ],
  [
    'the internal list: less',
    ask({ path: `${rpc}/pdnc`, form: { phoneList: numbers, actionType: 'remove' } }),
  ],
  [
    'records',
    ask({
      path: `${rpc}/ebr`,
      json: { ebrList: [{ phoneNumber: numbers, type: 'S', dateOfLastContact: '11/22/2026' }] },
    }),
  ],
  ['records removed', ask({ path: `${rpc}/ebr/remove`, form: { phoneList: numbers } })],
  [
    'records of a project removed',
    ask({ path: `${rpc}/ebr/remove`, form: { phoneList: numbers, projId: twin } }),
  ],
  [
    'records by a scrub',
    ask({
      path: `${rpc}/scrub`,
      json: {
        phoneList: numbers,
        ebrList: [{ phoneNumber: numbers, type: 'P', dateOfLastContact: '11/22/2026' }],
      },
    }),
  ],
  [
    'the entity of a monitored number',
    async () =>
      ask({
        path: '/v1.4/reputation/add',
        json: [{ Phone: numberA, LegalEntityId: await entityOf(accounts.owner, 'First') }],
      })(),
  ],
  ['monitored numbers', ask({ path: '/v1.4/reputation/remove', json: [numberA, numberB] })],
  [
    'a project switched off',
    ask({ path: `${rpc}/project`, form: { project_code: twin, handler: 'deactivate_project' } }),
  ],
  [
    'a project switched on again',
    ask({ path: `${rpc}/project`, form: { project_code: twin, handler: 'reactivate_project' } }),
  ],
]

test('the same name means something else in each account', async () => {
  const { owner, stranger, send } = accounts
  const campaigns: number[] = []
  for (const key of [owner, stranger]) {
    const project = await send(key, { path: `/v1.5/projects/${twin}` })
    const { DefaultCampaignId } = project.json() as { DefaultCampaignId: number }
    campaigns.push(DefaultCampaignId)
    const query = { projId: twin, campaignId: String(DefaultCampaignId) }
    expect((await send(key, { path: '/v1.5/Auth/Validate', query })).status).toBe(200)
    const answer = await send(key, { path: '/v1.5/Reputation/GetAllLegalEntities' })
    const entities = answer.json() as { LegalName: string; IsDefault: boolean }[]
    const first = entities.filter(({ IsDefault }) => IsDefault)
    expect(first.map(({ LegalName }) => LegalName)).toEqual(['First'])
  }
  expect(new Set(campaigns).size).toBe(2)
})

for (const [what, change] of changes) {
  test(`what one account changes leaves its twin as it was: ${what}`, async () => {
    const { owner, stranger, running } = accounts
    // On a day of its own, so that days tell as well who changed something.
    running.clock.at += dayMs
    const [ours, theirs] = [await seenBy(owner), await seenBy(stranger)]
    await change()
    expect(await seenBy(stranger)).toEqual(theirs)
    expect(await seenBy(owner)).not.toEqual(ours)
  })
}

test('the last delivery about a project is told to its own account', async () => {
  const { owner, stranger, send, running } = accounts
  const path = `/v1.5/projects/${twin}`
  const told = async (key: string) => {
    const project = await send(key, { path })
    return (project.json() as { Webhook: { LastDelivery: unknown } }).Webhook.LastDelivery
  }
  running.callgate.backgroundJobs.start()
  // Nobody listens there; that an attempt failed is told as well.
  const json = { WebhookUrl: 'http://127.0.0.1:9/nobody' }
  expect((await send(owner, { method: 'PUT', path, json })).status).toBe(200)
  await running.callgate.projects.registrations.recordFtcValidation(ref, { status: 'failed' })
  await expect.poll(() => told(owner)).toMatchObject({ HttpStatus: null })
  expect(await told(stranger)).toBeNull()
})
