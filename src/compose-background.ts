/**
 * Builds the work that a server does beside answering: scans, looks at labels, notifications, the end
 * of registrations. What is left of it is in the database, so it begins again with the process.
 */
import type { Foundation } from './compose-foundation.js'
import type { OutsideFacts } from './compose-outside.js'
import type { Clock } from './domain/clock.js'
import type { Metrics } from './metrics.js'
import { Recurring } from './service/background/recurring.js'
import { LabelChecks } from './service/reputation/label-checks.js'
import type { Country } from './service/reputation/scores.js'
import { ScanWorker } from './service/scans/scan-worker.js'

export interface Background {
  start(): void
  /** There are new scans. */
  scan(): void
  /** There are new numbers on the monitor. */
  lookAtLabels(): void
  /** Begins nothing more, and waits for what is under way. */
  close(): Promise<void>
}

export interface BackgroundParts {
  readonly outside: OutsideFacts
  readonly metrics: Metrics
  readonly countryOf: (accountId: string) => Promise<Country>
  readonly stamps: Clock
}

export function createBackground(foundation: Foundation, parts: BackgroundParts): Background {
  const { world, projects, webhooks } = foundation
  const worker = scanWorker(foundation, parts, () => scans.wake())
  const checks = labelChecks(foundation, parts)
  const recurring = (what: string, run: () => Promise<number>) =>
    new Recurring({
      run,
      timers: world.timers,
      onError: (cause) => world.log.error(`${what} failed; tried again`, { err: cause }),
    })
  const scans = recurring('scanning', () => worker.run())
  const labels = recurring('looking at labels', async () => {
    const pauseMs = await checks.run()
    parts.metrics.monitored(await checks.counts())
    return pauseMs
  })
  const expiry = recurring('ending registrations', () => projects.facts.expireDue())
  return {
    start() {
      for (const one of [webhooks, scans, labels, expiry]) one.start()
    },
    scan: () => scans.wake(),
    lookAtLabels: () => labels.wake(),
    async close() {
      worker.stop()
      await Promise.all([scans.close(), worker.ended(), labels.close(), expiry.close()])
      await webhooks.close()
    },
  }
}

function scanWorker(
  { storage, world, webhooks }: Foundation,
  { outside, metrics }: BackgroundParts,
  onEnded: () => void,
): ScanWorker {
  const { clock, timers, log } = world
  return new ScanWorker({
    ...{ storage, clock, timers, webhooks, onEnded },
    labelsOf: (accountId) => outside.booksOf(accountId).labels,
    complaintsOf: (accountId) => outside.booksOf(accountId).complaints,
    news: {
      waits: (scan, pauseMs, cause) =>
        log.warn('a scan waits for its sources', { ...scan, pauseMs, err: cause }),
      ended: (scan, status) => {
        metrics.scanEnded(status)
        log.info('a scan has ended', { ...scan, status })
      },
    },
  })
}

function labelChecks({ storage, world, settings }: Foundation, parts: BackgroundParts) {
  const { clock, random, log } = world
  const { checkEveryMs, keepDays } = settings.reputation
  const { outside, countryOf, stamps } = parts
  return new LabelChecks({
    ...{ storage, clock, random, stamps, countryOf, checkEveryMs, keepDays },
    bookOf: (accountId) => outside.booksOf(accountId).labels,
    onError: (accountId, cause) =>
      log.warn('labels could not be looked at; tried again', { accountId, err: cause }),
  })
}
