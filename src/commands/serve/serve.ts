/** `callgate serve`: runs the gate and the compliance service over HTTP until a signal stops them. */

import type { Command } from 'commander'
import type { OpenAppOptions } from '../../app/app-context.js'
import { mainAccountId } from '../../app/app-context.js'
import { type Callgate, openCallgate } from '../../app/callgate.js'
import { createListFileRoute } from '../../app/lists/list-file-route.js'
import { Reloader } from '../../app/reloader.js'
import { createOptOuts } from '../../app/service.js'
import { ServiceThreads } from '../../app/service-threads.js'
import { resolveAriServers } from '../../asterisk/ari/ari-servers.js'
import type { Asterisk } from '../../asterisk/asterisk.js'
import type { Settings } from '../../config/settings.js'
import { version } from '../../config/version.js'
import { sandboxAccountId } from '../../domain/caller.js'
import type { Instant } from '../../domain/time/clock.js'
import { parseInstant } from '../../domain/time/dates.js'
import { getIanaVersion } from '../../domain/time/time-zones.js'
import { Center } from '../../edge/center.js'
import { createEdgeDecisionsRoute } from '../../edge/edge-decisions-route.js'
import { edgeRoutes } from '../../edge/edge-routes.js'
import { AppError, getErrorMessage } from '../../errors.js'
import { CountedOutcomes } from '../../gate/counted-outcomes.js'
import { type DecisionDocument, encodeDecision } from '../../gate/decision-document.js'
import { findDecision, journalRoutes } from '../../gate/journal/journal-routes.js'
import { createPreviewRoute } from '../../gate/preview.js'
import { computeAgeMs } from '../../gate/staleness.js'
import { createApiDocsPages } from '../../http/api-docs.js'
import {
  createDecisionRoutes,
  type DecisionRoutesOptions,
  decisionEndpoints,
} from '../../http/decision-routes.js'
import type { ReadinessCheck } from '../../http/health.js'
import { RateLimits } from '../../http/limits/rate-limits.js'
import { SharedMinutes } from '../../http/limits/shared-minutes.js'
import { createIgnoredFieldsReporter } from '../../http/request/ignored-fields.js'
import type { Page } from '../../http/router.js'
import { openServer, type RunningServer } from '../../http/server.js'
import { type LineWriter, openLog } from '../../observability/log.js'
import type { Tracing } from '../../observability/tracing.js'
import { createPermitKeyPages, permitRoutes } from '../../permits/permit-routes.js'
import { closeInOrder } from '../../runtime/close-in-order.js'
import { nodeRuntime } from '../../runtime/runtime.js'
import { onHangup, waitForSignal } from '../../runtime/signals.js'
import { AttemptOutcomes } from '../../service/accounts/attempt-outcomes.js'
import { ImportedAttempts } from '../../service/accounts/imported-attempts.js'
import { RepeatedRequests } from '../../service/accounts/repeated-requests.js'
import { createServiceRoutes } from '../../service/service-routes.js'
import { warmupRoutes } from '../../sources/warming/warmup-routes.js'
import { takeShared } from '../../storage/cluster/shared-limits.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from '../command.js'
import { findPolicyFindings } from '../doctor/policy-findings.js'
import { describeGoingLive, readAccountCallStatuses } from './call-readiness.js'
import { listDataReadinessChecks, watchData } from './data-watch.js'
import { findExposedFiles } from './exposed-files.js'
import {
  createFirstKeys,
  formatKeyHeaderCommand,
  resolveFirstKeysFile,
  writeFirstKeys,
} from './first-keys.js'
import { notifySystemd } from './notify-systemd.js'
import { openReloadSocket } from './reload-socket.js'
import { createServerReader } from './server-readings.js'
import { listSourceReadinessChecks } from './source-readiness.js'

export const registerServe: RegisterCommand = (program) => {
  program
    .command('serve')
    .description('run the gate and the compliance service')
    .option('--init', 'create a new, empty database in a data folder that has lost its own')
    .action(async ({ init }: OpenAppOptions, command: Command) => {
      const settings = loadCommandSettings(command)
      const { log, output } = openLog(settings.logLevel)
      const ended = waitForSignal()
      let setReloader: (reloader: Reloader) => void = () => undefined
      const reloading = new Promise<Reloader>((resolve) => {
        setReloader = resolve
      })
      // During the start as well, since the files may change after they were read.
      onHangup(() => void reloading.then((reloader) => reloader.reload()))
      const tracing = await openTracing(settings)
      const callgate = await openCallgate(
        settings,
        { ...nodeRuntime, log, canBlock: false },
        { init, tracing },
      )
      output.onDropped = () => callgate.metrics.countDroppedLogLine()
      if (tracing) tracing.onDropped = (count) => callgate.metrics.countDroppedSpans(count)
      try {
        await serveUntil(ended, callgate, output, (serviceThreads) => {
          const reloader = new Reloader(callgate, {
            file: command.optsWithGlobals<{ config?: string }>().config,
            onReconfigured: (configuration) => {
              log.setLevel(configuration.settings.logLevel)
              serviceThreads?.reconfigure(configuration)
            },
          })
          setReloader(reloader)
          return reloader
        })
      } finally {
        await callgate.close()
        await tracing?.close()
      }
      requireNoLosses(callgate)
      log.info('stopped')
    })
}

/** OpenTelemetry is loaded only if its spans are exported. */
async function openTracing({ tracing }: Settings): Promise<Tracing | undefined> {
  const { otlpUrl: url, serviceName, sampleRatio } = tracing
  if (url === undefined) return undefined
  const { Tracing } = await import('../../observability/tracing.js')
  const { clock, timers } = nodeRuntime
  return new Tracing({ url, serviceName, version, sampleRatio, clock, timers })
}

/** Throws if records were lost, so that the exit code shows it. */
function requireNoLosses({ journal: { lostCount } }: Callgate): void {
  if (lostCount === 0) return
  throw new CommandFailure(
    `${lostCount} records of decisions or outcomes could not be written to the journal and are lost; ` +
      'see the log for the reason',
  )
}

async function serveUntil(
  ended: Promise<string>,
  callgate: Callgate,
  output: LineWriter,
  createReloader: (serviceThreads: ServiceThreads | undefined) => Reloader,
): Promise<void> {
  const { storage, runtime } = callgate
  const { log } = runtime
  await storage.lockForServing()
  storage.failure.catch((err: unknown) =>
    log.error('callgate stops, since it cannot go on', { err }),
  )
  await callgate.journal.open()
  logWarnings(callgate)
  const opened: (() => Promise<void> | void)[] = [watchData(callgate)]
  try {
    const asterisk = await attachAsterisk(callgate)
    opened.push(() => asterisk.close())
    const serviceThreads = openServiceThreads(callgate)
    opened.push(() => serviceThreads?.close())
    // Before the first request is answered, so that whoever waits for an answer finds the keys.
    const sandboxKey = await showFirstKeys(callgate, output)
    const server = await listen(callgate, asterisk, serviceThreads)
    callgate.backgroundJobs.start()
    callgate.erasureTask.start()
    callgate.projection?.start()
    checkDatabasePages(callgate)
    opened.push(() => server.close())
    const reloader = createReloader(serviceThreads)
    opened.push(await openReloadSocket(callgate.settings.dataDir, reloader, log))
    const { versions } = reloader
    log.info('started', { version, url: server.url, zoneRules: getIanaVersion(), versions })
    await printGreeting(callgate, { server, output, sandboxKey })
    await notifySystemd('READY=1', log)
    log.info('stopping', { signal: await Promise.race([ended, storage.failure]) })
    await notifySystemd('STOPPING=1', log)
  } finally {
    await closeInOrder(opened.reverse())
  }
}

/** Logs what `callgate doctor` would find in the settings and the file modes. None of it prevents the start. */
function logWarnings({ settings, runtime: { log, clock } }: Callgate): void {
  const findings = [...findPolicyFindings(settings, clock), ...findExposedFiles(settings)]
  for (const { problem, subject, fix } of findings) log.warn(problem, { subject, fix })
}

/** Checks the database in the background; damage is reported in readiness and the log. */
function checkDatabasePages({ storage, runtime: { log } }: Callgate): void {
  void storage.checkIntegrity().catch((err: unknown) => {
    log.warn('the pages of the database could not be checked', { err })
  })
}

const noAsterisk: Asterisk = { readiness: [], close: async () => undefined }

/** Connects every configured Asterisk. Throws {@link CommandFailure} if their account does not exist. */
export async function attachAsterisk(callgate: Callgate): Promise<Asterisk> {
  const { settings, runtime, metrics, gate, journal, accounts } = callgate
  const { account: accountId, serviceCodes } = settings.gate
  if (!(await accounts.find(accountId))) {
    throw new CommandFailure(`gate.account: account '${accountId}' not found`, 2)
  }
  if (resolveAriServers(settings.asterisk).length === 0) return noAsterisk
  // The ARI library takes a while to load, so it is loaded only if an Asterisk is configured.
  const { openAsterisk } = await import('../../asterisk/asterisk.js')
  return openAsterisk({
    settings: settings.asterisk,
    accountId,
    serviceCodes: new Set(serviceCodes),
    dataDir: settings.dataDir,
    claimUsedPermit: (claim) => callgate.permits.claim(accountId, claim),
    gate,
    outcomes: new CountedOutcomes({
      journal,
      attempts: callgate.attempts,
      reports: new AttemptOutcomes(callgate.storage),
      log: runtime.log,
    }),
    metrics,
    clock: runtime.clock,
    eventLoop: runtime.eventLoop,
    randomBytes: runtime.randomBytes,
    log: runtime.log,
  })
}

function openServiceThreads(callgate: Callgate): ServiceThreads | undefined {
  const count = callgate.settings.http.serviceThreads
  return count === 0 ? undefined : new ServiceThreads(callgate, { count })
}

async function listen(
  callgate: Callgate,
  { readiness }: Asterisk,
  serviceThreads: ServiceThreads | undefined,
): Promise<RunningServer> {
  try {
    return await openHttpServer(callgate, readiness, serviceThreads)
  } catch (cause) {
    const { host, port } = callgate.settings.http
    const why = getErrorMessage(cause)
    throw new CommandFailure(`http.host '${host}', http.port ${port}: cannot listen: ${why}`)
  }
}

/** Opens the HTTP server of an assembled callgate; tests use port 0. */
export function openHttpServer(
  callgate: Callgate,
  alsoReady: readonly ReadinessCheck[] = [],
  serviceThreads?: ServiceThreads,
): Promise<RunningServer> {
  const { settings, runtime, journal, gate, metrics, service, warmup } = callgate
  metrics.setServerReader(createServerReader(callgate))
  const serviceCodes: ReadonlySet<string> = new Set(settings.gate.serviceCodes)
  const shared = {
    authenticate: callgate.authenticate,
    keysInAddress: settings.http.keysInAddress,
    maxBodyBytes: settings.http.maxBodyBytes,
    logger: runtime.log,
  }
  const routes = [
    ...createServiceRoutes(service, { wrappedRows: settings.callingHours.wrappedRows }),
    // Its path would otherwise be that of a decision with the id 'preview'.
    createPreviewRoute(callgate.dryRunGate, runtime.clock),
    ...journalRoutes({
      journal,
      shared: callgate.sharedDecisions,
      attempts: new AttemptOutcomes(callgate.storage),
      importedAttempts: new ImportedAttempts({
        storage: callgate.storage,
        clock: runtime.clock,
        subjects: settings.gate.subjects,
      }),
      clock: runtime.clock,
      optOuts: createOptOuts(callgate),
    }),
    ...edgeRoutes(
      new Center({
        storage: callgate.storage,
        timers: runtime.timers,
        listAccountId: mainAccountId,
      }),
      callgate,
    ),
    createEdgeDecisionsRoute(callgate.storage),
    ...permitRoutes(callgate.permits),
    createListFileRoute(callgate),
    ...warmupRoutes(warmup, { serviceCodes }),
  ]
  const limits = rateLimits(callgate)
  const endpoints = [...decisionEndpoints, ...routes.map(({ endpoint }) => endpoint)]
  return openServer({
    ...shared,
    host: settings.http.host,
    port: settings.http.port,
    eventLoop: runtime.eventLoop,
    limits: settings.http,
    metrics,
    routes,
    serviceThreads,
    requireCurrent: () => requireCurrent(callgate),
    limitRate: (accountId, rate) => limits.takeRequest(accountId, rate),
    onIgnoredFields: createIgnoredFieldsReporter({
      count: (endpoint, fields) => metrics.countIgnoredFields(endpoint, fields),
      clock: runtime.clock,
      log: runtime.log,
    }),
    admitNumbers: (accountId, rate, count) => limits.admitNumbers(accountId, rate, count),
    pages: new Map<string, Page>([
      ...createApiDocsPages({ version, endpoints }),
      ...createPermitKeyPages(callgate.permits),
    ]),
    ops: {
      checks: [
        ...listDataReadinessChecks(callgate),
        ...listSourceReadinessChecks(callgate),
        ...alsoReady,
      ],
      renderMetrics: (readiness) => {
        metrics.setReadiness(readiness)
        return metrics.render()
      },
    },
    decisionRoutes: createDecisionRoutes({
      ...shared,
      gate,
      permits: callgate.permits,
      repeats: createRepeatedRequests(callgate),
      encode: encodeDecision,
      serviceCodes,
      clock: runtime.clock,
    }),
  })
}

function createRepeatedRequests(callgate: Callgate): DecisionRoutesOptions['repeats'] {
  const { storage, runtime, journal, sharedDecisions } = callgate
  const requests = new RepeatedRequests(storage, runtime)
  return {
    begin: async (caller, request) => {
      const id = await requests.begin(caller, request)
      if (id === undefined) return undefined
      const { accountId } = caller
      const found = await findDecision(journal, sharedDecisions, { accountId, id })
      const name = `Idempotency-Key '${request.idempotencyKey}': its decision ${id}`
      if (found === undefined) throw new AppError('conflict', `${name} is not found`)
      const { outcome: _, erased: __, ...answered } = found
      if (isOver(found, runtime.clock.now())) {
        throw new AppError('conflict', `${name} no longer allows the call; use a new key`)
      }
      return { ...answered, json: JSON.stringify(answered) }
    },
    finish: requests.finish.bind(requests),
    forget: requests.forget.bind(requests),
  }
}

/** Whether an allow may no longer be acted on: its time has passed, or the call was reported. */
function isOver({ decision, outcome, ...times }: DecisionDocument, now: Instant): boolean {
  if (decision === 'block') return false
  const [decidedAt, judgedAt, validUntil] = [times.decidedAt, times.judgedAt, times.validUntil].map(
    (text) => parseInstant(text) ?? 0,
  ) as [Instant, Instant, Instant]
  return outcome !== undefined || now >= decidedAt + validUntil - judgedAt
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

/**
 * The first start creates a key for each account. On a terminal the keys are shown once; otherwise they are
 * written to a file, since logs are stored and shared. Resolves to a shell expression for the sandbox's key.
 */
async function showFirstKeys(callgate: Callgate, output: LineWriter): Promise<string | undefined> {
  // The keys of an edge are those of its center.
  if (callgate.storage.traits.isCopy) return undefined
  const file = output.isTerminal ? undefined : resolveFirstKeysFile(callgate)
  const keys = await createFirstKeys(callgate, (made) => file && writeFirstKeys(file, made))
  if (keys.size === 0) return undefined
  if (file === undefined) {
    for (const [accountId, key] of keys)
      output.write(`${`key of account ${accountId} (shown once):`.padEnd(36)} ${key}\n`)
    return keys.get(sandboxAccountId)
  }
  callgate.runtime.log.warn('keys of the first start are in a file; store them and delete it', {
    file,
  })
  output.write(`keys of accounts ${[...keys.keys()].join(' and ')}: ${file}\n`)
  return keys.has(sandboxAccountId) ? formatKeyHeaderCommand(file) : undefined
}

interface Greeting {
  readonly server: RunningServer
  readonly output: LineWriter
  /** As in a shell command; absent if this start did not create it. */
  readonly sandboxKey: string | undefined
}

/** Prints where the server listens, and what to do next. */
async function printGreeting(
  callgate: Callgate,
  { server, output, sandboxKey }: Greeting,
): Promise<void> {
  const lines = [`callgate ${version} listens on ${server.url}`]
  if (sandboxKey !== undefined) {
    lines.push(
      'Try a fictional number; docs/sandbox.md lists them:',
      `  ${formatCurlCommand(server.url, sandboxKey)}`,
    )
  } else lines.push('Create another key with: callgate keys create')
  const statuses = await readAccountCallStatuses(callgate)
  const goingLive = describeGoingLive(statuses.flatMap(({ blockers }) => blockers))
  if (goingLive !== undefined) lines.push(goingLive)
  output.write(`${lines.join('\n')}\n`)
}

function formatCurlCommand(url: string, key: string): string {
  const body = JSON.stringify({ number: '212-555-0100', callKind: 'manual' })
  return (
    `curl -s ${url}/v1/decisions -H "loginId: ${key}" ` +
    `-H 'Content-Type: application/json' -d '${body}'`
  )
}
