/**
 * A process that submits and does scans is killed at any moment, again and again: every acknowledged
 * job ends, with one notification, and the credits add up after each kill.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startChild } from '../../../scripts/children.mjs'
import { formatInstant } from '../../../src/domain/time/dates.js'
import { systemClock } from '../../../src/runtime/runtime.js'
import { useDatabase } from '../../support/database.js'
import { shortOrLong } from '../../support/long.js'
import { creditsOf, runAll, scanParts, setCredits } from '../../support/scan-parts.js'
import { buildSubjects } from '../../support/service-subjects.js'
import { virtualTime } from '../../support/virtual-time.js'

const database = useDatabase()
const script = join(import.meta.dirname, '../../support/scan-process.mjs')
const kills = shortOrLong(10, 20)
const credits = 100_000

test('nothing is lost and nothing is done twice', async () => {
  await buildSubjects(database.storage)
  await setCredits(database.storage, { scan_credits: credits })
  const acknowledged = new Map<string, number>()
  let midway = 0
  for (let kill = 0; kill < kills; kill += 1) {
    await startAndKill(acknowledged)
    const jobs = await jobRows()
    midway += jobs.filter((job) => job.processed_count > 0 && job.finished_at === null).length
    await expectConsistent()
  }
  // The books of this one answer for every number, and its time is past every pause.
  const time = virtualTime(formatInstant(systemClock.now() + 3_600_000))
  const { worker } = await scanParts(database.storage, { time })
  await runAll(worker, 100_000)
  await expectConsistent()

  const jobs = await jobRows()
  const counts = new Map(jobs.map(({ id, phone_count }) => [id, phone_count]))
  for (const [id, count] of acknowledged) expect(counts.get(id)).toBe(count)
  expect(jobs.filter((job) => job.finished_at === null)).toEqual([])
  // The kills were worth something.
  expect(acknowledged.size).toBeGreaterThan(kills)
  expect(midway).toBeGreaterThan(0)
  expect(jobs.some(({ status }) => status === 'Failed')).toBe(true)
})

/** Adds what was acknowledged. Some processes are killed while they start, the others while they work. */
async function startAndKill(acknowledged: Map<string, number>): Promise<void> {
  const args = [script, database.folder]
  const child = startChild(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const mostLines = randomInt(8) === 0 ? 0 : randomInt(1, 60)
  let output = ''
  const farEnough = new Promise<void>((resolve) => {
    if (mostLines === 0) resolve()
    child.stdout.on('data', (bytes: Buffer) => {
      output += bytes.toString()
      if (output.split('\n').length > mostLines) resolve()
    })
  })
  await Promise.race([farEnough, exited])
  await sleep(randomInt(10))
  child.kill('SIGKILL')
  expect(await exited).toEqual([null, 'SIGKILL'])
  for (const [, id = '', count] of output.matchAll(/^ack (\S+) (\d+)$/gm)) {
    acknowledged.set(id, Number(count))
  }
}

const jobRows = () => database.db.selectFrom('scan_jobs').selectAll().execute()

/** What must hold at every moment. */
async function expectConsistent(): Promise<void> {
  const jobs = await jobRows()
  const paid = jobs.filter(({ status }) => status !== 'Failed')
  const taken = paid.reduce((sum, job) => sum + job.credits_taken, 0)
  expect((await creditsOf(database.storage)) ?? 0).toBe(credits - taken)
  const processed = await countsBy('scan_numbers')
  const events = await countsBy('webhook_events')
  for (const job of jobs) {
    const { id, status, phone_count, processed_count, finished_at } = job
    const numbers = processed.get(id)
    expect({ id, ...numbers }).toEqual({ id, all: phone_count, done: processed_count })
    expect({ id, events: events.get(id)?.all ?? 0 }).toEqual({ id, events: finished_at ? 1 : 0 })
    expect(finished_at !== null).toBe(status === 'Complete' || status === 'Failed')
    if (status === 'Complete') expect(processed_count).toBe(phone_count)
  }
}

interface Counts {
  readonly all: number
  /** Those with a result; of events, all. */
  readonly done: number
}

async function countsBy(table: 'scan_numbers' | 'webhook_events'): Promise<Map<string, Counts>> {
  const { db } = database
  const rows =
    table === 'scan_numbers'
      ? await db
          .selectFrom(table)
          .select(({ fn }) => [
            'job_id as id',
            fn.countAll().as('all'),
            fn.count('result').as('done'),
          ])
          .groupBy('job_id')
          .execute()
      : await db
          .selectFrom(table)
          .select(({ fn }) => ['subject as id', fn.countAll().as('all'), fn.count('id').as('done')])
          .groupBy('subject')
          .execute()
  return new Map(rows.map(({ id, all, done }) => [id, { all: Number(all), done: Number(done) }]))
}
