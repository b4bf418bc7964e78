/** What the HTTP server of a callgate answers: its endpoints, limits, pages and checks of readiness. */

import { join } from 'node:path'
import type { Page } from '../../api/endpoint.js'
import { attemptLimitsEndpoint } from '../../api/gate/attempts.js'
import { createRoute, type Route } from '../../api/route.js'
import type { Callgate } from '../../app/callgate.js'
import { createChangeRoutes } from '../../app/changes/change-routes.js'
import { openBundles } from '../../app/evidence/open-bundles.js'
import { openEvidenceRoutes } from '../../app/journal/open-evidence.js'
import { openSearchRoute, openStreamRoute } from '../../app/journal/open-search.js'
import { createReportCounters } from '../../app/journal/report-counters.js'
import { createListFileRoute } from '../../app/lists/list-file-route.js'
import { createListsRoutes } from '../../app/lists/lists-routes.js'
import { createNumberPageDeps, createNumberRoute } from '../../app/numbers/number-route.js'
import { openInbox } from '../../app/platform-events/open-inbox.js'
import { createProjectRoutes } from '../../app/projects/project-routes.js'
import { createRulesRoute } from '../../app/rules/rules-route.js'
import { createOptOuts } from '../../app/service.js'
import type { ServiceThreads } from '../../app/service-threads.js'
import { createLiveRoute } from '../../app/status/live-route.js'
import { createStatusRoute } from '../../app/status/status-route.js'
import { findOidc, findProxyUrl } from '../../config/console.js'
import { readFirstLine } from '../../config/secret-file.js'
import { version } from '../../config/version.js'
import type { ConsoleOptions } from '../../console/console.js'
import { Center } from '../../edge/center.js'
import { createEdgeDecisionsRoute } from '../../edge/edge-decisions-route.js'
import { edgeRoutes } from '../../edge/edge-routes.js'
import { AppError } from '../../errors.js'
import { findDecision, journalRoutes } from '../../gate/journal/journal-routes.js'
import { createPreviewRoute } from '../../gate/preview.js'
import { encodeReply } from '../../gate/record/write-record.js'
import { RepeatedCalls } from '../../gate/repeated-calls.js'
import { computeAgeMs } from '../../gate/staleness.js'
import { createApiDocsPages } from '../../http/api-docs.js'
import { createDecisionRoutes, decisionEndpoints } from '../../http/decision-routes.js'
import { type ReadinessCheck, WatchedCheck } from '../../http/health.js'
import { LiveStreams } from '../../http/limits/live-streams.js'
import { RateLimits } from '../../http/limits/rate-limits.js'
import { SharedMinutes } from '../../http/limits/shared-minutes.js'
import { StrangersAllowance } from '../../http/limits/strangers-allowance.js'
import { createIgnoredFieldsReporter } from '../../http/request/ignored-fields.js'
import type { RouteHandlerDeps } from '../../http/route-handler.js'
import type { ConsoleHandler } from '../../http/router.js'
import { openServer, type RunningServer } from '../../http/server.js'
import { LiveFigures } from '../../observability/live-figures.js'
import { createPermitKeyPages, permitRoutes } from '../../permits/permit-routes.js'
import { ImportedAttempts } from '../../service/accounts/imported-attempts.js'
import { RepeatedRequests } from '../../service/accounts/repeated-requests.js'
import { readListAccess } from '../../service/lists/list-rights.js'
import { createServiceRoutes } from '../../service/service-routes.js'
import { warmupRoutes } from '../../sources/warming/warmup-routes.js'
import { takeShared } from '../../storage/cluster/shared-limits.js'
import { listDataReadinessChecks } from './data-watch.js'
import { createServerReader } from './server-readings.js'
import { listSourceReadinessChecks } from './source-readiness.js'

/** Opens the HTTP server of an assembled callgate; tests use port 0. */
export async function openHttpServer(
  callgate: Callgate,
  alsoReady: readonly ReadinessCheck[] = [],
  serviceThreads?: ServiceThreads,
): Promise<RunningServer> {
  const { settings, runtime, gate, metrics } = callgate
  metrics.setServerReader(createServerReader(callgate))
  const serviceCodes = new Set(settings.gate.serviceCodes)
  const shared = {
    authenticate: callgate.authenticate,
    keysInAddress: settings.http.keysInAddress,
    maxBodyBytes: settings.http.maxBodyBytes,
    logger: runtime.log,
  }
  const found = [...listDataReadinessChecks(callgate), ...listSourceReadinessChecks(callgate)]
  const checks = [...found, ...alsoReady].map((check) => new WatchedCheck(check, runtime.clock))
  const figures = new LiveFigures({ ...runtime, metrics })
  const inbox = openInbox(callgate)
  callgate.backgroundJobs.tasks.set('events of platforms', inbox.task)
  const bundles = openBundles(callgate)
  callgate.backgroundJobs.tasks.set('evidence bundles', bundles.task)
  const limits = rateLimits(callgate)
  const streams = new LiveStreams()
  const deps: RouteHandlerDeps = {
    ...shared,
    serviceThreads,
    requireCurrent: () => requireCurrent(callgate),
    requireOpen: () => requireOpen(callgate),
    limitRate: (accountId, rate) => limits.takeRequest(accountId, rate),
    admitNumbers: (accountId, rate, count) => limits.admitNumbers(accountId, rate, count),
    live: { streams, findKey: (keyId) => callgate.keys.find(keyId) },
  }
  const own = [
    ...listRoutes(callgate, serviceCodes),
    ...inbox.routes,
    ...bundles.routes,
    createStatusRoute({ callgate, checks }),
    createLiveRoute(figures),
  ]
  const { recordRead } = callgate.service
  const routes = [...own, ...createChangeRoutes({ ...callgate, routes: own, deps, recordRead })]
  const endpoints = [...decisionEndpoints, ...routes.map(({ endpoint }) => endpoint)]
  const strangers = new StrangersAllowance()
  const console = createConsoleHandler(callgate, { routes, deps, strangers })
  const server = await openServer({
    ...deps,
    console,
    strangers,
    host: settings.http.host,
    port: settings.http.port,
    eventLoop: runtime.eventLoop,
    limits: settings.http,
    metrics,
    routes,
    onIgnoredFields: reportIgnoredFields(callgate),
    pages: new Map<string, Page>([
      ...createApiDocsPages({ version, endpoints, home: console ? '/console' : '/docs' }),
      ...createPermitKeyPages(callgate.permits),
    ]),
    ops: {
      checks,
      renderMetrics: (readiness) => {
        metrics.setReadiness(readiness)
        return metrics.render()
      },
    },
    decisionRoutes: createDecisionRoutes({
      ...shared,
      gate,
      permits: callgate.permits,
      repeats: createRepeatedCalls(callgate),
      shut: callgate.shut,
      encode: encodeReply,
      journal: callgate.journal,
      serviceCodes,
      clock: runtime.clock,
      recentCalls: callgate.recentCalls,
    }),
  })
  // Not earlier, since a server that never listened is never closed.
  figures.start()
  bundles.start()
  inbox.task.start()
  return {
    ...server,
    async close(idleGraceMs) {
      figures.stop()
      streams.close()
      await server.close(idleGraceMs)
      await bundles.close()
      await inbox.task.close()
    },
  }
}

const reportIgnoredFields = ({ metrics, runtime: { clock, log } }: Callgate) =>
  createIgnoredFieldsReporter({
    count: (endpoint, fields) => metrics.countIgnoredFields(endpoint, fields),
    clock,
    log,
  })

/** Without those that decide on calls. */
export function listRoutes(
  callgate: Callgate,
  serviceCodes: ReadonlySet<string>,
): readonly Route[] {
  const { settings, runtime, journal, service, warmup, storage } = callgate
  const searched = { dataDir: settings.dataDir, storage, clock: runtime.clock }
  return [
    ...createServiceRoutes(service, { wrappedRows: settings.callingHours.wrappedRows }),
    // Their paths would otherwise be those of decisions with the ids 'preview' and 'stream'.
    createPreviewRoute(callgate.gate, runtime.clock),
    openStreamRoute(searched),
    ...journalRoutes({
      journal,
      shared: callgate.sharedDecisions,
      counters: createReportCounters(callgate),
      importedAttempts: new ImportedAttempts({
        storage: callgate.storage,
        clock: runtime.clock,
        getSubjects: () => callgate.settings.gate.subjects,
      }),
      recordRead: service.recordRead,
      clock: runtime.clock,
      optOuts: createOptOuts(callgate),
    }),
    ...edgeRoutes(
      new Center({
        storage: callgate.storage,
        timers: runtime.timers,
        readListAccess: (accountId) => readListAccess(callgate.storage.db, accountId),
      }),
      callgate,
    ),
    createEdgeDecisionsRoute(callgate.storage, join(settings.dataDir, 'journal')),
    openSearchRoute(searched),
    ...openEvidenceRoutes({ settings, storage, clock: runtime.clock }),
    createNumberRoute(createNumberPageDeps(callgate)),
    createAttemptLimitsRoute(callgate),
    ...permitRoutes(callgate.permits),
    createListFileRoute(callgate),
    ...createProjectRoutes(callgate),
    ...createListsRoutes({
      getSettings: () => callgate.settings,
      clock: runtime.clock,
      storage: callgate.storage,
    }),
    createRulesRoute({ getSettings: () => callgate.settings, viewOf: callgate.viewOf }),
    ...warmupRoutes(warmup, { serviceCodes }),
  ]
}

/** Loads what it needs with the first request. */
function createAttemptLimitsRoute(callgate: Callgate): Route {
  return createRoute(attemptLimitsEndpoint, async (caller, request) => {
    const { readAttemptLimits } = await import('../../app/numbers/attempt-limits.js')
    return await readAttemptLimits(callgate, caller, request)
  })
}

/** Its files are loaded when somebody asks for a page. */
function createConsoleHandler(
  { settings, storage, keys, expiryClock, runtime, data }: Callgate,
  parts: Pick<ConsoleOptions, 'routes' | 'deps' | 'strangers'>,
): ConsoleHandler | undefined {
  if (!settings.console.enabled) return undefined
  const oidc = findOidc(settings.console)
  const people = oidc && {
    settings: oidc,
    clientSecret: readFirstLine(oidc.clientSecretFile, 'console.oidc.clientSecretFile'),
  }
  let opened: Promise<ConsoleHandler> | undefined
  const open = async () => {
    const [{ createConsole }, { Sessions }] = await Promise.all([
      import('../../console/console.js'),
      import('../../service/people/sessions.js'),
    ])
    const { randomBytes, clock, timers, log: logger } = runtime
    const accountOfPeople = oidc?.account
    const sessions = new Sessions({
      ...{ storage, keys, accountOfPeople, clock: expiryClock, randomBytes },
    })
    const publicUrl = findProxyUrl(settings.console)
    const getSandboxLines = () =>
      new Map([...data.sandbox.file.lines].map(([line, { about }]) => [line, about]))
    return await createConsole({
      ...{ ...parts, sessions, publicUrl, people, clock, timers, logger },
      getSandboxLines,
    })
  }
  return async (request, response, next) => {
    opened ??= open()
    try {
      const answer = await opened
      return await answer(request, response, next)
    } catch (cause) {
      // It is opened anew for the next request.
      opened = undefined
      throw cause
    }
  }
}

function createRepeatedCalls(callgate: Callgate): RepeatedCalls {
  const { storage, runtime, journal, sharedDecisions, gate } = callgate
  const { clock, log } = runtime
  const requests = new RepeatedRequests(storage, runtime)
  const find = (accountId: string, id: string) =>
    findDecision(journal, sharedDecisions, { accountId, id })
  return new RepeatedCalls({ requests, gate, find, journal, clock, log })
}

function requireOpen({ shut: { problem } }: Callgate): void {
  if (problem !== undefined) throw new AppError('not-available', `This server is shut: ${problem}`)
}

/** What others had stored `cluster.maxStalenessMs` before is known. Throws `not-available`. */
function requireCurrent({ storage: { feed }, runtime, settings }: Callgate): void {
  if (feed === undefined) return
  const reading = { now: runtime.clock.now(), monotonicMs: runtime.timers.monotonicMs() }
  if (computeAgeMs(feed.currentAt, reading) <= settings.cluster.maxStalenessMs) return
  const problem = feed.problem ?? 'the latest look at it was too long ago'
  const message = `This server does not know what others have stored in the last moments: ${problem}`
  throw new AppError('not-available', message, { retryAfterSeconds: 1 })
}

/** A reload replaces the settings, so the limits are read for each request. */
function rateLimits(callgate: Callgate): RateLimits {
  const { runtime, storage } = callgate
  return new RateLimits({
    timers: runtime.timers,
    shared: storage.traits.isShared
      ? new SharedMinutes({
          ...runtime,
          take: (limit, amount) =>
            storage.retryWhileLocked(() => takeShared(storage.db, limit, amount)),
        })
      : undefined,
    get perMinute() {
      const { limits } = callgate.settings
      return {
        scrub: limits.scrubPerMinute,
        litigator: limits.litigatorPerMinute,
        reassigned: limits.reassignedPerMinute,
        reputation: limits.reputationPerMinute,
        pdnc: limits.pdncPerMinute,
        ebr: limits.ebrPerMinute,
        'time-legal': limits.timeLegalPerMinute,
      }
    },
    get numbersPerMinute() {
      const { limits } = callgate.settings
      return {
        scrub: limits.scrubNumbersPerMinute,
        pdnc: limits.pdncNumbersPerMinute,
        ebr: limits.ebrNumbersPerMinute,
        'time-legal': limits.timeLegalNumbersPerMinute,
      }
    },
  })
}
