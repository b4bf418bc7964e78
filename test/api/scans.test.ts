/** One-time scans over HTTP: fields and their rules, answers, refusals; the key is in none of them. */
import { describe, expect, test } from 'vitest'
import { scanStatus, scanSubmit } from '../../src/api/reputation/scans.js'
import { createRoute } from '../../src/api/route.js'
import type { Caller } from '../../src/domain/caller.js'
import { AppError } from '../../src/errors.js'
import type { LogFields, Logger } from '../../src/observability/log.js'
import { useDatabase } from '../support/database.js'
import { runAll, type ScanParts, scanParts, setCredits } from '../support/scan-parts.js'
import { caller } from '../support/service-subjects.js'
import { openTestApp } from '../support/test-app.js'

const database = useDatabase()
let parts: ScanParts
const begin = async (): Promise<ScanParts> => {
  parts = await scanParts(database.storage)
  return parts
}

const logged: string[] = []
const note = (message: string, fields?: LogFields) =>
  void logged.push(message + String(fields?.err))
const logger: Logger = { error: note, warn: note, info: note, debug: note }
const keys: Readonly<Record<string, Caller>> = { mine: caller(), theirs: caller('other') }
const app = await openTestApp({
  logger,
  authenticate: (key) => keys[key],
  limitRate: (accountId, rate) => {
    if (accountId === 'other') throw new AppError('rate-limited', `too many ${rate} requests`)
  },
  routes: [
    createRoute(scanSubmit, (who, request) => parts.scans.submit(who, request)),
    createRoute(scanStatus, (who, request) => parts.scans.status(who, request)),
  ],
})

const path = '/v1.5/Reputation/OneTimeScan'
const secret = 'S3cret-of-the-customer'
const body = {
  PhoneNumbers: ['2125550101', '2125550102'],
  NotificationURL: 'https://customer.example/hook?t=1',
  NotificationAPIKey: secret,
  ScanType: 'carrierandapps',
}
const post = (more: object, key = 'mine') => app.post(path, { ...body, ...more }, { key })
const get = (query: string, key = 'mine') => app.send(`${path}${query}`, { key })

interface Accepted {
  readonly JobId: string
}

describe('a scan', () => {
  test('is submitted, goes on and ends with its results', async () => {
    const { worker } = await begin()
    const answer = await post({})
    expect(answer.status).toBe(200)
    const { JobId } = answer.json() as Accepted
    expect(answer.json()).toEqual({ JobId, Status: 'Submitted', PhoneCount: 2 })
    expect(scanSubmit.response.parse(answer.json())).toEqual({
      jobId: JobId,
      status: 'Submitted',
      phoneCount: 2,
    })
    const before = { JobId, Status: 'Submitted', PhoneCount: 2, ProcessedCount: 0 }
    expect((await get(`?jobId=${JobId}`)).json()).toEqual(before)
    await runAll(worker)
    const result = {
      CurrScore: 'Clean',
      CarrierAScore: 'Clean',
      CarrierBScore: 'Clean',
      CarrierCScore: 'Clean',
      AppAStatus: 'Clean',
      AppBStatus: 'Clean',
      FTCComplaints: null,
    }
    const complete = await get(`?JOBID=${JobId.toUpperCase()}`)
    expect(complete.json()).toEqual({
      JobId,
      Status: 'Complete',
      PhoneCount: 2,
      ProcessedCount: 2,
      Results: body.PhoneNumbers.map((Phone) => ({ Phone, ...result })),
    })
    expect(scanStatus.response.parse(complete.json())).toMatchObject({
      jobId: JobId,
      status: 'Complete',
      results: [{ Phone: '2125550101' }, {}],
    })
    expect(complete.text).not.toContain(secret)
  })

  test.each([
    ['names in other letter case', { scantype: 'carrier', ScanType: undefined }, 'carrier'],
    ['a type in other letter case', { ScanType: ' Carrier ' }, 'carrier'],
    ['an empty key', { NotificationAPIKey: '' }, 'carrierandapps'],
    ['a key that is null', { NotificationAPIKey: null }, 'carrierandapps'],
    ['no test', { TestNotificationURL: false }, 'carrierandapps'],
  ])('may have %s', async (_case, more, scanType) => {
    await begin()
    expect((await post(more)).status).toBe(200)
    const [job] = await database.db.selectFrom('scan_jobs').selectAll().execute()
    const isKeyless = 'NotificationAPIKey' in more
    expect(job).toMatchObject({
      scan_type: scanType,
      notification_key: isKeyless ? null : secret,
    })
  })

  test('with the longest texts is accepted, and they are kept whole', async () => {
    await begin()
    const long = {
      NotificationAPIKey: 'k'.repeat(1500),
      NotificationURL: `https://customer.example/${'u'.repeat(1500 - 25)}`,
    }
    expect((await post(long)).status).toBe(200)
    const [job] = await database.db.selectFrom('scan_jobs').selectAll().execute()
    expect(job?.notification_key).toBe(long.NotificationAPIKey)
    expect(job?.notification_url).toBe(long.NotificationURL)
  })
})

describe('a submission is refused with 400 that names the field', () => {
  const list = (count: number, one: unknown = '2125550101') => Array<unknown>(count).fill(one)
  test.each<[string, object]>([
    ['PhoneNumbers: is required', { PhoneNumbers: undefined }],
    ["PhoneNumbers 'null': must be a list", { PhoneNumbers: null }],
    ["PhoneNumbers '2125550101': must be a list", { PhoneNumbers: '2125550101' }],
    ["PhoneNumbers 'an object': must be a list", { PhoneNumbers: { 0: '2125550101' } }],
    ['must have at least 1 number', { PhoneNumbers: [] }],
    ["PhoneNumbers 'a list of 10001': must have at most 10000", { PhoneNumbers: list(10_001) }],
    [
      "PhoneNumbers[1] '2125550': must be text: exactly 10",
      { PhoneNumbers: ['2125550101', '2125550'] },
    ],
    ["PhoneNumbers[0] '12125550101': must be", { PhoneNumbers: ['12125550101'] }],
    ["PhoneNumbers[0] '212-555-0101': must be", { PhoneNumbers: ['212-555-0101'] }],
    ["PhoneNumbers[0] ' 2125550101': must be", { PhoneNumbers: [' 2125550101'] }],
    ["PhoneNumbers[0] '٢١٢٥٥٥٠١٠١': must be", { PhoneNumbers: ['٢١٢٥٥٥٠١٠١'] }],
    ["PhoneNumbers[0] '212555010': must be text", { PhoneNumbers: [212555010] }],
    ["PhoneNumbers[0] 'a list of 1': must be", { PhoneNumbers: [['2125550101']] }],
    ["PhoneNumbers[0] '0': must be", { PhoneNumbers: list(200_000, 0) }],
    ['NotificationURL: is required', { NotificationURL: undefined }],
    ["NotificationURL '': is required", { NotificationURL: '  ' }],
    ["NotificationURL '7': is required and must be text", { NotificationURL: 7 }],
    [
      'must not be longer than 1500 characters',
      { NotificationURL: `https://x.example/${'u'.repeat(1483)}` },
    ],
    [
      "NotificationURL 'https://forbidden.example/': is not permitted",
      { NotificationURL: 'https://forbidden.example/' },
    ],
    ['ScanType: is required and must be one of carrier, carrierandapps', { ScanType: undefined }],
    ["ScanType 'apps': is required and must be one of", { ScanType: 'apps' }],
    ["ScanType '1': is required and must be one of", { ScanType: 1 }],
    ["TestNotificationURL 'maybe': must be 0, 1, true or false", { TestNotificationURL: 'maybe' }],
    ["PhoneNumber 'a list of 1': is an unknown field", { PhoneNumber: ['2125550101'] }],
    ["scanType 'carrier': is given twice", { scanType: 'carrier' }],
  ])('%s', async (detail, more) => {
    await begin()
    const answer = await post(more)
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    const problem = answer.json() as { readonly detail: string }
    expect(problem).toMatchObject({ status: 400, title: 'Bad Request', instance: path })
    expect(problem.detail).toContain(detail)
    expect(answer.text).not.toContain(secret)
    expect(await database.db.selectFrom('scan_jobs').selectAll().execute()).toEqual([])
  })

  test.each<[string, object]>([
    ["NotificationAPIKey '(not shown)': must be text", { NotificationAPIKey: 12_345 }],
    ["NotificationAPIKey '(not shown)': must be text", { NotificationAPIKey: [secret] }],
    ["NotificationAPIKey '(not shown)': must be text", { NotificationAPIKey: false }],
    [
      "NotificationAPIKey '(not shown)': must not be longer than 1500 characters",
      { NotificationAPIKey: secret.repeat(100) },
    ],
    [
      "NotificationAPIKey '(not shown)': must be printable ASCII",
      { NotificationAPIKey: `${secret}\r\nX-More: 1` },
    ],
    [
      "NotificationAPIKey '(not shown)': must be printable ASCII",
      { NotificationAPIKey: `${secret}é` },
    ],
    ["'(not shown)': is given twice", { notificationapikey: `${secret}2` }],
    ["NotificationApi_Key '(not shown)': is an unknown field", { NotificationApi_Key: secret }],
  ])('and hides a key: %s', async (detail, more) => {
    await begin()
    const answer = await post(more)
    expect(answer.status).toBe(400)
    expect((answer.json() as { readonly detail: string }).detail).toContain(detail)
    expect(answer.text).not.toContain('S3cret')
    expect(answer.text).not.toContain('12345')
  })
})

describe('a status call is refused', () => {
  test.each([
    ['', 'jobId: is required and must be the UUID of a scan job'],
    ['?jobId=', "jobId '': must be the UUID of a scan job"],
    ['?jobId=7', "jobId '7': must be the UUID"],
    ["?jobId=' or 1=1 --", 'must be the UUID'],
    ['?jobId=6f1c0000-0000-4000-8000-000000000000', 'scan job not found'],
    ['?jobId=00000000-0000-0000-0000-000000000000', 'scan job not found'],
    ['?job_id=6f1c0000-0000-4000-8000-000000000000', 'is an unknown field'],
  ])('400: %s', async (query, detail) => {
    await begin()
    const answer = await get(query)
    expect(answer.status).toBe(400)
    expect((answer.json() as { readonly detail: string }).detail).toContain(detail)
  })

  test('403 for another account’s job', async () => {
    const { scans } = await begin()
    const { jobId } = await scans.submit(caller('other'), {
      numbers: [],
      notificationUrl: 'https://x.example',
      notificationKey: secret,
      scanType: 'carrier',
      testOnly: false,
    })
    const answer = await get(`?jobId=${jobId}`)
    expect(answer.status).toBe(403)
    expect(answer.json()).toEqual({
      type: 'about:blank',
      title: 'Forbidden',
      status: 403,
      instance: path,
      detail: 'the job belongs to another account',
    })
  })
})

describe('both calls', () => {
  const both: readonly (readonly [string, (key: string) => ReturnType<typeof get>])[] = [
    ['POST', (key) => post({}, key)],
    ['GET', (key) => get('?jobId=6f1c0000-0000-4000-8000-000000000000', key)],
  ]
  test.each(both)('%s needs a key', async (_method, send) => {
    await begin()
    const answer = await send('nobody’s'.replace('’', ''))
    expect(answer.status).toBe(401)
    expect(answer.json()).toMatchObject({ status: 401, title: 'Unauthorized', instance: path })
  })

  test.each(both)('%s counts against the limit of the reputation calls', async (_method, send) => {
    await begin()
    const answer = await send('theirs')
    expect(answer.status).toBe(429)
    expect(answer.text).toContain('too many reputation requests')
  })
})

test.each([
  [{ may_scan: 0 }, 'the account is not authorized for one-time scans'],
  [{ scan_credits: 1 }, 'insufficient credits: the scan needs 2, the account has 1'],
])('403 for an account with %j', async (values, detail) => {
  await begin()
  await setCredits(database.storage, values)
  const answer = await post({})
  expect(answer.status).toBe(403)
  expect(answer.json()).toMatchObject({ status: 403, title: 'Forbidden', detail })
})

test('a bug gives a 500 without details, and the key is not in the log', async () => {
  await begin()
  await database.db.schema.alterTable('scan_jobs').renameTo('elsewhere').execute()
  const answer = await post({})
  expect(answer.status).toBe(500)
  expect(answer.json()).toMatchObject({ status: 500, instance: path })
  expect(logged.join()).toContain('request failed')
  expect(logged.join() + answer.text).not.toContain(secret)
})

describe('a test of the address', () => {
  const zero = '00000000-0000-0000-0000-000000000000'

  test('answers with the all-zero job', async () => {
    const { queue } = await begin()
    const answer = await post({ TestNotificationURL: true })
    expect(answer.status).toBe(200)
    expect(answer.json()).toEqual({ JobId: zero, Status: 'Submitted', PhoneCount: 0 })
    expect(queue.probed[0]?.body).toEqual({ JobId: zero, Status: 'Complete', Results: [] })
  })

  test('that was not taken is a 400 naming the address', async () => {
    const { queue } = await begin()
    queue.probeGives = { httpStatus: undefined, problem: 'no connection (ECONNREFUSED)' }
    const answer = await post({ TestNotificationURL: 'true' })
    expect(answer.status).toBe(400)
    expect((answer.json() as { readonly detail: string }).detail).toBe(
      "NotificationURL 'https://customer.example/hook?t=1': the test notification was not delivered: there was no HTTP answer",
    )
  })
})
