/** One-time scans as their customers see them: submit, credits, tests of the address, status. */
import { describe, expect, test } from 'vitest'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { ScanRequest } from '../../src/domain/reputation.js'
import { useDatabase } from '../support/database.js'
import {
  creditsOf,
  eventsOf,
  numbersFrom,
  runAll,
  scanParts,
  setCredits,
} from '../support/scan-parts.js'
import { caller } from '../support/service-subjects.js'

const database = useDatabase()

const request = (more: Partial<ScanRequest> = {}): ScanRequest => ({
  numbers: ['2125550101', '2125550102', '2125550101'].map(toPhoneNumber),
  notificationUrl: 'https://customer.example/hook',
  notificationKey: 'the secret key',
  scanType: 'carrier',
  testOnly: false,
  ...more,
})

const jobs = () => database.db.selectFrom('scan_jobs').selectAll().execute()
const numbers = () =>
  database.db.selectFrom('scan_numbers').selectAll().orderBy('position').execute()

describe('submit', () => {
  test('is on disk when it is acknowledged, in request order, duplicates kept', async () => {
    const { scans, time } = await scanParts(database.storage)
    const submitted = await scans.submit(caller(), request())
    expect(submitted).toEqual({
      jobId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'Submitted',
      phoneCount: 3,
    })
    await database.reopen()
    expect(await jobs()).toMatchObject([
      {
        id: submitted.jobId,
        account_id: 'main',
        status: 'Submitted',
        scan_type: 'carrier',
        notification_url: 'https://customer.example/hook',
        phone_count: 3,
        notification_key: 'the secret key',
        processed_count: 0,
        created_at: time.now(),
      },
    ])
    expect((await numbers()).map(({ number }) => number)).toEqual(request().numbers)
  })

  test('wakes the worker', async () => {
    const { scans, recurring, time, news } = await scanParts(database.storage)
    recurring.start()
    await time.settle()
    await scans.submit(caller(), request())
    await time.advance(0)
    expect(news).toEqual(['ended Complete 3'])
    await recurring.close()
  })

  test('takes a credit for each number, and none of an account without a limit', async () => {
    const { scans } = await scanParts(database.storage)
    await scans.submit(caller(), request())
    expect(await creditsOf(database.storage)).toBeNull()
    await setCredits(database.storage, { scan_credits: 5 })
    await scans.submit(caller(), request())
    expect(await creditsOf(database.storage)).toBe(2)
    expect((await jobs()).map((job) => job.credits_taken).sort()).toEqual([0, 3])
  })

  test('more than the credits is refused and changes nothing', async () => {
    const { scans } = await scanParts(database.storage)
    await setCredits(database.storage, { scan_credits: 2 })
    await expect(scans.submit(caller(), request())).rejects.toMatchObject({
      kind: 'forbidden',
      message: 'insufficient credits: the scan needs 3, the account has 2',
    })
    expect(await creditsOf(database.storage)).toBe(2)
    expect(await jobs()).toEqual([])
    expect(await numbers()).toEqual([])
  })

  test('many at once spend no credit twice', async () => {
    const { scans } = await scanParts(database.storage)
    await setCredits(database.storage, { scan_credits: 10 })
    const all = await Promise.allSettled(
      Array.from({ length: 8 }, () => scans.submit(caller(), request())),
    )
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    expect(await creditsOf(database.storage)).toBe(1)
    expect(await jobs()).toHaveLength(3)
  })

  test('an account that may not scan is refused, tests of the address included', async () => {
    const { scans, queue } = await scanParts(database.storage)
    await setCredits(database.storage, { may_scan: 0 })
    for (const testOnly of [false, true]) {
      await expect(scans.submit(caller(), request({ testOnly }))).rejects.toMatchObject({
        kind: 'forbidden',
        message: 'the account is not authorized for one-time scans',
      })
    }
    expect(queue.probed).toEqual([])
  })

  test('an address nothing may be sent to is refused, for scans and tests', async () => {
    const { scans, queue } = await scanParts(database.storage)
    for (const testOnly of [false, true]) {
      const bad = request({ notificationUrl: 'https://forbidden.example/', testOnly })
      await expect(scans.submit(caller(), bad)).rejects.toMatchObject({
        problems: [{ field: 'NotificationURL', rule: 'is not permitted' }],
      })
    }
    expect(queue.probed).toEqual([])
    expect(await jobs()).toEqual([])
  })

  test('10,000 numbers are one job', async () => {
    const { scans } = await scanParts(database.storage)
    const list = numbersFrom(0, 10_000)
    await scans.submit(caller(), request({ numbers: list }))
    expect((await numbers()).map(({ number }) => number)).toEqual(list)
  })
})

describe('a test of the address', () => {
  const zero = '00000000-0000-0000-0000-000000000000'

  test('sends the test payload, stores nothing and costs nothing', async () => {
    const { scans, queue } = await scanParts(database.storage)
    await setCredits(database.storage, { scan_credits: 0 })
    expect(await scans.submit(caller(), request({ testOnly: true }))).toEqual({
      jobId: zero,
      status: 'Submitted',
      phoneCount: 0,
    })
    expect(queue.probed).toEqual([
      {
        accountId: 'main',
        kind: 'scan',
        subject: zero,
        event: 'scan.test',
        url: 'https://customer.example/hook',
        apiKey: 'the secret key',
        body: { JobId: zero, Status: 'Complete', Results: [] },
      },
    ])
    expect(await jobs()).toEqual([])
    expect(await eventsOf(database.storage, zero)).toEqual([])
    expect(await creditsOf(database.storage)).toBe(0)
  })

  test.each([
    [{ httpStatus: 503, problem: 'status 503' }, 'it answered with status 503'],
    [
      { httpStatus: undefined, problem: 'the address is not permitted' },
      'there was no HTTP answer',
    ],
  ])('tells what became of it: %j', async (probe, what) => {
    const { scans, queue } = await scanParts(database.storage)
    queue.probeGives = probe
    const refused = scans.submit(caller(), request({ testOnly: true }))
    await expect(refused).rejects.toMatchObject({
      kind: 'invalid-request',
      problems: [
        {
          field: 'NotificationURL',
          value: 'https://customer.example/hook',
          rule: `the test notification was not delivered: ${what}`,
        },
      ],
    })
    await expect(refused).rejects.not.toThrow('the secret key')
  })
})

describe('status', () => {
  test('goes from Submitted over Processing to Complete, results last', async () => {
    const { scans, worker } = await scanParts(database.storage, { batchSize: 2 })
    const { jobId } = await scans.submit(caller(), request())
    const state = () => scans.status(caller(), { jobId })
    const common = { jobId, phoneCount: 3 }
    expect(await state()).toEqual({ ...common, status: 'Submitted', processedCount: 0 })
    await worker.run()
    expect(await state()).toEqual({ ...common, status: 'Processing', processedCount: 2 })
    await runAll(worker)
    const complete = await state()
    expect(complete).toMatchObject({ ...common, status: 'Complete', processedCount: 3 })
    expect(complete.results?.map(({ Phone }) => Phone)).toEqual(request().numbers)
  })

  test('of another account’s job is forbidden, and says nothing of it', async () => {
    const { scans } = await scanParts(database.storage)
    const { jobId } = await scans.submit(caller('other'), request())
    await expect(scans.status(caller(), { jobId })).rejects.toMatchObject({
      kind: 'forbidden',
      message: 'the job belongs to another account',
    })
  })

  test('never shows a part of the results: a job that is forgotten meanwhile is none', async () => {
    const { scans, worker } = await scanParts(database.storage)
    const { jobId } = await scans.submit(caller(), request())
    await runAll(worker)
    await database.db.deleteFrom('scan_numbers').where('position', '=', 1).execute()
    await expect(scans.status(caller(), { jobId })).rejects.toMatchObject({
      problems: [{ field: 'jobId', value: jobId }],
    })
  })

  test('of no job is refused', async () => {
    const { scans } = await scanParts(database.storage)
    const jobId = '6f1c0000-0000-4000-8000-000000000000'
    await expect(scans.status(caller(), { jobId })).rejects.toMatchObject({
      kind: 'invalid-request',
      problems: [{ field: 'jobId', value: jobId }],
    })
  })
})
