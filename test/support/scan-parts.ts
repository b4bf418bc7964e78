/** Scans over a test database, with books that say what a test wants and a queue that only writes. */

import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { webhookDescriptions } from '../../src/api/webhook-payloads.js'
import { type PhoneNumber, toPhoneNumber } from '../../src/domain/phone-number.js'
import type { ScanResult } from '../../src/domain/reputation.js'
import type { Complaint, LabelIssuer, NumberLabels } from '../../src/domain/spam-labels.js'
import { labelIssuers } from '../../src/domain/spam-labels.js'
import { invalidRequest } from '../../src/errors.js'
import { BackgroundTask } from '../../src/service/background/background-task.js'
import {
  type ScanSummary,
  ScanWorker,
  type ScanWorkerOptions,
} from '../../src/service/scans/scan-worker.js'
import { Scans } from '../../src/service/scans/scans.js'
import { insertEvent } from '../../src/service/webhooks/webhook-event-rows.js'
import type {
  NewWebhookEvent,
  ProbeResult,
  WebhookQueue,
} from '../../src/service/webhooks/webhook-queue.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { buildSubjects } from './service-subjects.js'
import { type VirtualTime, virtualTime } from './virtual-time.js'

export interface FakeQueue extends WebhookQueue {
  /** What was sent at once, oldest first. */
  readonly probed: NewWebhookEvent[]
  /** What the next probes come to. */
  probeGives: ProbeResult
  /** How often it was woken. */
  woken: number
  /** Thrown by the next `add` calls, oldest first. */
  readonly failures: Error[]
}

/** Writes events and delivers none. Addresses with `forbidden` in them are refused. */
function fakeQueue(): FakeQueue {
  let events = 0
  const queue: FakeQueue = {
    probed: [],
    probeGives: { httpStatus: 200 },
    woken: 0,
    failures: [],
    async add(transaction, event) {
      events += 1
      const id = `evt_${events}${randomBytes(6).toString('hex')}`
      await insertEvent(transaction, event, { id, at: 0 })
      // After the write, so that a test sees whether it is taken back.
      const failure = queue.failures.shift()
      if (failure) throw failure
      return id
    },
    wake: () => {
      queue.woken += 1
    },
    async probe(event) {
      queue.probed.push(event)
      return queue.probeGives
    },
    findLastDelivery: async () => undefined,
    refuseBadUrl(field, url) {
      if (url.includes('forbidden')) {
        throw invalidRequest([{ field, value: url, rule: 'is not permitted' }])
      }
    },
  }
  return queue
}

export interface FakeBooks {
  /** Labels of a number where a test says some; others are clean at every source. */
  readonly labels: Map<string, NumberLabels>
  readonly complaints: Map<string, readonly Complaint[]>
  /** Instead of answering: rejects with it, or never answers. */
  trouble: Error | 'hangs' | undefined
  /** Whose questions it befalls; everybody's when absent. */
  troubled?: string
  /** What was asked, oldest first. */
  readonly asked: { readonly account: string; readonly numbers: number }[]
  readonly sources: Set<LabelIssuer>
}

export const clean: NumberLabels = Object.fromEntries(labelIssuers.map((one) => [one, false]))

export interface ScanParts {
  readonly time: VirtualTime
  readonly queue: FakeQueue
  readonly books: FakeBooks
  readonly scans: Scans
  readonly worker: ScanWorker
  /** Runs the worker whenever it has work, once it is started. */
  readonly recurring: BackgroundTask
  /** Lines such as `waits 30000` and `ended Complete`. */
  readonly news: string[]
  /** What runs rejected with. */
  readonly errors: unknown[]
}

export interface ScanPartsOptions
  extends Partial<Pick<ScanWorkerOptions, 'batchSize' | 'sourceTimeoutMs' | 'giveUpAfterMs'>> {
  readonly time?: VirtualTime
  readonly books?: FakeBooks
  readonly queue?: FakeQueue
}

/** As a process builds them at its start, over what the database holds. */
export async function scanParts(
  storage: OpenDatabase,
  {
    time = virtualTime(),
    books = fakeBooks(),
    queue = fakeQueue(),
    ...more
  }: ScanPartsOptions = {},
): Promise<ScanParts> {
  await buildSubjects(storage)
  const news: string[] = []
  const errors: unknown[] = []
  const worker = new ScanWorker({
    storage,
    clock: time,
    findToday: () => time.now(),
    timers: time,
    webhooks: queue,
    labelSourceFor: (account) => ({
      labels: (numbers, wanted) => labelsIn(books, account, { numbers, wanted }),
    }),
    complaintSourceFor: () => ({
      complaints: async (numbers) =>
        new Map(numbers.flatMap((number) => entryOf(books.complaints, number))),
    }),
    observer: {
      onWait: (_scan: ScanSummary, pauseMs, cause) =>
        news.push(`waits ${pauseMs}${cause === undefined ? '' : ` ${cause}`}`),
      onEnd: (scan, status) => news.push(`ended ${status} ${scan.phoneCount}`),
    },
    onBatchEnded: () => recurring.wake(),
    ...more,
  })
  const recurring = new BackgroundTask({
    run: () => worker.run(),
    timers: time,
    onError: (cause) => errors.push(cause),
    // What a run says is then what counts.
    maxPauseMs: 365 * 86_400_000,
  })
  const scans = new Scans({
    storage,
    clock: time,
    randomBytes,
    webhooks: queue,
    wake: () => recurring.wake(),
  })
  return { time, queue, books, scans, worker, recurring, news, errors }
}

export function fakeBooks(): FakeBooks {
  return {
    labels: new Map(),
    complaints: new Map(),
    trouble: undefined,
    asked: [],
    sources: new Set(labelIssuers),
  }
}

interface Asked {
  readonly numbers: readonly PhoneNumber[]
  readonly wanted: readonly LabelIssuer[]
}

async function labelsIn(books: FakeBooks, account: string, { numbers, wanted }: Asked) {
  books.asked.push({ account, numbers: numbers.length })
  if (books.troubled !== undefined && books.troubled !== account)
    books = { ...books, trouble: undefined }
  if (books.trouble === 'hangs') return await new Promise<never>(() => undefined)
  if (books.trouble) throw books.trouble
  return new Map(
    numbers.map((number) => {
      const said = books.labels.get(number) ?? clean
      const told = wanted.filter((one) => books.sources.has(one) && said[one] !== undefined)
      return [number, Object.fromEntries(told.map((one) => [one, said[one]]))] as const
    }),
  )
}

function entryOf<Value>(map: ReadonlyMap<string, Value>, number: PhoneNumber) {
  const value = map.get(number)
  return value === undefined ? [] : [[number, value] as const]
}

export interface KeptEvent {
  readonly account: string
  readonly event: string
  readonly url: string
  readonly apiKey: string | null
  readonly body: {
    readonly JobId: string
    readonly Status: string
    readonly Results?: readonly ScanResult[]
  }
}

export async function eventsOf(
  storage: OpenDatabase,
  jobId: string,
): Promise<readonly KeptEvent[]> {
  const rows = await storage.db
    .selectFrom('webhook_events')
    .selectAll()
    .where('subject', '=', jobId)
    .execute()
  return rows.map(({ account_id: account, event, url, api_key, body }) => ({
    account,
    event,
    url,
    apiKey: api_key,
    // Throws unless it is as the API describes it.
    body: webhookDescriptions.scanEnded.payload.parse(JSON.parse(body)) as KeptEvent['body'],
  }))
}

export async function setCredits(
  storage: OpenDatabase,
  values: {
    readonly scan_credits?: number | null
    readonly may_scan?: number
    readonly country?: 'US' | 'CA'
  },
  account = 'main',
): Promise<void> {
  await storage.db.updateTable('accounts').set(values).where('id', '=', account).execute()
}

export async function creditsOf(storage: OpenDatabase, account = 'main'): Promise<number | null> {
  const row = await storage.db
    .selectFrom('accounts')
    .select('scan_credits')
    .where('id', '=', account)
    .executeTakeFirstOrThrow()
  return row.scan_credits
}

/** Ten-digit numbers that differ, from `first` on. */
export const numbersFrom = (first: number, count: number): PhoneNumber[] =>
  Array.from({ length: count }, (_, index) => toPhoneNumber(String(2_125_000_000 + first + index)))

/** Runs the worker until it says there is nothing to do now; gives how many runs that took. */
export async function runAll(worker: ScanWorker, most = 1_000): Promise<number> {
  for (let runs = 1; runs <= most; runs += 1) if ((await worker.run()) > 0) return runs
  return expect.fail(`the worker still had work after ${most} runs`)
}
