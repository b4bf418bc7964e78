/** The work of one-time scans: results, turns, waiting for sources, ending once. */
import { describe, expect, test } from 'vitest'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { Complaint, NumberLabels } from '../../src/domain/spam-labels.js'
import { computePause } from '../../src/service/scans/scan-passes.js'
import { maxComplaints } from '../../src/service/scans/scan-result.js'
import type { Scans } from '../../src/service/scans/scans.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { useDatabase } from '../support/database.js'
import {
  clean,
  creditsOf,
  eventsOf,
  fakeBooks,
  numbersFrom,
  runAll,
  scanParts,
  setCredits,
} from '../support/scan-parts.js'
import { caller } from '../support/service-subjects.js'

const database = useDatabase()
const hour = 3_600_000

interface Wanted {
  readonly numbers?: readonly string[]
  readonly scanType?: 'carrier' | 'carrierandapps'
  readonly account?: string
}

async function submit(
  scans: Scans,
  { numbers = ['2125550101'], scanType = 'carrier', account = 'main' }: Wanted = {},
): Promise<string> {
  const { jobId } = await scans.submit(caller(account), {
    numbers: numbers.map(toPhoneNumber),
    scanType,
    notificationKey: 'the secret key',
    testOnly: false,
    notificationUrl: 'https://customer.example/hook',
  })
  return jobId
}

const rowOf = (id: string) =>
  database.db.selectFrom('scan_jobs').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

const complaint = (id: number): Complaint => ({
  id: `C${id}`,
  phone: toPhoneNumber('2125550101'),
  city: 'X',
  state: 'NY',
  areaCode: '212',
  createdDate: '11/20/2026 10:00:00',
  violationDate: '11/19/2026 09:00:00',
  subject: 'Medical',
  recordedMessageOrRobocall: 'Y',
})

describe('results', () => {
  const flagged = (...sources: (keyof NumberLabels)[]): NumberLabels => ({
    ...clean,
    ...Object.fromEntries(sources.map((one) => [one, true])),
  })
  const carriers = { CarrierAScore: 'Clean', CarrierBScore: 'Clean', CarrierCScore: 'Clean' }
  const noApps = { AppAStatus: null, AppBStatus: null, FTCComplaints: null }
  const apps = { AppAStatus: 'Clean', AppBStatus: 'Clean', FTCComplaints: null }

  test.each([
    ['clean', 'carrier', 'US', clean, { CurrScore: 'Clean', ...carriers, ...noApps }],
    [
      ...(['one of three carriers', 'carrier', 'US', flagged('CarrierA')] as const),
      { CurrScore: 'Medium', ...carriers, CarrierAScore: 'Flagged', ...noApps },
    ],
    [
      ...(['two of three', 'carrier', 'US', flagged('CarrierA', 'CarrierC')] as const),
      {
        CurrScore: 'High',
        ...carriers,
        CarrierAScore: 'Flagged',
        CarrierCScore: 'Flagged',
        ...noApps,
      },
    ],
    [
      ...(['an app that was not asked', 'carrier', 'US', flagged('AppA')] as const),
      { CurrScore: 'Clean', ...carriers, ...noApps },
    ],
    ['apps, clean', 'carrierandapps', 'US', clean, { CurrScore: 'Clean', ...carriers, ...apps }],
    [
      ...(['an app', 'carrierandapps', 'US', flagged('AppB')] as const),
      { CurrScore: 'Medium', ...carriers, ...apps, AppBStatus: 'Flagged' },
    ],
    [
      ...(['a carrier not of the country', 'carrier', 'CA', flagged('CarrierB')] as const),
      { CurrScore: 'Clean', ...carriers, CarrierBScore: null, ...noApps },
    ],
    [
      ...(['a carrier without a field', 'carrier', 'CA', flagged('CarrierD')] as const),
      { CurrScore: 'Medium', ...carriers, CarrierBScore: null, ...noApps },
    ],
  ] as const)('%s (%s, %s)', async (_case, scanType, country, labels, expected) => {
    const { scans, worker, books } = await scanParts(database.storage)
    await setCredits(database.storage, { country })
    books.labels.set('2125550101', labels)
    const jobId = await submit(scans, { scanType })
    await runAll(worker)
    const { results } = await scans.status(caller(), { jobId })
    expect(results).toEqual([{ Phone: '2125550101', ...expected }])
  })

  test('complaints have five fields, come newest first and in a bounded number', async () => {
    const { scans, worker, books } = await scanParts(database.storage)
    const filed = Array.from({ length: maxComplaints + 5 }, (_, index) => complaint(index))
    books.complaints.set('2125550101', filed)
    const carrier = await submit(scans)
    const both = await submit(scans, { scanType: 'carrierandapps' })
    await runAll(worker)
    const resultOf = async (jobId: string) =>
      (await scans.status(caller(), { jobId })).results?.[0]?.FTCComplaints
    expect(await resultOf(carrier)).toBeNull()
    const shown = await resultOf(both)
    expect(shown?.map((one) => one.FTCComplaintId)).toEqual(
      filed.slice(0, maxComplaints).map(({ id }) => id),
    )
    expect(shown?.[0]).toEqual({
      FTCComplaintId: 'C0',
      Phone: '2125550101',
      Subject: 'Medical',
      CreatedDate: '11/20/2026 10:00:00',
      ViolationDate: '11/19/2026 09:00:00',
    })
  })

  test('are in request order over all batches, duplicates included, each number asked once', async () => {
    const { scans, worker, books } = await scanParts(database.storage, { batchSize: 4 })
    const numbers = ['2125550109', '2125550101', '2125550109', '2125550105', ...numbersFrom(0, 7)]
    const jobId = await submit(scans, { numbers })
    await runAll(worker)
    const { results } = await scans.status(caller(), { jobId })
    expect(results?.map(({ Phone }) => Phone)).toEqual(numbers)
    expect(books.asked.map((asked) => asked.numbers)).toEqual([3, 4, 3])
  })

  test('of 1,234 numbers come whole, by status and by webhook', async () => {
    const { scans, worker } = await scanParts(database.storage)
    const numbers = numbersFrom(0, 1_234)
    const jobId = await submit(scans, { numbers })
    await runAll(worker)
    const { results } = await scans.status(caller(), { jobId })
    expect(results?.map(({ Phone }) => Phone)).toEqual(numbers)
    const [event] = await eventsOf(database.storage, jobId)
    expect(event?.body.Results).toEqual(results)
  })
})

describe('the end', () => {
  test('comes with one notification; the key goes there and is forgotten here', async () => {
    const { scans, worker, queue, news } = await scanParts(database.storage)
    const jobId = await submit(scans)
    await runAll(worker)
    await runAll(worker)
    expect(await eventsOf(database.storage, jobId)).toEqual([
      {
        account: 'main',
        event: 'scan.complete',
        url: 'https://customer.example/hook',
        apiKey: 'the secret key',
        body: {
          JobId: jobId,
          Status: 'Complete',
          Results: (await scans.status(caller(), { jobId })).results,
        },
      },
    ])
    expect(queue.woken).toBe(1)
    expect(await rowOf(jobId)).toMatchObject({ status: 'Complete', notification_key: null })
    expect(news).toEqual(['ended Complete 1'])
  })

  test('is taken back with a notification that could not be written, and tried again', async () => {
    const { scans, recurring, queue, time, news } = await scanParts(database.storage)
    queue.failures.push(new Error('no room'))
    const jobId = await submit(scans)
    recurring.start()
    await time.settle()
    expect(await rowOf(jobId)).toMatchObject({
      status: 'Processing',
      processed_count: 1,
      finished_at: null,
      notification_key: 'the secret key',
    })
    expect(await eventsOf(database.storage, jobId)).toEqual([])
    expect(queue.woken).toBe(0)
    // The source has answered, so the job does not rest.
    await time.advance(5_000)
    expect(await eventsOf(database.storage, jobId)).toHaveLength(1)
    expect(news).toEqual(['ended Complete 1'])
    await recurring.close()
  })

  test('waits for results that could not be stored, which no source is asked for again', async () => {
    const books = fakeBooks()
    let failures = 3
    const retryWhileLocked: OpenDatabase['retryWhileLocked'] = (work) => {
      const isFull = books.asked.length > 0 && failures > 0
      failures -= isFull ? 1 : 0
      return isFull
        ? Promise.reject(new Error('disk full'))
        : database.storage.retryWhileLocked(work)
    }
    const storage = Object.create(database.storage, {
      retryWhileLocked: { value: retryWhileLocked },
    })
    const { scans, recurring, time, news, errors } = await scanParts(storage, { books })
    await submit(scans)
    recurring.start()
    await time.advance(3 * 5_000)
    expect(errors).toHaveLength(3)
    expect(news).toEqual(['ended Complete 1'])
    expect(books.asked).toHaveLength(1)
    await recurring.close()
  })

  test('never is Failed for a job that has all its results, however long that takes', async () => {
    const { scans, recurring, queue, time } = await scanParts(database.storage)
    await setCredits(database.storage, { scan_credits: 1 })
    for (let failure = 0; failure < 60; failure += 1) queue.failures.push(new Error('no room'))
    const jobId = await submit(scans)
    recurring.start()
    await time.advance(59 * 5_000)
    expect(await rowOf(jobId)).toMatchObject({ status: 'Processing' })
    await time.advance(2 * 5_000)
    expect(await rowOf(jobId)).toMatchObject({ status: 'Complete' })
    expect(await creditsOf(database.storage)).toBe(0)
    await recurring.close()
  })
})

describe('turns', () => {
  test('a long list of one account does not hold up another’s short one', async () => {
    const { scans, worker, books, news } = await scanParts(database.storage, { batchSize: 10 })
    const long = await submit(scans, { numbers: numbersFrom(0, 1_000), account: 'other' })
    await worker.run()
    const short = await submit(scans, { numbers: numbersFrom(0, 15) })
    await worker.run()
    await worker.run()
    expect(await rowOf(short)).toMatchObject({ status: 'Complete' })
    expect(await rowOf(long)).toMatchObject({ status: 'Processing', processed_count: 30 })
    expect(await eventsOf(database.storage, short)).toMatchObject([{ account: 'main' }])
    expect(news).toEqual(['ended Complete 15'])
    const ofShort = books.asked.filter(({ account }) => account === 'main')
    expect(ofShort.map(({ numbers }) => numbers)).toEqual([10, 5])
  })

  test('the jobs of one account take turns, and a stream of short ones does not starve a long one', async () => {
    const { scans, worker, time } = await scanParts(database.storage, { batchSize: 10 })
    const long = await submit(scans, { numbers: numbersFrom(0, 1_000) })
    const short: string[] = []
    for (let round = 0; round < 80; round += 1) {
      await time.advance(1)
      short.push(await submit(scans))
      await worker.run()
    }
    // At most eight take turns.
    expect((await rowOf(long)).processed_count).toBeGreaterThanOrEqual(10 * (80 / 8))
    expect(await rowOf(short[0] ?? '')).toMatchObject({ status: 'Complete' })
  })

  test('more jobs than take turns at once all end', async () => {
    const { scans, worker } = await scanParts(database.storage)
    const ids = []
    for (let job = 0; job < 25; job += 1) ids.push(await submit(scans))
    await runAll(worker)
    for (const id of ids) expect(await rowOf(id)).toMatchObject({ status: 'Complete' })
  })

  test('a job whose source is in trouble rests meanwhile, and does not hold up the others', async () => {
    const { scans, worker, books } = await scanParts(database.storage, { batchSize: 10 })
    books.labels.set('2125550199', {})
    const stuck = await submit(scans, { numbers: ['2125550199'] })
    const fine = await submit(scans, { numbers: numbersFrom(0, 50) })
    await runAll(worker)
    expect(books.asked.filter(({ numbers }) => numbers === 1)).toHaveLength(1)
    expect(await rowOf(fine)).toMatchObject({ status: 'Complete' })
    expect(await rowOf(stuck)).toMatchObject({ status: 'Processing', processed_count: 0 })
  })
})

describe('sources without an answer', () => {
  test('are asked again with growing pauses for a day; then the job fails and its credits come back', async () => {
    const { scans, recurring, books, time, news } = await scanParts(database.storage)
    await setCredits(database.storage, { scan_credits: 10 })
    books.sources.delete('CarrierB')
    const jobId = await submit(scans, { numbers: numbersFrom(0, 3) })
    expect(await creditsOf(database.storage)).toBe(7)
    recurring.start()
    await time.advance(24 * hour - 1)
    const state = { jobId, phoneCount: 3, processedCount: 0 }
    expect(await scans.status(caller(), { jobId })).toEqual({ ...state, status: 'Processing' })
    expect(await eventsOf(database.storage, jobId)).toEqual([])
    await time.advance(1)
    expect(await scans.status(caller(), { jobId })).toEqual({ ...state, status: 'Failed' })
    expect(await eventsOf(database.storage, jobId)).toEqual([
      {
        account: 'main',
        event: 'scan.failed',
        url: 'https://customer.example/hook',
        apiKey: 'the secret key',
        body: { JobId: jobId, Status: 'Failed' },
      },
    ])
    expect(await creditsOf(database.storage)).toBe(10)
    expect(await rowOf(jobId)).toMatchObject({
      notification_key: null,
      failure: 'not every source has answered for every number',
    })
    expect(news.slice(0, 4)).toEqual(['waits 30000', 'waits 60000', 'waits 120000', 'waits 240000'])
    expect(news.slice(9, 11)).toEqual([`waits ${hour}`, `waits ${hour}`])
    expect(news.at(-1)).toBe('ended Failed 3')
    await time.advance(48 * hour)
    expect(await eventsOf(database.storage, jobId)).toHaveLength(1)
    await recurring.close()
  })

  test('that answer at last complete the job, its credits stay taken', async () => {
    const { scans, recurring, books, time } = await scanParts(database.storage)
    await setCredits(database.storage, { scan_credits: 10 })
    books.trouble = new Error('provider is down')
    const jobId = await submit(scans)
    recurring.start()
    await time.advance(20 * hour)
    books.trouble = undefined
    await time.advance(hour)
    expect(await scans.status(caller(), { jobId })).toMatchObject({ status: 'Complete' })
    expect(await creditsOf(database.storage)).toBe(9)
    await recurring.close()
  })

  test('keep what others said: only the open numbers are asked again', async () => {
    const { scans, recurring, books, time } = await scanParts(database.storage, { batchSize: 4 })
    for (const number of numbersFrom(0, 5)) books.labels.set(number, {})
    const jobId = await submit(scans, { numbers: numbersFrom(0, 10) })
    recurring.start()
    await time.settle()
    // The first batch gives nothing, and the others are reached all the same.
    await time.advance(0)
    await time.advance(0)
    expect((await rowOf(jobId)).processed_count).toBe(5)
    for (const number of numbersFrom(0, 3)) books.labels.set(number, clean)
    await time.advance(30_000)
    expect((await rowOf(jobId)).processed_count).toBe(8)
    books.labels.clear()
    await time.advance(hour)
    expect(await rowOf(jobId)).toMatchObject({ status: 'Complete', processed_count: 10 })
    expect(books.asked.map(({ numbers }) => numbers)).toEqual([4, 4, 2, 4, 1, 2])
    await recurring.close()
  })

  test('a pass that got on starts the patience anew', async () => {
    const { scans, recurring, books, time } = await scanParts(database.storage)
    books.labels.set('2125550101', {})
    books.labels.set('2125550102', {})
    const jobId = await submit(scans, { numbers: ['2125550101', '2125550102'] })
    recurring.start()
    await time.advance(20 * hour)
    books.labels.delete('2125550101')
    await time.advance(23 * hour)
    expect(await rowOf(jobId)).toMatchObject({ status: 'Processing', processed_count: 1 })
    await time.advance(3 * hour)
    expect(await rowOf(jobId)).toMatchObject({ status: 'Failed', processed_count: 1 })
    await recurring.close()
  })

  test('that reject are told of, and the time of a stopped process does not count', async () => {
    const first = await scanParts(database.storage)
    first.books.trouble = new Error('provider is down')
    const jobId = await submit(first.scans)
    first.recurring.start()
    await first.time.advance(hour)
    expect(first.news[0]).toBe('waits 30000 Error: provider is down')
    expect(first.errors).toEqual([])
    await first.recurring.close()
    await first.time.advance(72 * hour)
    const again = await scanParts(database.storage, { time: first.time, books: first.books })
    again.recurring.start()
    await again.time.advance(20 * hour)
    expect(await rowOf(jobId)).toMatchObject({ status: 'Processing' })
    await again.time.advance(4 * hour)
    expect(await rowOf(jobId)).toMatchObject({
      status: 'Failed',
      failure: 'Error: provider is down',
    })
    await again.recurring.close()
  })

  test('that never settle are waited for only so long', async () => {
    const { scans, recurring, books, time, news } = await scanParts(database.storage, {
      sourceTimeoutMs: 5_000,
    })
    books.trouble = 'hangs'
    await submit(scans)
    recurring.start()
    await time.advance(5_000)
    expect(news).toEqual(['waits 30000 Error: no answer within 5000 ms'])
    await time.advance(30_000)
    expect(books.asked).toHaveLength(2)
    await time.advance(5_000)
    await recurring.close()
    expect(time.waiting()).toBe(0)
  })

  test('of one account hold up no other', async () => {
    const { scans, recurring, books, time, news } = await scanParts(database.storage, {
      batchSize: 2,
      sourceTimeoutMs: 120_000,
    })
    books.trouble = 'hangs'
    books.troubled = 'other'
    await submit(scans, { account: 'other' })
    const numbers = Array.from({ length: 10 }, (_, line) => `21255501${10 + line}`)
    await submit(scans, { numbers })
    recurring.start()
    await time.advance(6_000)
    expect(news).toEqual(['ended Complete 10'])
    await time.advance(120_000)
    await recurring.close()
  })

  test('a worker that is stopped leaves at once, and the job stays as it is', async () => {
    const { scans, worker, recurring, books, time, news } = await scanParts(database.storage)
    books.trouble = 'hangs'
    const jobId = await submit(scans)
    recurring.start()
    await time.settle()
    expect(books.asked).toHaveLength(1)
    worker.stop()
    await recurring.close()
    expect(await worker.run()).toBe(Number.POSITIVE_INFINITY)
    expect(books.asked).toHaveLength(1)
    expect(news).toEqual([])
    expect(time.waiting()).toBe(0)
    expect(await rowOf(jobId)).toMatchObject({ status: 'Processing', idle_passes: 0 })
    books.trouble = undefined
    const again = await scanParts(database.storage, { time, books })
    await runAll(again.worker)
    expect(await rowOf(jobId)).toMatchObject({ status: 'Complete' })
  })

  test.each([
    ['had no limit when it was submitted', null, 5, 5],
    ['has no limit by now', 5, null, null],
    ['has other credits by now', 5, 100, 101],
  ])('an account that %s gets back what it paid', async (_case, before, after, expected) => {
    const { scans, worker, books } = await scanParts(database.storage, { giveUpAfterMs: 0 })
    books.sources.clear()
    await setCredits(database.storage, { scan_credits: before })
    const jobId = await submit(scans)
    await setCredits(database.storage, { scan_credits: after })
    await runAll(worker)
    expect(await rowOf(jobId)).toMatchObject({ status: 'Failed' })
    expect(await creditsOf(database.storage)).toBe(expected)
  })
})

describe('a restart', () => {
  test('goes on behind the last result, and counts no number twice', async () => {
    const { scans, worker, books, time } = await scanParts(database.storage, { batchSize: 3 })
    const jobId = await submit(scans, { numbers: numbersFrom(0, 8) })
    await worker.run()
    await database.reopen()
    const again = await scanParts(database.storage, { batchSize: 3, books, time })
    await again.worker.run()
    await database.reopen()
    const last = await scanParts(database.storage, { batchSize: 3, books, time })
    await runAll(last.worker)
    expect(await last.scans.status(caller(), { jobId })).toMatchObject({
      status: 'Complete',
      processedCount: 8,
      results: numbersFrom(0, 8).map((Phone) => ({ Phone })),
    })
    expect(books.asked.map(({ numbers }) => numbers)).toEqual([3, 3, 2])
    expect(await eventsOf(database.storage, jobId)).toHaveLength(1)
  })

  test('between the last result and the end writes the end', async () => {
    const { scans, worker, queue, time } = await scanParts(database.storage)
    queue.failures.push(new Error('killed'))
    const jobId = await submit(scans)
    await expect(worker.run()).rejects.toThrow('killed')
    await database.reopen()
    const again = await scanParts(database.storage, { time })
    await time.advance(30_000)
    await runAll(again.worker)
    expect(again.books.asked).toEqual([])
    expect(await eventsOf(database.storage, jobId)).toHaveLength(1)
  })

  test('two workers over one job by mistake still count each number once and end it once', async () => {
    const { scans, worker, books, time, queue } = await scanParts(database.storage, {
      batchSize: 3,
    })
    const other = await scanParts(database.storage, { batchSize: 3, books, time, queue })
    const jobId = await submit(scans, { numbers: numbersFrom(0, 8) })
    for (let round = 0; round < 4; round += 1) await Promise.all([worker.run(), other.worker.run()])
    expect(await rowOf(jobId)).toMatchObject({ status: 'Complete', processed_count: 8 })
    expect(await eventsOf(database.storage, jobId)).toHaveLength(1)
  })
})

test('a job is forgotten 90 days after its end, and an open one never', async () => {
  const { scans, worker, books, time } = await scanParts(database.storage, {
    giveUpAfterMs: 1_000 * 24 * hour,
  })
  const ids: string[] = []
  for (let job = 0; job < 25; job += 1) ids.push(await submit(scans))
  books.labels.set('2125550199', {})
  const open = await submit(scans, { numbers: ['2125550199'] })
  await runAll(worker)
  await time.advance(90 * 24 * hour)
  await runAll(worker)
  const first = { jobId: ids[0] ?? '' }
  expect(await scans.status(caller(), first)).toMatchObject({ status: 'Complete' })
  await time.advance(hour)
  await runAll(worker)
  for (const jobId of ids) {
    await expect(scans.status(caller(), { jobId })).rejects.toMatchObject({
      problems: [
        { field: 'jobId', rule: 'scan job not found; finished jobs are kept for 90 days' },
      ],
    })
  }
  expect(await scans.status(caller(), { jobId: open })).toMatchObject({ status: 'Processing' })
  const left = await database.db.selectFrom('scan_numbers').selectAll().execute()
  expect(left).toMatchObject([{ job_id: open }])
})

describe('pauses', () => {
  const patience = { firstPauseMs: 10, maxPauseMs: 50, giveUpAfterMs: 200 }
  test.each([
    [0, 10],
    [1, 10],
    [2, 20],
    [3, 40],
    [4, 50],
    [5, 50],
    // 10 + 20 + 40 + 50 + 50 are over by then.
    [6, 30],
    [7, undefined],
    [1_000_000, undefined],
  ])('after %i passes without a result: %s', (passes, expected) => {
    expect(computePause(passes, patience)).toBe(expected)
  })

  test('no patience at all gives up after the first pass', () => {
    expect(computePause(1, { ...patience, giveUpAfterMs: 0 })).toBeUndefined()
  })
})
