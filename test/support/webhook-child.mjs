/**
 * A process that adds events and delivers them, to be killed at any moment. Arguments: the data
 * folder and the receiver's address. Begins when it is told, on standard input, how many events to
 * add at most; with 0 it delivers what is there, and ends when nothing waits. Writes each id when its
 * transaction is committed, a line each.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { systemClock, systemTimers } from '../../dist/runtime/runtime.js'
import { GuardedSender } from '../../dist/service/webhooks/http-sender/guarded-sender.js'
import { countPending } from '../../dist/service/webhooks/webhook-event-rows.js'
import { Webhooks } from '../../dist/service/webhooks/webhooks.js'
import { openDatabase } from '../../dist/storage/engine.js'
import { migrateSchema } from '../../dist/storage/migrate.js'

const [dataDir, url] = process.argv.slice(2)
const most = Number(await once(process.stdin, 'data'))
process.stdin.unref()
const storage = await openDatabase({
  engine: 'sqlite',
  dataDir,
  lockWaitMs: 1_000,
  blockForLockMs: 1_000,
})
await migrateSchema(storage)
await storage.db
  .insertInto('accounts')
  .values({ id: 'main', kind: 'real', name: 'main', agents_may_remove: 0, created_at: 0 })
  .onConflict((conflict) => conflict.doNothing())
  .execute()

const webhooks = new Webhooks({
  storage,
  sender: new GuardedSender({ allow: ['127.0.0.0/8'], timers: systemTimers }),
  getSecret: async () => 'secret',
  clock: systemClock,
  findToday: () => undefined,
  timers: systemTimers,
  randomBytes,
  random: () => Math.random(),
  settings: {
    keyHeader: 'x-api-key',
    version: '0',
    timeoutMs: 50,
    retryMs: Array(20).fill(15),
    maxUnderWay: 32,
  },
  observer: { onAttempt: () => undefined, onPending: () => undefined },
  onError: (cause) => {
    throw cause
  },
})
webhooks.start()

for (let at = 0; at < most; at += 1) {
  const kind = at % 2 === 0 ? 'scan' : 'project'
  const event = { accountId: 'main', kind, subject: 'S', event: 'e', url: `${url}/${at % 4}` }
  const id = await storage.db
    .transaction()
    .execute((within) => webhooks.add(within, { ...event, body: { at } }))
  webhooks.wake()
  process.stdout.write(`${id}\n`)
  await new Promise((resume) => setTimeout(resume, 2))
}
if (most === 0) {
  while ((await countPending(storage.db)) > 0) {
    await new Promise((resume) => setTimeout(resume, 10))
  }
  await webhooks.close()
  await storage.close()
}
