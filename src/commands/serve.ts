/** `callgate serve`: the gate and the compliance service over HTTP, until a signal ends them. */
import type { Command } from 'commander'
import { ariServers } from '../asterisk/ari-servers.js'
import type { Asterisk } from '../asterisk/asterisk.js'
import { type Callgate, openCallgate } from '../compose.js'
import type { OpenOptions } from '../compose-foundation.js'
import { closeInOrder } from '../domain/close-in-order.js'
import { ianaVersion } from '../domain/zones.js'
import { decisionDocument } from '../gate/decision-document.js'
import { gateRoutes } from '../gate/gate-routes.js'
import { policyWarnings } from '../gate/policy-of.js'
import { warmRoutes } from '../gate/warm-routes.js'
import { descriptionAnswers } from '../http/description.js'
import { createFrontDoor, frontDoorEndpoints } from '../http/front-door.js'
import { reportIgnoredFields } from '../http/ignored-fields.js'
import type { RequestMeasure } from '../http/measure.js'
import type { ReadinessCheck } from '../http/ops.js'
import { RateLimits } from '../http/rate-limits.js'
import { openServer, type RunningServer } from '../http/server.js'
import { type LineWriter, openLog } from '../log.js'
import { sandboxAccountId } from '../service/sandbox/sandbox.js'
import { serviceRoutes } from '../service/service-routes.js'
import { version } from '../version.js'
import { realWorld } from '../world.js'
import { type AddCommand, CommandFailure, settingsFor } from './command.js'
import { dataReadiness, watchData } from './data-watch.js'
import { exposedFiles } from './exposed-files.js'
import { createFirstKeys, firstKeysFile, keyFromFile, writeFirstKeys } from './first-keys.js'
import { firstSignal, onHangup } from './signals.js'
import { sourceReadiness, sourceWarnings } from './source-readiness.js'

export const addServe: AddCommand = (program) => {
  program
    .command('serve')
    .description('run the gate and the compliance service')
    .option('--init', 'make a new, empty database in a data folder that has lost its own')
    .action(async ({ init }: OpenOptions, command: Command) => {
      const settings = settingsFor(command)
      const { log, output } = openLog(settings.logLevel)
      const ended = firstSignal()
      onHangup(() => log.info('SIGHUP is ignored; a restart reads changed settings'))
      const callgate = await openCallgate(
        settings,
        { ...realWorld, log, mayBlock: false },
        { init },
      )
      output.onDropped = () => callgate.metrics.logLineDropped()
      try {
        await serveUntil(ended, callgate, output)
      } finally {
        await callgate.close()
      }
      refuseLosses(callgate)
      log.info('stopped')
    })
}

/** A stop that lost records is a failure, for whoever watches the exit code. */
function refuseLosses({ journal, outcomes }: Callgate): void {
  const lost = journal.lost + outcomes.lost
  if (lost === 0) return
  throw new CommandFailure(
    `records of ${journal.lost} decisions and ${outcomes.lost} outcomes could not be written to ` +
      'the database and are lost; the log says why',
  )
}

async function serveUntil(
  ended: Promise<string>,
  callgate: Callgate,
  output: LineWriter,
): Promise<void> {
  const { log } = callgate.world
  callgate.storage.serveAlone()
  warn(callgate)
  const opened: (() => Promise<void> | void)[] = [watchData(callgate)]
  try {
    const asterisk = await attachAsterisk(callgate)
    opened.push(() => asterisk.close())
    const server = await listen(callgate, asterisk)
    callgate.background.start()
    checkPages(callgate)
    opened.push(() => server.close())
    log.info('started', { version, url: server.url, zoneRules: ianaVersion() })
    await greet(callgate, server, output)
    log.info('stopping', { signal: await ended })
  } finally {
    await closeInOrder(opened.reverse())
  }
}

/** What an operator should know that nothing refuses. */
function warn({ settings, world: { log, clock } }: Callgate): void {
  const policy = policyWarnings(settings.policy, clock.now())
  for (const line of [...policy, ...sourceWarnings(settings)]) log.warn(line)
  for (const exposed of exposedFiles(settings)) {
    log.warn('modes of files let other users read data; run the command in mend', { ...exposed })
  }
}

/** Damage shows in readiness and log from then on; nobody waits for it. */
function checkPages({ storage, world: { log } }: Callgate): void {
  void storage.checkPages().catch((err: unknown) => {
    log.warn('the pages of the database could not be checked', { err })
  })
}

const noAsterisk: Asterisk = { readiness: [], close: async () => undefined }

/** Every Asterisk of the settings; refuses an account that calls cannot be judged for. */
export async function attachAsterisk(callgate: Callgate): Promise<Asterisk> {
  const { settings, world, metrics, gate, outcomes, accounts } = callgate
  const { account: accountId, serviceCodes } = settings.gate
  if (!(await accounts.find(accountId))) {
    throw new CommandFailure(`gate.account '${accountId}': is no account here`, 2)
  }
  if (ariServers(settings.asterisk).length === 0) return noAsterisk
  // What speaks ARI takes a while to load, which a server without an Asterisk need not wait for.
  const { openAsterisk } = await import('../asterisk/asterisk.js')
  return openAsterisk({
    settings: settings.asterisk,
    accountId,
    serviceCodes: new Set(serviceCodes),
    dataDir: settings.dataDir,
    gate,
    outcomes,
    metrics,
    clock: world.clock,
    eventLoop: world.eventLoop,
    randomBytes: world.randomBytes,
    log: world.log,
  })
}

async function listen(callgate: Callgate, { readiness }: Asterisk): Promise<RunningServer> {
  try {
    return await openDoors(callgate, readiness)
  } catch (cause) {
    const { host, port } = callgate.settings.http
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CommandFailure(`http.host '${host}', http.port ${port}: cannot listen: ${why}`)
  }
}

/** The HTTP server over an assembled callgate; tests open it on port 0. */
export function openDoors(
  callgate: Callgate,
  alsoReady: readonly ReadinessCheck[] = [],
): Promise<RunningServer> {
  const { settings, world, journal, gate, metrics, service, warmer } = callgate
  const serviceCodes: ReadonlySet<string> = new Set(settings.gate.serviceCodes)
  const shared = {
    authenticate: callgate.authenticate,
    keysInAddress: settings.http.keysInAddress,
    maxBodyBytes: settings.http.maxBodyBytes,
    logger: world.log,
    onRequest: ({ endpoint, status, seconds }: RequestMeasure) =>
      metrics.apiAnswered(endpoint, status, seconds),
  }
  const routes = [
    ...serviceRoutes(service, { wrappedRows: settings.callingHours.wrappedRows }),
    ...gateRoutes(journal),
    ...warmRoutes(warmer, { serviceCodes }),
  ]
  const limits = rateLimits(callgate)
  const endpoints = [...frontDoorEndpoints, ...routes.map(({ endpoint }) => endpoint)]
  return openServer({
    ...shared,
    host: settings.http.host,
    port: settings.http.port,
    eventLoop: world.eventLoop,
    limits: settings.http,
    routes,
    limitRate: (accountId, rate) => limits.take(accountId, rate),
    onIgnored: reportIgnoredFields({
      count: (endpoint, fields) => metrics.fieldsIgnored(endpoint, fields),
      clock: world.clock,
      log: world.log,
    }),
    admitNumbers: (accountId, rate, count) => limits.admitNumbers(accountId, rate, count),
    pages: descriptionAnswers({ version, endpoints }),
    ops: {
      checks: [...dataReadiness(callgate), ...sourceReadiness(callgate), ...alsoReady],
      metricsText: () => metrics.text(),
    },
    frontDoor: createFrontDoor({
      ...shared,
      judge: (call, arrivedAtMs) => gate.judge(call, arrivedAtMs),
      passUnrecorded: (call) => gate.passUnrecorded(call),
      document: decisionDocument,
      serviceCodes,
      clock: world.clock,
    }),
  })
}

function rateLimits({ settings: { limits }, world }: Callgate): RateLimits {
  const perMinute = {
    scrub: limits.scrubPerMinute,
    litigator: limits.litigatorPerMinute,
    reassigned: limits.reassignedPerMinute,
    reputation: limits.reputationPerMinute,
    pdnc: limits.pdncPerMinute,
    ebr: limits.ebrPerMinute,
    'time-legal': limits.timeLegalPerMinute,
  }
  const numbersPerMinute = {
    scrub: limits.scrubNumbersPerMinute,
    pdnc: limits.pdncNumbersPerMinute,
    ebr: limits.ebrNumbersPerMinute,
    'time-legal': limits.timeLegalNumbersPerMinute,
  }
  return new RateLimits({ perMinute, numbersPerMinute, timers: world.timers })
}

/**
 * Says where the server listens. The first start makes a key for each account: a terminal shows
 * them, once; otherwise they are in a file, since a log is kept, copied and read by others.
 */
async function greet(callgate: Callgate, server: RunningServer, output: LineWriter): Promise<void> {
  const lines = [`callgate ${version} listens on ${server.url}`]
  const file = output.isTerminal ? undefined : firstKeysFile(callgate)
  const keys = await createFirstKeys(callgate, (made) => file && writeFirstKeys(file, made))
  for (const [accountId, key] of keys) {
    if (!file) lines.push(`${`key of account ${accountId} (shown once):`.padEnd(36)} ${key}`)
  }
  if (file && keys.size > 0) {
    callgate.world.log.warn('keys of the first start are in a file; store them and delete it', {
      file,
    })
    lines.push(`keys of accounts ${[...keys.keys()].join(' and ')}: ${file}`)
  }
  const sandboxKey = keys.get(sandboxAccountId)
  if (sandboxKey) {
    lines.push(
      'Try a fictional number; the README lists them:',
      `  ${curlLine(server.url, file ? keyFromFile(file) : sandboxKey)}`,
    )
  } else lines.push('Make another key with: callgate keys create')
  output.write(`${lines.join('\n')}\n`)
}

function curlLine(url: string, key: string): string {
  const body = JSON.stringify({ number: '212-555-0100', callKind: 'manual' })
  return (
    `curl -s ${url}/v1/decisions -H "loginId: ${key}" ` +
    `-H 'Content-Type: application/json' -d '${body}'`
  )
}
