/**
 * Connects every configured Asterisk to the gate: one connection each, the gate for channels that
 * enter the application, and the monitor of the legs it dials.
 */

import { defaultServerName } from '../config/asterisk.js'
import type { AsteriskSettings } from '../config/settings.js'
import type { OutcomeRecorder } from '../domain/call-outcome.js'
import type { Clock } from '../domain/time/clock.js'
import type { Logger } from '../observability/log.js'
import type { Metrics } from '../observability/metrics.js'
import type { EventLoopMonitor } from '../runtime/runtime.js'
import { AriConnection, type AriServer } from './ari/ari-connection.js'
import { resolveAriServers } from './ari/ari-servers.js'
import type { AsteriskEvents } from './asterisk-port.js'
import { StasisGate, type StasisGateDeps } from './gate/stasis-gate.js'
import { PermitSigner } from './permit.js'
import { loadPermitKey } from './permit-key.js'
import { Trunks } from './trunks.js'
import { BypassMonitor, type ClaimUsedPermit } from './watch/bypass-monitor.js'
import { LegOutcomeTracker } from './watch/leg-outcomes.js'

export interface AsteriskDeps {
  readonly settings: AsteriskSettings
  /** The account of the calls. */
  readonly accountId: string
  readonly serviceCodes: ReadonlySet<string>
  readonly dataDir: string
  readonly claimUsedPermit: ClaimUsedPermit
  readonly gate: StasisGateDeps['gate']
  readonly outcomes: OutcomeRecorder
  readonly clock: Clock
  readonly eventLoop: EventLoopMonitor
  readonly randomBytes: (size: number) => Buffer
  readonly metrics: Metrics
  readonly log: Logger
}

interface ReadinessCheck {
  readonly name: string
  check(): { readonly ready: boolean; readonly detail: string }
}

export interface Asterisk {
  /** One check per server: ready while its calls reach the gate. */
  readonly readiness: readonly ReadinessCheck[]
  /** Stops accepting calls, finishes waiting ones, and closes the connections. */
  close(): Promise<void>
}

/**
 * Connects in the background and reconnects forever; an Asterisk that is down only affects readiness.
 * Throws for files in the settings that cannot be used.
 */
export function openAsterisk(deps: AsteriskDeps): Asterisk {
  const servers = resolveAriServers(deps.settings)
  deps.eventLoop.start()
  const { dataDir, randomBytes, settings } = deps
  const file = settings.permitKeyFile
  const permits = new PermitSigner(loadPermitKey({ file, dataDir, randomBytes }))
  const trunks = new Trunks(settings.trunks)
  const attached = servers.map((server) => attachServer(server, deps, { permits, trunks }))
  return {
    readiness: attached,
    async close() {
      await Promise.all(attached.map((server) => server.close()))
    },
  }
}

function attachServer(
  server: AriServer,
  deps: AsteriskDeps,
  { permits, trunks }: { readonly permits: PermitSigner; readonly trunks: Trunks },
): ReadinessCheck & Pick<Asterisk, 'close'> {
  const { settings, metrics, clock, log, outcomes, serviceCodes } = deps
  const { name } = server
  metrics.startAsterisk(
    name,
    settings.trunks.map((trunk) => trunk.name),
  )
  const connection = new AriConnection({
    server,
    timeouts: settings,
    clock,
    log,
    observer: {
      connected: (up) => metrics.setAsteriskConnected(name, up),
      reconnected: () => metrics.countAsteriskReconnect(name),
    },
  })
  const common = { server: name, actions: connection, permits, metrics, clock, log, serviceCodes }
  const stasisGate = new StasisGate({
    app: server.app,
    accountId: deps.accountId,
    gate: deps.gate,
    eventLoop: deps.eventLoop,
    settings,
    outcomes,
    ...common,
  })
  const legOutcomes = new LegOutcomeTracker({ outcomes })
  const { claimUsedPermit } = deps
  const watched = { trunks, enforce: settings.enforce, claimUsedPermit, legOutcomes }
  const monitor = new BypassMonitor({ ...watched, ...common })
  connection.start(createEvents(stasisGate, monitor))
  return {
    name: name === defaultServerName ? name : `${defaultServerName} ${name}`,
    check: () => connection.readiness(),
    async close() {
      stasisGate.stopAccepting()
      await stasisGate.drain()
      await connection.close()
    },
  }
}

function createEvents(stasisGate: StasisGate, monitor: BypassMonitor): AsteriskEvents {
  return {
    onChannelEntered: (channel, args) => stasisGate.onChannelEntered(channel, args),
    onChannelLeft: (channelId) => stasisGate.onChannelLeft(channelId),
    onChannelOffered: (channel) => stasisGate.onChannelOffered(channel),
    onDial: (event) => monitor.onDial(event),
    onUnseenDial: (dialString) => monitor.onUnseenDial(dialString),
    onChannelEnded: (channelId, cause, at) => monitor.onChannelEnded(channelId, cause, at),
    onDisconnected: () => monitor.onDisconnected(),
    onResynchronized(channels) {
      stasisGate.onResynchronized(channels)
      monitor.onResynchronized(channels)
    },
  }
}
