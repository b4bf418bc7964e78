/** Projects over a database, with a queue that keeps notifications in a table there and sends none. */

import { sql } from 'kysely'
import { webhookDescriptions } from '../../src/api/webhook-payloads.js'
import { invalidRequest } from '../../src/errors.js'
import { Projects } from '../../src/service/projects/projects.js'
import type {
  LastDelivery,
  NewWebhookEvent,
  WebhookQueue,
} from '../../src/service/webhooks/webhook-queue.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import type { Db } from '../../src/storage/tables.js'
import { alone, buildSubjects, type Subjects } from '../support/service-subjects.js'
import { type TestClock, testClock } from '../support/test-clock.js'
import { isPostgres } from '../support/test-engine.js'

interface FakeQueue extends WebhookQueue {
  /** How often the queue was told that there is work. */
  readonly woken: () => number
  /** What every project's last delivery is from now on. */
  delivered(last: LastDelivery): void
  /** Every `add` fails from now on. */
  breakDown(): void
}

function fakeQueue(): FakeQueue {
  let woken = 0
  let last: LastDelivery | undefined
  let broken = false
  return {
    woken: () => woken,
    delivered: (delivery) => {
      last = delivery
    },
    breakDown: () => {
      broken = true
    },
    async add(transaction, event) {
      await sql`insert into kept_events (event) values (${JSON.stringify(event)})`.execute(
        transaction,
      )
      if (broken) throw new Error('the queue is broken')
      return 'evt_test'
    },
    wake: () => {
      woken += 1
    },
    probe: async () => ({ httpStatus: 200 }),
    findLastDelivery: async () => last,
    refuseBadUrl(field, url) {
      if (url.startsWith('https://')) return
      throw invalidRequest([{ field, value: url, rule: 'must be an https address' }])
    },
  }
}

export interface ProjectParts extends Omit<Subjects, 'projects'> {
  readonly projects: Projects
  readonly queue: FakeQueue
  readonly storage: OpenDatabase
}

/** Accounts `main` and `other`; as at a start of the process. */
export async function buildProjects(
  storage: OpenDatabase,
  clock: TestClock = testClock(),
): Promise<ProjectParts> {
  const id = isPostgres() ? 'id serial' : 'id integer'
  await sql`create table if not exists kept_events (${sql.raw(id)} primary key, event text)`.execute(
    storage.db,
  )
  const subjects = await buildSubjects(storage, { clock })
  const queue = fakeQueue()
  const { changes } = subjects
  const parts = { storage, clock, timers: clock, changes, webhooks: queue, ...alone }
  const projects = new Projects(parts)
  return { ...subjects, projects, queue, storage }
}

export async function setAutoPrefix(db: Db, accountId = 'main'): Promise<void> {
  await db.updateTable('accounts').set({ auto_prefix: 1 }).where('id', '=', accountId).execute()
}

/** What has been kept to be sent, oldest first. */
export async function keptEvents(db: Db) {
  const { rows } = await sql<{ event: string }>`select event from kept_events order by id`.execute(
    db,
  )
  const events = rows.map((row) => JSON.parse(row.event) as KeptEvent)
  for (const { event, body } of events) {
    const delivery = { EventId: 'evt_1', Event: event, Attempt: 1, SentOn: '2026-11-23T17:00:00Z' }
    // Throws unless it is as the API describes it.
    webhookDescriptions.projectChanged.payload.parse({ ...delivery, ...body })
  }
  return events
}

type KeptEvent = Omit<NewWebhookEvent, 'body'> & {
  readonly body: { readonly Data: Readonly<Record<string, unknown>> }
}
