/** Legal entities over HTTP: the wire's names, masks and refusals. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  legalEntitiesGet,
  legalEntityCreate,
  legalEntityUpdate,
} from '../../src/api/accounts/legal-entities.js'
import { createRoute } from '../../src/api/route.js'
import { LegalEntities } from '../../src/service/legal-entities/legal-entities.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects, caller } from '../support/service-subjects.js'
import { admin, adminKey, openTestApp } from '../support/test-app.js'

const database = useDatabase()
let entities: LegalEntities
const counted: string[] = []
const otherKey = 'o'.repeat(44)
const app = await openTestApp({
  routes: [
    createRoute(legalEntitiesGet, (who) => entities.list(who)),
    createRoute(legalEntityCreate, (who, request) => entities.create(who, request)),
    createRoute(legalEntityUpdate, (who, request) => entities.update(who, request)),
  ],
  authenticate: (key) =>
    key === adminKey ? admin : key === otherKey ? caller('other') : undefined,
  limitRate: (account, rate) => void counted.push(`${account} ${rate}`),
})

beforeEach(async () => {
  const { clock } = await buildSubjects(database.storage)
  entities = new LegalEntities({ storage: database.storage, clock })
})

afterEach(() => {
  counted.length = 0
})

const listPath = '/v1.5/Reputation/GetAllLegalEntities'
const create = (body: unknown, key = adminKey) =>
  app.post('/v1.5/legalentity/Create', body, { key })
const update = (body: unknown, key = adminKey) =>
  app.post('/v1.5/legalentity/Update', body, { method: 'PUT', key })

test('the whole way: add, list, change, list', async () => {
  const made = await create({
    LegalName: 'Acme Inc',
    EIN: 123456789,
    StreetAddress: '1 Main St',
    City: 'New York',
    State: 'NY',
    Zip: '10001',
    CountryCode: 'US',
    IndustryId: '5',
    PrimaryPhoneNumber: 2125550100,
    PrimaryContactName: 'Ann',
    PrimaryContactEmail: 'ann@example.com',
    PrimaryContactPhoneNumber: '2125550101',
    EmployeeCount: 10,
    CallsPerMonth: '1000',
    DunsNumber: '123456789',
    Url: 'https://example.com',
    Dba: null,
    LicenceNumber: '',
    CallPurposeDescription: 'Sales',
    PotentialNegativeReaction: 'None',
    IsDefault: null,
  })
  expect(made.status).toBe(200)
  const { LegalEntityId } = made.json() as { LegalEntityId: number }
  expect(made.json()).toEqual({
    LegalEntityId,
    AcctId: 'main',
    IsCreated: true,
    IsUpdated: false,
  })
  const changed = await update({ LegalEntityId: String(LegalEntityId), legalname: 'Acme LLC' })
  expect(changed.json()).toEqual({
    LegalEntityId,
    AcctId: 'main',
    IsCreated: false,
    IsUpdated: true,
  })
  const listed = await app.send(listPath)
  expect(listed.status).toBe(200)
  expect(listed.json()).toEqual([
    {
      LegalEntityId,
      AcctId: 'main',
      IsDefault: true,
      LegalName: 'Acme LLC',
      Ein: '***6789',
      PrimaryPhoneNumber: '2125550100',
      StreetAddress: '1 Main St',
      City: 'New York',
      State: 'NY',
      Zip: '10001',
      CountryCode: 'US',
    },
  ])
  expect(legalEntitiesGet.response.parse(listed.json())).toEqual(await entities.list(admin))
  expect(counted).toEqual(['main reputation'])
})

test('an account without any has an empty list', async () => {
  expect((await app.send(listPath)).text).toBe('[]')
})

describe('refusals are problems', () => {
  test.each([
    ['no body', create, '', 400, 'the body is missing'],
    ['no name', create, {}, 400, 'LegalName: is required'],
    ['a number as name', create, { LegalName: 7 }, 400, "LegalName '7': must be text or null"],
    ['a dash', create, { LegalName: 'x', EIN: '12-3456789' }, 400, '9 digits without a dash'],
    [
      'a slip',
      create,
      { LegalName: 'x', StreetAdress: '1' },
      400,
      "StreetAdress '1': is an unknown",
    ],
    ['industry 28', create, { LegalName: 'x', IndustryId: 28 }, 400, 'IndustryId'],
    ['half an industry', create, { LegalName: 'x', IndustryId: 1.5 }, 400, 'whole number or null'],
    ['text as default', create, { LegalName: 'x', IsDefault: 'yes' }, 400, 'true or false'],
    ['no id', update, { LegalName: 'x' }, 400, 'LegalEntityId: is required'],
    ['a text as id', update, { LegalEntityId: '1 or 1=1' }, 400, 'must be a whole number'],
    ['a negative id', update, { LegalEntityId: -1 }, 400, 'must be a whole number'],
    ['an unknown id', update, { LegalEntityId: 99 }, 404, "LegalEntityId '99': is not a legal"],
  ])('%s', async (_name, call, body, status, detail) => {
    const answer = await call(body)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    const problem = answer.json() as Record<string, unknown>
    expect(Object.keys(problem)).toEqual(['type', 'title', 'status', 'detail', 'instance'])
    expect(problem.detail).toContain(detail)
  })

  test('an unknown key', async () => {
    for (const answer of await Promise.all([
      app.send(listPath, { key: 'x' }),
      app.send(listPath, { key: null }),
      create({ LegalName: 'x' }, 'x'),
      update({ LegalEntityId: 1 }, 'x'),
    ])) {
      expect([answer.status, (answer.json() as { status: number }).status]).toEqual([401, 401])
    }
  })

  test('another account neither sees, changes nor learns of an entity', async () => {
    const made = (await create({ LegalName: 'Mine' })).json() as { LegalEntityId: number }
    const { LegalEntityId } = made
    const theirs = await update({ LegalEntityId, LegalName: 'Theirs' }, otherKey)
    const unknown = await update({ LegalEntityId: 12345, LegalName: 'Theirs' }, otherKey)
    expect(theirs.status).toBe(404)
    expect(theirs.text.replaceAll(`'${LegalEntityId}'`, "'12345'")).toBe(unknown.text)
    expect((await app.send(listPath, { key: otherKey })).text).toBe('[]')
    expect((await app.send(listPath)).text).toContain('"LegalName":"Mine"')
  })
})
