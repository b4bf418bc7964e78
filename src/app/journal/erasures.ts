/** Connects the journal with the requests of `callgate erase`, and reports what happens to its segments. */
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { SegmentEvent, SegmentWork } from '../../gate/journal/index-writer.js'
import type { Journal } from '../../gate/journal/journal.js'
import type { Metrics } from '../../observability/metrics.js'
import { BackgroundTask } from '../../service/background/background-task.js'
import { HourlyCleanup } from '../../service/background/hourly-cleanup.js'
import { Erasures } from '../../service/erasure/erasure.js'
import type { AppContext } from '../app-context.js'

const failures: Readonly<Record<SegmentWork, string>> = {
  sign: 'the journal could not be signed',
  erase: 'a number could not be erased from a segment of the journal',
  remove: 'a segment of the journal that has expired could not be removed',
  compress: 'a segment of the journal could not be compressed',
}

export function createSegmentObserver(
  context: Pick<AppContext, 'storage' | 'runtime'>,
  metrics: Pick<Metrics, 'countRemovedDecisions'>,
  getOrigin: () => string,
): (event: SegmentEvent) => void {
  const erasures = openErasures(context)
  const { log } = context.runtime
  return (event) => {
    switch (event.kind) {
      case 'failed':
        if (event.isForgery) {
          log.error(`${failures[event.work]}: it is not as it was signed`, { detail: event.reason })
        } else {
          log.warn(`${failures[event.work]}; trying again in a minute`, { detail: event.reason })
        }
        break
      case 'announced':
        break
      case 'recovered':
        reportRecovered(event, log)
        break
      case 'removed': {
        const { segments, decisions, before } = event
        metrics.countRemovedDecisions('retention', decisions)
        const fields = { before: formatInstant(before), segments, decisions }
        log.info('decisions were removed after journal.keepYears', fields)
        break
      }
      case 'erased': {
        const { id, erased, kept } = event
        metrics.countRemovedDecisions('erasure', erased)
        log.info('a number was erased from the journal', { erasure: id, erased, kept })
        void erasures.finishJournal(id, getOrigin(), { erased, kept }).catch((err: unknown) => {
          log.error('an erasure could not be noted as done; it is repeated in a minute', {
            erasure: id,
            err,
          })
        })
      }
    }
  }
}

function reportRecovered(
  { notTakenOver, copies }: Extract<SegmentEvent, { kind: 'recovered' }>,
  log: AppContext['runtime']['log'],
): void {
  if (notTakenOver) {
    const rule = 'the last write to the journal was not finished, and none of it was acknowledged'
    log.warn(`${rule}; it is kept aside in the folder of the journal`, { ...notTakenOver })
  }
  if (copies > 0) {
    log.warn('the journal has copies of some records; each record counts once', {
      records: copies,
    })
  }
}

/** The journal ignores a request that it knows, and goes on with one that has failed. */
const retryMs = 60_000

/** Starts erasures in the journal of a running server, and deletes the records of erased numbers later. */
export function createErasureTask(
  context: Pick<AppContext, 'storage' | 'runtime' | 'changes' | 'findToday'>,
  journal: Pick<Journal, 'erase' | 'origin'>,
): BackgroundTask {
  const erasures = openErasures(context)
  const { timers, log, clock } = context.runtime
  const requestedAt = new Map<string, Instant>()
  const cleanup = new HourlyCleanup(context.findToday, async (today) => {
    await erasures.deleteExpired(today)
    return false
  })
  const run = async () => {
    const now = clock.now()
    for (const erasure of await erasures.findUnfinished(journal.origin)) {
      if (now - (requestedAt.get(erasure.id) ?? 0) < retryMs) continue
      requestedAt.set(erasure.id, now)
      journal.erase(erasure)
    }
    await cleanup.run(now)
    return retryMs
  }
  const onError = (err: unknown) => log.error('erasures could not be read; trying again', { err })
  const task = new BackgroundTask({ run, timers, onError })
  const wake = () => task.wake()
  context.changes.subscribe({ numbersChanged: () => undefined, everythingChanged: wake })
  return task
}

export function openErasures({ storage, runtime }: Pick<AppContext, 'storage' | 'runtime'>) {
  return new Erasures({ storage, clock: runtime.clock, randomBytes: runtime.randomBytes })
}
