/** Opens the inbox for events of voice platforms, with its routes and its background work. */
import {
  listUnclearOptOutsEndpoint,
  platformReportEndpoint,
  resolveUnclearOptOutEndpoint,
  type UnclearOptOutBody,
} from '../../api/gate/platform-events.js'
import { createRoute, type Route } from '../../api/route.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { PlatformName } from '../../platform-events/call-event.js'
import { BackgroundTask } from '../../service/background/background-task.js'
import { HourlyCleanup } from '../../service/background/hourly-cleanup.js'
import { EventInbox } from '../../service/platform-events/event-inbox.js'
import {
  deleteOldPlatformEvents,
  noteProxyReport,
  type PlatformFigures,
  readPlatformFigures,
} from '../../service/platform-events/platform-figures.js'
import { UnclearOptOuts } from '../../service/platform-events/unclear-opt-outs.js'
import { runAccountTransaction } from '../../service/sql/account-transaction.js'
import { readHeldNumbers } from '../../storage/platform-events/held-numbers.js'
import type { Callgate } from '../callgate.js'
import { createOptOuts } from '../service.js'
import { createEventPort } from './event-port.js'
import { createEventReaders, createEventRoutes } from './event-routes.js'

export interface OpenInbox {
  readonly inbox: EventInbox
  readonly routes: readonly Route[]
  readonly task: BackgroundTask
}

const pauseMs = 10_000

export function openInbox(callgate: Callgate): OpenInbox {
  const { storage, runtime, pauses, metrics, service } = callgate
  const { clock, timers, log } = runtime
  const port = createEventPort(callgate)
  const optOuts = createOptOuts(callgate)
  const inbox = new EventInbox({ storage, clock, port, ...createEventReaders(callgate.settings) })
  const unclear = new UnclearOptOuts({
    storage,
    clock,
    recordOptOut: (caller, report) => optOuts.record(caller, report),
    onChange: () => pauses.forget(),
  })
  const cleanup = new HourlyCleanup(callgate.findToday, (now) =>
    deleteOldPlatformEvents(storage.db, now),
  )
  const task = new BackgroundTask({
    run: async () => {
      const hasMore = await inbox.retry()
      metrics.setPlatforms(await readFigures(callgate))
      return (await cleanup.run(clock.now())) || hasMore ? 0 : pauseMs
    },
    onFollow: () => metrics.setPlatforms({ platforms: [], unclear: [], held: [] }),
    timers,
    leadership: storage.feed,
    onError: (err) =>
      log.error('events of platforms could not be processed; trying again', { err }),
  })
  const routes = [
    ...createEventRoutes(inbox),
    createRoute(platformReportEndpoint, async (caller, { platform, ...report }) => {
      metrics.countRefusedSignatures(platform, report.refusedSignatures ?? 0)
      const { accountId } = caller
      const reported = { canFetch: report.canFetch, at: clock.now() }
      await runAccountTransaction(storage, accountId, (db) =>
        noteProxyReport(db, { accountId, platform }, reported),
      )
      return { recorded: true } as const
    }),
    createRoute(listUnclearOptOutsEndpoint, async (caller) => {
      const { accountId } = caller
      const found = await unclear.list(accountId)
      if (found.length > 0) {
        const subject = { kind: 'unclear-opt-outs', id: '' }
        await service.recordRead(caller, {
          what: 'unclear-opt-outs.read',
          subject,
          rows: found.length,
        })
      }
      const figures = await readPlatformFigures(storage.db, clock.now(), accountId)
      return { unclear: found.map(toUnclearBody), platforms: figures.map(toFiguresBody) }
    }),
    createRoute(resolveUnclearOptOutEndpoint, async (caller, resolution) => {
      await unclear.resolve(caller, resolution)
      return { recorded: true } as const
    }),
  ]
  return { inbox, routes, task }
}

async function readFigures({ storage, runtime }: Callgate) {
  const unclear = await storage.db
    .selectFrom('unclear_opt_outs')
    .select((row) => ['account_id as accountId', 'platform', row.fn.countAll().as('count')])
    .where('resolved_at', 'is', null)
    .groupBy(['account_id', 'platform'])
    .execute()
  return {
    platforms: await readPlatformFigures(storage.db, runtime.clock.now()),
    unclear,
    held: await readHeldNumbers(storage.db),
  }
}

function toUnclearBody(
  row: Awaited<ReturnType<UnclearOptOuts['list']>>[number],
): UnclearOptOutBody {
  const { id, kind, number, said, heldNumbers } = row
  return {
    ...{ id, kind, number, said, heldNumbers },
    platform: row.platform as PlatformName,
    decisionId: row.decision_id,
    heardAt: formatInstant(row.heard_at),
  }
}

function toFiguresBody({ accountId: _, canFetch, problem, ...figures }: PlatformFigures) {
  return {
    ...figures,
    platform: figures.platform as PlatformName,
    canFetch: canFetch ?? null,
    problem: problem ?? null,
  }
}
