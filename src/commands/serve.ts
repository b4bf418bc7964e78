/** `callgate serve`: the gate and the compliance service over HTTP, until a signal ends them. */
import type { Command } from 'commander'
import { ariServers } from '../asterisk/ari-servers.js'
import type { Asterisk } from '../asterisk/asterisk.js'
import { type Callgate, openCallgate } from '../compose.js'
import { mainAccountId } from '../compose-foundation.js'
import { ianaVersion } from '../domain/zones.js'
import { decisionDocument } from '../gate/decision-document.js'
import { gateRoutes } from '../gate/gate-routes.js'
import { policyWarnings } from '../gate/policy-of.js'
import { warmRoutes } from '../gate/warm-routes.js'
import { descriptionAnswers } from '../http/description.js'
import { createFrontDoor, frontDoorEndpoints } from '../http/front-door.js'
import type { RequestMeasure } from '../http/measure.js'
import type { ReadinessCheck } from '../http/ops.js'
import { RateLimits } from '../http/rate-limits.js'
import { openServer, type RunningServer } from '../http/server.js'
import { createLogger } from '../log.js'
import { sandboxAccountId } from '../service/sandbox/sandbox.js'
import { serviceRoutes } from '../service/service-routes.js'
import { version } from '../version.js'
import { realWorld } from '../world.js'
import { type AddCommand, CommandFailure, settingsFor, type Terminal } from './command.js'
import { dataReadiness, watchData } from './data-watch.js'
import { firstSignal } from './signals.js'
import { sourceReadiness, sourceWarnings } from './source-readiness.js'

export const addServe: AddCommand = (program, terminal) => {
  program
    .command('serve')
    .description('run the gate and the compliance service')
    .action(async (_options, command: Command) => {
      const settings = settingsFor(command)
      const log = createLogger(settings.logLevel)
      const ended = firstSignal()
      const callgate = await openCallgate(settings, { ...realWorld, log, mayBlock: false })
      try {
        await serveUntil(ended, callgate, terminal)
      } finally {
        await callgate.close()
      }
      log.info('stopped')
    })
}

async function serveUntil(
  ended: Promise<string>,
  callgate: Callgate,
  terminal: Terminal,
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
    opened.push(() => server.close())
    log.info('started', { version, url: server.url, zoneRules: ianaVersion() })
    await greet(callgate, server, terminal)
    log.info('stopping', { signal: await ended })
  } finally {
    await Promise.all(opened.map((close) => close()))
  }
}

/** What an operator should know that nothing refuses. */
function warn({ settings, world: { log, clock } }: Callgate): void {
  const policy = policyWarnings(settings.policy, clock.now())
  for (const line of [...policy, ...sourceWarnings(settings)]) log.warn(line)
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
    routes,
    limitRate: (accountId, rate) => limits.take(accountId, rate),
    admitNumbers: (accountId, rate, count) => limits.admitNumbers(accountId, rate, count),
    pages: descriptionAnswers({ version, endpoints }),
    ops: {
      checks: [...dataReadiness(callgate), ...sourceReadiness(callgate), ...alsoReady],
      metricsText: () => metrics.text(),
    },
    frontDoor: createFrontDoor({
      ...shared,
      decide: (call) => gate.decide(call),
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

/** The first start makes a key for each account and shows them, once, with a line to try. */
async function greet(callgate: Callgate, server: RunningServer, terminal: Terminal): Promise<void> {
  const sandboxKey = await firstKey(callgate, sandboxAccountId)
  const mainKey = await firstKey(callgate, mainAccountId)
  const lines = [`callgate ${version} listens on ${server.url}`]
  if (mainKey) lines.push(`key of account main (shown once):    ${mainKey}`)
  if (sandboxKey) {
    lines.push(
      `key of account sandbox (shown once): ${sandboxKey}`,
      'Try a fictional number; the README lists them:',
      `  ${curlLine(server.url, sandboxKey)}`,
    )
  } else lines.push('Make another key with: callgate keys create')
  terminal.out(`${lines.join('\n')}\n`)
}

/** A key for an account that never had one. */
async function firstKey({ keys }: Callgate, accountId: string): Promise<string | undefined> {
  if ((await keys.list(accountId)).length > 0) return undefined
  const made = await keys.create({ accountId, role: 'Administrator', label: 'first start' })
  return made.key
}

function curlLine(url: string, key: string): string {
  const body = JSON.stringify({ number: '212-555-0100', callKind: 'manual' })
  return (
    `curl -s ${url}/v1/decisions -H 'loginId: ${key}' ` +
    `-H 'Content-Type: application/json' -d '${body}'`
  )
}
