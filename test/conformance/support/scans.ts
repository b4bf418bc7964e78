/** One scan of each type, submitted once for all sections and followed to its end. */
import { setTimeout as pause } from 'node:timers/promises'
import { ask, type Reply } from './client.js'
import { type Delivery, type Receiver, receiver } from './receiver.js'
import { run } from './run.js'
import { asRow, asRows, type Needs, type Row } from './sentence.js'

export const scanPath = '/v1.5/Reputation/OneTimeScan'

export type ScanType = 'carrier' | 'carrierandapps'

export function submit(body: unknown, key?: string): Promise<Reply> {
  return ask({ path: scanPath, json: body, ...(key !== undefined && { key }) })
}

export function jobStatus(jobId: string, key?: string): Promise<Reply> {
  return ask({ path: scanPath, query: { jobId }, ...(key !== undefined && { key }) })
}

/** A body that is accepted as it is; nobody listens at the address unless a receiver is given. */
export async function scanBody(needs: Needs, more: Row = {}): Promise<Row> {
  const hooks = await receiver(needs)
  return {
    PhoneNumbers: scannedPhones(),
    NotificationURL: hooks.url('/unread'),
    ScanType: 'carrier',
    ...more,
  }
}

/** Numbers with known labels where there are any. */
function scannedPhones(): readonly string[] {
  const known = run.facts.labels?.map(({ phone }) => phone) ?? []
  return known.length > 0 ? known : ['2125550100', '2125550101']
}

export interface Scan {
  readonly phones: readonly string[]
  readonly key: string
  /** Path of the receiver it is told to notify. */
  readonly path: string
  readonly submitted: Row
  /** Every status read, in order. */
  readonly statuses: readonly Row[]
}

const scans = new Map<ScanType, Promise<Scan>>()

export function scan(needs: Needs, type: ScanType): Promise<Scan> {
  const known = scans.get(type)
  if (known) return known
  const made = follow(needs, type)
  scans.set(type, made)
  return made
}

async function follow(needs: Needs, ScanType: ScanType): Promise<Scan> {
  const hooks = await receiver(needs)
  const [path, key] = [`/scan/${ScanType}`, `key of ${ScanType}`]
  const phones = scannedPhones()
  const reply = await submit({
    PhoneNumbers: phones,
    ScanType,
    NotificationURL: hooks.url(path),
    NotificationAPIKey: key,
  })
  if (reply.status !== 200) throw new Error(`scan answers ${reply.status}: ${reply.text}`)
  const submitted = asRow(reply.json())
  const statuses: Row[] = []
  for (const waitMs of pauses()) {
    const status = await jobStatus(String(submitted.JobId))
    if (status.status !== 200) throw new Error(`scan answers ${status.status}: ${status.text}`)
    const row = asRow(status.json())
    statuses.push(row)
    if (row.Status === 'Complete' || row.Status === 'Failed') break
    await pause(waitMs)
  }
  return { phones, key, path, submitted, statuses }
}

/** A few looks spread over twelve seconds, or two minutes. */
function pauses(): readonly number[] {
  const quick = [500, 1000, 2000, 3000, 4000, 4000]
  return run.slow ? [...quick, 15_000, 30_000, 30_000, 30_000] : quick
}

/** The last status of a scan that ended well, or the case is skipped. */
export async function complete(needs: Needs, type: ScanType): Promise<Row> {
  const last = (await scan(needs, type)).statuses.at(-1)
  const done = last?.Status === 'Complete' ? last : undefined
  return needs(done, `a scan that ends in time (--slow waits longer); it is ${last?.Status}`)
}

export async function resultsOf(needs: Needs, type: ScanType): Promise<readonly Row[]> {
  return asRows((await complete(needs, type)).Results)
}

export interface TestedUrl {
  readonly answer: Row
  readonly key: string
  readonly delivery: Delivery
  /** What the status call says of the JobId of the answer. */
  readonly status: Reply
}

let tested: Promise<TestedUrl | undefined> | undefined

/** One test of an address, made for all sections. */
export async function testedUrl(needs: Needs): Promise<TestedUrl> {
  const body = await scanBody(needs)
  const hooks = await receiver(needs)
  tested ??= testUrl(body, hooks)
  return needs(await tested, 'a delivery in time')
}

async function testUrl(body: Row, hooks: Receiver): Promise<TestedUrl | undefined> {
  const [path, key] = ['/test-of-the-address', 'key of the test']
  const address = { NotificationURL: hooks.url(path), NotificationAPIKey: key }
  const reply = await submit({ ...body, ...address, TestNotificationURL: true })
  if (reply.status !== 200) throw new Error(`scan answers ${reply.status}: ${reply.text}`)
  const answer = asRow(reply.json())
  const delivery = await hooks.delivery(path)
  const status = await jobStatus(String(answer.JobId))
  return delivery && { answer, key, delivery, status }
}
