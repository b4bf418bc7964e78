/**
 * Builds the background jobs of a server: scans, label checks, webhooks, and the expiry of
 * registrations. Their state is in the database, so they continue after a restart.
 */

import type { Country } from '../domain/place.js'
import type { Clock } from '../domain/time/clock.js'
import { msPerDay, msPerHour, msPerMinute } from '../domain/time/dates.js'
import type { Metrics } from '../observability/metrics.js'
import { deleteOldPermitKeys } from '../permits/permit-keys.js'
import { deleteOldPermits } from '../permits/permit-rows.js'
import { deleteExpiredTokens } from '../service/accounts/access-tokens.js'
import { deleteOldRequests } from '../service/accounts/repeated-requests.js'
import { deleteOldAudit } from '../service/audit/audit-trail.js'
import { BackgroundTask } from '../service/background/background-task.js'
import { HourlyCleanup } from '../service/background/hourly-cleanup.js'
import { deleteEndedSessions } from '../service/people/sessions.js'
import { LabelChecks } from '../service/reputation/label-checks.js'
import { ScanWorker } from '../service/scans/scan-worker.js'
import { deleteExpiredLimits } from '../storage/cluster/shared-limits.js'
import type { AppContext } from './app-context.js'
import type { FactSources } from './fact-sources.js'

export interface BackgroundJobs {
  /** By what they do; a server adds those that it starts itself. */
  readonly tasks: Map<string, Pick<BackgroundTask, 'lastRun' | 'isRunning'>>
  start(): void
  /** Signals new scans. */
  wakeScans(): void
  /** Signals new monitored numbers. */
  wakeLabelChecks(): void
  /** Starts nothing new and waits for work in progress. */
  close(): Promise<void>
}

export interface BackgroundDeps {
  readonly factSources: FactSources
  readonly metrics: Metrics
  readonly countryOf: (accountId: string) => Promise<Country>
  readonly timestamps: Clock
}

/** Counting reads all monitored numbers. */
const countEveryMs = 10_000

export function createBackgroundJobs(context: AppContext, deps: BackgroundDeps): BackgroundJobs {
  const { runtime, projects, webhooks, storage, attempts, abandonment, expiryClock } = context
  const { findToday } = context
  const { settings } = context
  const worker = createScanWorker(context, deps, () => scans.wake())
  const checks = createLabelChecks(context, deps)
  const recurring = (what: string, run: () => Promise<number>, onFollow?: () => void) =>
    new BackgroundTask({
      run,
      ...(onFollow && { onFollow }),
      timers: runtime.timers,
      leadership: storage.feed,
      onError: (cause) => runtime.log.error(`${what} failed; trying again`, { err: cause }),
    })
  const scans = recurring('scanning', () => worker.run())
  let countedAtMs = Number.NEGATIVE_INFINITY
  const labels = recurring(
    'checking labels',
    async () => {
      const pauseMs = await checks.run()
      const nowMs = runtime.timers.monotonicMs()
      if (nowMs - countedAtMs < countEveryMs) return pauseMs
      countedAtMs = nowMs
      deps.metrics.setMonitoredNumbers(await checks.countNumbers())
      return pauseMs
    },
    () => deps.metrics.setMonitoredNumbers({ monitored: 0, overdue: 0 }),
  )
  const expiry = recurring('expiring registrations', () => projects.registrations.expireDue())
  const cleanup = new HourlyCleanup(findToday, async (now) => {
    const hasMoreAttempts = await attempts.deleteOld(now)
    const hasMoreCalls = await abandonment.deleteOld(now)
    await context.changeRequests.deleteOld(now)
    await deleteEndedSessions(storage.db, now)
    await deleteOldPermitKeys(storage.db, now)
    const auditBefore = now - settings.retention.auditDays * msPerDay
    const hasMoreAudit = await deleteOldAudit(storage, auditBefore)
    const hasMorePermits = await deleteOldPermits(storage.db, now)
    return hasMoreAttempts || hasMoreCalls || hasMoreAudit || hasMorePermits
  })
  // There are too many of these to keep them for eight days.
  const manyRows = new HourlyCleanup(
    () => findToday(2),
    async (now) => {
      const hasMoreRequests = await deleteOldRequests(storage.db, now)
      const hasMoreTokens = await deleteExpiredTokens(storage.db, now)
      const hasMoreLimits = await deleteExpiredLimits(storage.db, now)
      return hasMoreRequests || hasMoreTokens || hasMoreLimits
    },
  )
  const keyUses = new BackgroundTask({
    run: async () => {
      await context.keyUses.store()
      return msPerMinute
    },
    timers: runtime.timers,
    onError: (err) => runtime.log.error('when keys were used could not be stored', { err }),
  })
  const limits = recurring('deleting expired limits and permits', async () => {
    // By the clock of the access tokens, so that what they have used is not forgotten while they are valid.
    const now = expiryClock.now()
    const hasMore = await manyRows.run(now)
    return (await cleanup.run(now)) || hasMore ? 0 : msPerHour
  })
  return {
    tasks: new Map<string, Pick<BackgroundTask, 'lastRun' | 'isRunning'>>([
      ['webhooks', webhooks.task],
      ['scans', scans],
      ['label checks', labels],
      ['expiry of registrations', expiry],
      ['cleanup', limits],
      ['uses of keys', keyUses],
    ]),
    start() {
      for (const job of [webhooks, scans, labels, expiry, limits, keyUses]) job.start()
      // A command may have stored an event, or a day on which a registration ends.
      context.changes.subscribe({
        numbersChanged: () => undefined,
        everythingChanged: () => {
          for (const job of [webhooks.task, expiry]) job.wake()
        },
      })
    },
    wakeScans: () => scans.wake(),
    wakeLabelChecks: () => labels.wake(),
    async close() {
      worker.stop()
      const closing = [scans, labels, expiry, limits, keyUses].map((job) => job.close())
      await Promise.all([...closing, worker.waitUntilIdle()])
      await webhooks.close()
    },
  }
}

function createScanWorker(
  { storage, runtime, webhooks, findToday }: AppContext,
  { factSources, metrics }: BackgroundDeps,
  onBatchEnded: () => void,
): ScanWorker {
  const { clock, timers, log } = runtime
  return new ScanWorker({
    storage,
    clock,
    timers,
    webhooks,
    findToday,
    onBatchEnded,
    labelSourceFor: (accountId) => factSources.sourcesFor(accountId).labels,
    complaintSourceFor: (accountId) => factSources.sourcesFor(accountId).complaints,
    observer: {
      onWait: (scan, pauseMs, cause) =>
        log.warn('a scan is waiting for its sources', { ...scan, pauseMs, err: cause }),
      onEnd: (scan, status) => {
        metrics.countEndedScan(status)
        log.info('a scan has ended', { ...scan, status })
      },
    },
  })
}

function createLabelChecks(
  { storage, runtime, settings, findToday }: AppContext,
  deps: BackgroundDeps,
) {
  const { clock, random, log } = runtime
  const { checkEveryMs, keepDays } = settings.reputation
  const { factSources, countryOf, timestamps } = deps
  return new LabelChecks({
    storage,
    clock,
    random,
    timestamps,
    countryOf,
    checkEveryMs,
    keepDays,
    findToday,
    labelSourceFor: (accountId) => factSources.sourcesFor(accountId).labels,
    onError: (accountId, cause) =>
      log.warn('labels could not be checked; trying again', { accountId, err: cause }),
  })
}
