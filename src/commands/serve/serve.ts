/** `callgate serve`: runs the gate and the compliance service over HTTP until a signal stops them. */

import { getHeapStatistics } from 'node:v8'
import type { Command } from 'commander'
import type { OpenAppOptions } from '../../app/app-context.js'
import { type Callgate, openCallgate } from '../../app/callgate.js'
import { createErasureTask } from '../../app/journal/erasures.js'
import { createReportCounters } from '../../app/journal/report-counters.js'
import { openServedJournal } from '../../app/journal/served-journal.js'
import { openWitnesses, type Witnesses } from '../../app/journal/witnesses.js'
import { Reloader } from '../../app/reloader.js'
import { ServiceThreads } from '../../app/service-threads.js'
import { resolveAriServers } from '../../asterisk/ari/ari-servers.js'
import type { Asterisk } from '../../asterisk/asterisk.js'
import { listProviders, type Settings } from '../../config/settings.js'
import { version } from '../../config/version.js'
import { sandboxAccountId } from '../../domain/caller.js'
import { getIanaVersion } from '../../domain/time/time-zones.js'
import { getErrorCode, getErrorMessage } from '../../errors.js'
import { CountedOutcomes } from '../../gate/outcomes/counted-outcomes.js'
import type { ReadinessCheck } from '../../http/health.js'
import type { RunningServer } from '../../http/server.js'
import { type LineWriter, openLog } from '../../observability/log.js'
import type { Tracing } from '../../observability/tracing.js'
import { closeInOrder } from '../../runtime/close-in-order.js'
import { raiseFileLimit, readOpenFileLimit } from '../../runtime/open-file-limit.js'
import { nodeRuntime } from '../../runtime/runtime.js'
import { onHangup, waitForSignal } from '../../runtime/signals.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from '../command.js'
import { findPolicyFindings } from '../doctor/policy-findings.js'
import { AuditOfData } from './audit-of-data.js'
import { describeGoingLive, readAccountCallStatuses } from './call-readiness.js'
import { watchData } from './data-watch.js'
import { findExposedFiles } from './exposed-files.js'
import {
  createFirstKeys,
  formatKeyHeaderCommand,
  resolveFirstKeysFile,
  writeFirstKeys,
} from './first-keys.js'
import { openHttpServer } from './http-server.js'
import { notifySystemd } from './notify-systemd.js'
import { openReloadSocket } from './reload-socket.js'

export const registerServe: RegisterCommand = (program) => {
  program
    .command('serve')
    .description('run the gate and the compliance service')
    .option(
      '--init',
      'create a new, empty database in a data folder that has lost its own; the journal there is accepted',
    )
    .action(async ({ init }: OpenAppOptions, command: Command) => {
      const settings = loadCommandSettings(command)
      requireEnoughFiles(settings)
      requireEnoughMemory(settings)
      const { log, output } = openLog(settings.logLevel)
      const ended = waitForSignal()
      let setReloader: (reloader: Reloader) => void = () => undefined
      const reloading = new Promise<Reloader>((resolve) => {
        setReloader = resolve
      })
      // During the start as well, since the files may change after they were read.
      onHangup(() => void reloading.then((reloader) => reloader.reload()))
      const opened: Closer[] = []
      let hasStarted = false
      void ended.then((signal) => {
        if (hasStarted) return
        setTimeout(() => {
          if (hasStarted) return
          log.warn('stopped by a signal during the start', { signal })
          process.exit(1)
        }, startGraceMs).unref()
      })
      try {
        const tracing = await openTracing(settings)
        opened.push(() => tracing?.close())
        let witnesses: Witnesses | undefined
        // After the journal, whose last head it sends.
        opened.push(() => witnesses?.close())
        const callgate = await openCallgate(
          settings,
          { ...nodeRuntime, log, canBlock: false },
          { init, tracing },
        )
        opened.push(() => callgate.close())
        witnesses = await openWitnesses(callgate)
        output.onDropped = () => callgate.metrics.countDroppedLogLine()
        if (tracing) tracing.onDropped = (count) => callgate.metrics.countDroppedSpans(count)
        const createReloader = (serviceThreads: ServiceThreads | undefined) => {
          const reloader = new Reloader(callgate, {
            file: command.optsWithGlobals<{ config?: string }>().config,
            onReconfigured: (configuration) => {
              log.setLevel(configuration.settings.logLevel)
              serviceThreads?.reconfigure(configuration)
              logAccountFindings(callgate, configuration.settings)
            },
          })
          setReloader(reloader)
          return reloader
        }
        // Only of SQLite: its database was made by this very start then.
        const isAccepted = init === true && !callgate.storage.traits.isShared
        const options = { output, witnesses, createReloader, isAccepted }
        const { failure } = await startServer(callgate, opened, options)
        hasStarted = true
        log.info('stopping', {
          signal: await Promise.race([ended, callgate.storage.failure, failure]),
        })
        await notifySystemd('STOPPING=1', log)
        opened.unshift(() => requireNoLosses(callgate))
      } finally {
        await closeInOrder(opened.reverse())
      }
      log.info('stopped')
    })
}

type Closer = () => Promise<void> | void | undefined

/** A start may wait for another machine, so a signal gives it this long to end. */
const startGraceMs = 2_000

/** Files that a server opens besides its connections: database, journal, lists, provider. */
const otherOpenFiles = 100
/** What a number in the answer cache takes, as measured. */
const cachedNumberBytes = 5_000
const cacheShareOfMemory = 0.6

/** Throws {@link CommandFailure} if the process cannot open enough files for `http.maxConnections`. */
function requireEnoughFiles({ http: { maxConnections } }: Settings): void {
  const limit = readOpenFileLimit()
  if (maxConnections + otherOpenFiles <= limit) return
  throw new CommandFailure(
    `http.maxConnections ${maxConnections}: this process can open only ${limit} files, and needs ${otherOpenFiles} of them ` +
      `for other purposes. Set it to ${limit - otherOpenFiles} or less, or ${raiseFileLimit}`,
    2,
  )
}

/** A process that reaches its limit of memory ends, and with it the calls. */
function requireEnoughMemory({ gate: { cache } }: Settings): void {
  const limit = getHeapStatistics().heap_size_limit
  const possible = Math.floor((limit * cacheShareOfMemory) / cachedNumberBytes)
  if (cache.maxEntries <= possible) return
  const toMb = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
  throw new CommandFailure(
    `gate.cache.maxEntries ${cache.maxEntries}: so many numbers take up to ${toMb(cache.maxEntries * cachedNumberBytes)} of memory, ` +
      `and Node.js may use ${toMb(limit)}. Set it to ${possible} or less, or raise the limit (--max-old-space-size, in MiB)`,
    2,
  )
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

interface StartOptions {
  readonly output: LineWriter
  readonly witnesses: Witnesses | undefined
  readonly createReloader: (serviceThreads: ServiceThreads | undefined) => Reloader
  /** Of parts that do not belong together. */
  readonly isAccepted: boolean
}

/**
 * Resolves when the server listens, to a promise that rejects if it cannot go on. Everything that it opens is closed by `opened`,
 * also if it rejects.
 */
async function startServer(
  callgate: Callgate,
  opened: Closer[],
  { output, witnesses, createReloader, isAccepted }: StartOptions,
): Promise<{ readonly failure: Promise<never> }> {
  const { storage, runtime, shut } = callgate
  const { log } = runtime
  await storage.lockForServing()
  storage.failure.catch((err: unknown) =>
    log.error('callgate stops, since it cannot go on', { err }),
  )
  await witnesses?.requireContinuation()
  const served = await openServedJournal(callgate, { isAccepted })
  opened.push(() => served.close())
  logWarnings(callgate)
  opened.push(watchData(callgate))
  const asterisk = await attachAsterisk(callgate)
  opened.push(() => asterisk.close())
  const serviceThreads = openServiceThreads(callgate, served.confirm)
  opened.push(() => serviceThreads?.close())
  // Before the first request is answered, so that a client that waits for an answer finds the keys.
  const sandboxKey = shut.problem === undefined ? await showFirstKeys(callgate, output) : undefined
  logAccountFindings(callgate, callgate.settings)
  const readiness = [...asterisk.readiness, ...(witnesses ? [witnesses.readiness] : [])]
  const server = await listen(callgate, readiness, serviceThreads)
  opened.push(() => server.close())
  const reloader = createReloader(serviceThreads)
  const begun = served.opened.then(() => beginWork(callgate, opened, witnesses))
  if (shut.problem === undefined) await begun
  opened.push(await openReloadSocket(callgate.settings.dataDir, reloader, log))
  const { versions } = callgate
  log.info('started', { version, url: server.url, zoneRules: getIanaVersion(), versions })
  await printGreeting(callgate, { server, output, sandboxKey })
  await notifySystemd('READY=1', log)
  const failure = begun.then(() => new Promise<never>(() => undefined))
  failure.catch(() => undefined)
  return { failure }
}

/** What is done beside the answers, which writes to the parts. */
function beginWork(callgate: Callgate, opened: Closer[], witnesses: Witnesses | undefined): void {
  const { backgroundJobs, journal, projection } = callgate
  const erasureTask = createErasureTask(callgate, journal)
  opened.push(() => erasureTask.close())
  backgroundJobs.start()
  erasureTask.start()
  backgroundJobs.tasks.set('erasures', erasureTask)
  projection?.start()
  witnesses?.start()
  checkDatabasePages(callgate)
  const auditOfData = new AuditOfData(callgate, () => callgate.versions)
  auditOfData.start()
  opened.push(() => auditOfData.close())
}

/** Logs what `callgate doctor` would find in the settings and the file modes. None of it prevents the start. */
function logWarnings({ settings, runtime: { log, clock } }: Callgate): void {
  const findings = [...findPolicyFindings(settings, clock), ...findExposedFiles(settings)]
  for (const { problem, subject, fix } of findings) log.warn(problem, { subject, fix })
}

/**
 * Logs in the background which budgets and logins in the settings are of accounts that do not exist, and in which accounts nobody could
 * approve what needs a second person.
 */
function logAccountFindings({ storage, runtime }: Callgate, settings: Settings): void {
  const { log, clock } = runtime
  const isNamed = listProviders(settings).some(
    ({ budget, accounts }) => !isEmpty(budget.accounts) || !isEmpty(accounts),
  )
  const { db, traits } = storage
  const check = async () => {
    const [{ findUnknownAccounts }, { findPeopleFindings }] = await Promise.all([
      import('../doctor/budget-findings.js'),
      import('../doctor/people-findings.js'),
    ])
    const findings = [
      ...(isNamed ? await findUnknownAccounts(settings, db) : []),
      ...(traits.isCopy ? [] : await findPeopleFindings(settings, db, clock.now())),
    ]
    for (const { problem, subject, fix } of findings) log.warn(problem, { subject, fix })
  }
  check().catch((err: unknown) =>
    log.warn('the accounts in the settings could not be checked', { err }),
  )
}

const isEmpty = (record: object) => Object.keys(record).length === 0

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
      counters: createReportCounters(callgate),
      findDecision: (id) => journal.find(accountId, id),
      log: runtime.log,
    }),
    metrics,
    clock: runtime.clock,
    eventLoop: runtime.eventLoop,
    randomBytes: runtime.randomBytes,
    log: runtime.log,
  })
}

function openServiceThreads(
  callgate: Callgate,
  confirmAudited: () => Promise<void>,
): ServiceThreads | undefined {
  const count = callgate.settings.http.serviceThreads
  return count === 0 ? undefined : new ServiceThreads(callgate, { count, confirmAudited })
}

const listenFixes: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Stop the program that uses the port, or set CALLGATE_HTTP_PORT to another port',
  EADDRNOTAVAIL: 'Set CALLGATE_HTTP_HOST to an address that this machine has',
  EACCES: 'Set CALLGATE_HTTP_PORT to 1024 or higher, or allow this user to open lower ports',
}

async function listen(
  callgate: Callgate,
  readiness: readonly ReadinessCheck[],
  serviceThreads: ServiceThreads | undefined,
): Promise<RunningServer> {
  try {
    return await openHttpServer(callgate, readiness, serviceThreads)
  } catch (cause) {
    const { host, port } = callgate.settings.http
    const fix = listenFixes[getErrorCode(cause) ?? '']
    const why = `${getErrorMessage(cause)}${fix === undefined ? '' : `. ${fix}`}`
    throw new CommandFailure(`http.host '${host}', http.port ${port}: cannot listen: ${why}`)
  }
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
