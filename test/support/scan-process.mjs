/**
 * Submits scans and works on them until it is killed, with the compiled modules and a real clock.
 * `node scan-process.mjs <data folder>`. Writes `ack <job> <numbers>` for each acknowledged
 * job and `asked` for each batch of numbers. The account `main` must be there.
 *
 * Sources answer late, sometimes not, and never for numbers that end in 99.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock, systemTimers } from '../../dist/runtime/runtime.js'
import { BackgroundTask } from '../../dist/service/background/background-task.js'
import { ScanWorker } from '../../dist/service/scans/scan-worker.js'
import { Scans } from '../../dist/service/scans/scans.js'
import { insertEvent } from '../../dist/service/webhooks/webhook-event-rows.js'
import { openDatabase } from '../../dist/storage/engine.js'

const [dataDir] = process.argv.slice(2)
const storage = await openDatabase({
  engine: 'sqlite',
  dataDir,
  lockWaitMs: 5_000,
  blockForLockMs: 0,
})

const webhooks = {
  add: async (transaction, event) => {
    const id = `evt_${randomBytes(16).toString('hex')}`
    await insertEvent(transaction, event, { id, at: systemClock.now() })
    return id
  },
  wake: () => undefined,
  refuseBadUrl: () => undefined,
}

const book = {
  async labels(numbers, wanted) {
    writeSync(1, 'asked\n')
    await sleep(randomInt(4))
    const mood = randomInt(20)
    if (mood === 0) throw new Error('the source is down')
    const known = numbers.filter((number) => !number.endsWith('99') && (mood > 2 || randomInt(2)))
    const clean = Object.fromEntries(wanted.map((source) => [source, false]))
    return new Map(known.map((number) => [number, clean]))
  },
}

const worker = new ScanWorker({
  storage,
  webhooks,
  clock: systemClock,
  findToday: () => undefined,
  timers: systemTimers,
  batchSize: 20,
  firstPauseMs: 5,
  maxPauseMs: 5,
  giveUpAfterMs: 10,
  labelSourceFor: () => book,
  complaintSourceFor: () => ({ complaints: async () => new Map() }),
  onBatchEnded: () => recurring.wake(),
})
const recurring = new BackgroundTask({
  run: () => worker.run(),
  timers: systemTimers,
  retryMs: 10,
  onError: (cause) => writeSync(2, `${cause}\n`),
})
const scans = new Scans({
  storage,
  webhooks,
  clock: systemClock,
  randomBytes,
  wake: () => recurring.wake(),
})
recurring.start()

const caller = { accountId: 'main', role: 'Administrator', keyId: 'key' }
for (;;) {
  const from = randomInt(3) === 0 ? 99 : randomInt(1_000_000)
  const length = from === 99 ? 1 : randomInt(1, 60)
  const numbers = Array.from({ length }, (_, at) => String(2_125_000_000 + from + at))
  const { jobId, phoneCount } = await scans.submit(caller, {
    numbers,
    scanType: 'carrier',
    testOnly: false,
    notificationKey: 'the secret key',
    notificationUrl: 'https://customer.example/hook',
  })
  writeSync(1, `ack ${jobId} ${phoneCount}\n`)
  await sleep(randomInt(20))
}
