import { expect } from 'vitest'
import { wrongKey } from './support/calls.js'
import { type Ask, ask, askOnce, type Reply } from './support/client.js'
import { monitored, rowsIn } from './support/monitored.js'
import { isUuid } from './support/rules.js'
import { run } from './support/run.js'
import { jobStatus, scan, scanBody, submit, testedUrl } from './support/scans.js'
import { asRow, asRows, section, sentence, sentences } from './support/sentence.js'

const getAllPath = '/v1.5/Reputation/GetAll'
const summaryPath = '/v1.5/Reputation/FlagsRemovedSummary'
const entitiesPath = '/v1.5/Reputation/GetAllLegalEntities'

type Query = Readonly<Record<string, string>>

const badGetAll = (query: Query) => askOnce({ path: getAllPath, query })
const summary = (query?: Query) => askOnce({ path: summaryPath, ...(query && { query }) })

section('reputation-endpoints', () => {
  sentence('GetAll answers an array, and header X-Total-Count holds the total count', async () => {
    const { getAll } = await monitored()
    expect(getAll.headers.get('x-total-count')).toBe(String(asRows(getAll.json()).length))
  })

  sentence('GetAll answers the numbers that the monitor API was given', async () => {
    const { getAll, phones } = await monitored()
    const found = asRows(getAll.json()).map((row) => row.Phone)
    expect(found).toEqual(expect.arrayContaining([...phones]))
  })

  sentences(
    ['many', '-1'],
    (maxRecords) => `GetAll: maxRecords '${maxRecords}' is an invalid parameter, 400`,
    async (maxRecords) => expectStatus(await badGetAll({ maxRecords }), 400),
  )

  sentence('GetAll: too many records requested, 413', async () => {
    expectStatus(await badGetAll({ maxRecords: '2147483647' }), 413)
  })

  sentences(
    [getAllPath, summaryPath, entitiesPath],
    (path) => `${path}: 401 without a valid key`,
    async (path) => {
      expectStatus(await ask({ path, key: null }), 401)
      expectStatus(await ask({ path, key: wrongKey }), 401)
    },
  )

  sentence('OneTimeScan answers JobId, Status Submitted and PhoneCount', async (needs) => {
    const { submitted, phones } = await scan(needs, 'carrier')
    expect(isUuid(submitted.JobId)).toBe(true)
    expect(submitted).toMatchObject({ Status: 'Submitted', PhoneCount: phones.length })
  })

  sentences(
    ['PhoneNumbers', 'NotificationURL', 'ScanType'],
    (field) => `OneTimeScan: ${field} is required, else 400`,
    async (field, needs) => {
      const { [field]: _left, ...body } = await scanBody(needs)
      expectStatus(await submit(body), 400)
    },
  )

  sentences(
    [
      ['one bad number among good ones', { PhoneNumbers: ['2125550100', '12125550100'] }],
      ['no numbers', { PhoneNumbers: [] }],
      ['an unknown ScanType', { ScanType: 'everything' }],
      ['a NotificationURL that is none', { NotificationURL: 'no url' }],
      ['a NotificationURL that is not of the web', { NotificationURL: 'file:///etc/passwd' }],
      ['TestNotificationURL that is no boolean', { TestNotificationURL: 'perhaps' }],
    ] as const,
    ([what]) => `OneTimeScan: ${what} is an invalid body or number format, 400`,
    async ([, wrong], needs) => expectStatus(await submit(await scanBody(needs, wrong)), 400),
  )

  sentence('OneTimeScan: a body that is no JSON is invalid, 400', async () => {
    const headers = { 'content-type': 'application/json' }
    const body = 'no JSON'
    expectStatus(await scanStatus({ method: 'POST', body, headers }), 400)
  })

  sentence('OneTimeScan: 401 without a valid key', async (needs) => {
    expectStatus(await submit(await scanBody(needs), wrongKey), 401)
  })

  sentence('OneTimeScan: 403 when not authorized or without credits', async (needs) => {
    const key = needs(run.scanlessLoginId, '--scanless-login-id, of an account that may not scan')
    expectStatus(await submit(await scanBody(needs), key), 403)
  })

  sentence('OneTimeScan: NotificationAPIKey is optional', async (needs) => {
    expectStatus(await submit(await scanBody(needs, { TestNotificationURL: true })), 200)
  })

  sentence('OneTimeScan: TestNotificationURL sends a test payload to the URL', async (needs) => {
    expect((await testedUrl(needs)).delivery.method).toBe('POST')
  })

  sentence('OneTimeScan: TestNotificationURL performs no scan', async (needs) => {
    const { status } = await testedUrl(needs)
    const job = status.status === 200 ? asRow(status.json()) : undefined
    expect(job?.Results ?? []).toEqual([])
  })

  sentence('one-time scans do not add numbers to monitoring', async (needs) => {
    const { phones } = await scan(needs, 'carrier')
    const found = (await rowsIn(ask({ path: getAllPath }))).map((row) => row.Phone)
    expect(phones.filter((phone) => found.includes(phone))).toEqual([])
  })

  sentences(
    [
      ['missing', {}],
      ['empty', { jobId: '' }],
      ['no UUID', { jobId: '17' }],
      ['almost a UUID', { jobId: '00000000-0000-4000-8000-00000000000x' }],
    ] as const,
    ([what]) => `OneTimeScan status: a jobId that is ${what} is 400`,
    async ([, query]) => expectStatus(await scanStatus({ query }), 400),
  )

  sentence('OneTimeScan status: 401 without a valid key', async () => {
    const query = { jobId: '00000000-0000-4000-8000-000000000000' }
    expectStatus(await scanStatus({ query, key: null }), 401)
    expectStatus(await scanStatus({ query, key: wrongKey }), 401)
  })

  sentence('OneTimeScan status: 403 for a job of another account', async (needs) => {
    const key = needs(run.secondLoginId, '--second-login-id')
    const { submitted } = await scan(needs, 'carrier')
    expectStatus(await jobStatus(String(submitted.JobId), key), 403)
  })

  sentences(
    [undefined, '1', '7', '90'],
    (days) => `FlagsRemovedSummary: ${days ?? 'default'} days are answered`,
    async (days) => expectStatus(await summary(days === undefined ? days : { days }), 200),
  )

  sentence('FlagsRemovedSummary: days is 7 when absent', async () => {
    expect((await summary()).json()).toEqual((await summary({ days: '7' })).json())
  })

  sentences(
    ['0', '91', 'week'],
    (days) => `FlagsRemovedSummary: 400 for ${days} days`,
    async (days) => expectStatus(await summary({ days }), 400),
  )

  sentence('GetAllLegalEntities answers an array', async () => {
    expect(await rowsIn(askOnce({ path: entitiesPath }))).toBeInstanceOf(Array)
  })
})

function expectStatus({ status, text }: Reply, wanted: number): void {
  expect(`${status} ${text.slice(0, 300)}`).toMatch(new RegExp(`^${wanted} `))
}

function scanStatus(more: Omit<Ask, 'path'>): Promise<Reply> {
  return askOnce({ path: '/v1.5/Reputation/OneTimeScan', ...more })
}
