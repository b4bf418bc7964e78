/**
 * Every configured Asterisk joined to the gate: one connection each, the gate for the channels that
 * enter it and the watch over the legs it dials.
 */
import type { AsteriskSettings } from '../config.js'
import { firstServerName } from '../config-asterisk.js'
import type { OutcomeRecorder } from '../domain/call-outcome.js'
import type { Clock } from '../domain/clock.js'
import type { EventLoopWatch } from '../domain/event-loop.js'
import type { Logger } from '../log.js'
import type { Metrics } from '../metrics.js'
import { AriConnection, type AriServer } from './ari-connection.js'
import { ariServers } from './ari-servers.js'
import type { AsteriskEvents } from './asterisk-port.js'
import { BypassWatch } from './bypass-watch.js'
import { LegOutcomes } from './leg-outcomes.js'
import { Permits } from './permit.js'
import { loadPermitKey } from './permit-key.js'
import { StasisGate, type StasisGateParts } from './stasis-gate.js'
import { Trunks } from './trunks.js'

export interface AsteriskParts {
  readonly settings: AsteriskSettings
  /** The account that calls are judged for. */
  readonly accountId: string
  readonly serviceCodes: ReadonlySet<string>
  readonly dataDir: string
  readonly gate: StasisGateParts['gate']
  readonly outcomes: OutcomeRecorder
  readonly clock: Clock
  readonly eventLoop: EventLoopWatch
  readonly randomBytes: (size: number) => Buffer
  readonly metrics: Metrics
  readonly log: Logger
}

export interface Asterisk {
  /** One for each server: ready while its calls reach the gate. */
  readonly readiness: readonly {
    readonly name: string
    check(): { readonly ready: boolean; readonly detail: string }
  }[]
  /** Takes no more calls, ends those that wait, and closes the connections. */
  close(): Promise<void>
}

interface Attached {
  readonly connection: AriConnection
  readonly stasisGate: StasisGate
}

/**
 * Connects in the background and for ever; an Asterisk that is down is a matter of readiness.
 * Throws for files that the settings name and that cannot be used.
 */
export function openAsterisk(parts: AsteriskParts): Asterisk {
  const servers = ariServers(parts.settings)
  parts.eventLoop.start()
  const { dataDir, randomBytes, settings } = parts
  const file = settings.permitKeyFile
  const permits = new Permits(loadPermitKey({ file, dataDir, randomBytes }))
  const trunks = new Trunks(settings.trunks)
  const attached = servers.map((server) => attach(server, parts, { permits, trunks }))
  return {
    readiness: servers.map(({ name }, index) => ({
      name: name === firstServerName ? name : `${firstServerName} ${name}`,
      check: () => attached[index]?.connection.readiness() ?? { ready: false, detail: 'unknown' },
    })),
    async close() {
      await Promise.all(
        attached.map(async ({ connection, stasisGate }) => {
          stasisGate.stopTaking()
          await stasisGate.drain()
          await connection.close()
        }),
      )
    },
  }
}

interface Shared {
  readonly permits: Permits
  readonly trunks: Trunks
}

function attach(server: AriServer, parts: AsteriskParts, { permits, trunks }: Shared): Attached {
  const { settings, metrics, clock, log, outcomes, serviceCodes } = parts
  const { name } = server
  const connection = new AriConnection({
    server,
    limits: {
      connectMs: settings.connectTimeoutMs,
      actionMs: settings.actionTimeoutMs,
      pongMs: settings.pongTimeoutMs,
    },
    clock,
    log,
    watch: {
      connected: (up) => metrics.asteriskConnected(name, up),
      reconnected: () => metrics.asteriskReconnected(name),
    },
  })
  const common = { server: name, actions: connection, permits, metrics, clock, log, serviceCodes }
  const stasisGate = new StasisGate({
    app: server.app,
    accountId: parts.accountId,
    gate: parts.gate,
    eventLoop: parts.eventLoop,
    settings,
    outcomes,
    ...common,
  })
  const legs = new LegOutcomes({ outcomes })
  const watch = new BypassWatch({ trunks, enforce: settings.enforce, legs, ...common })
  connection.start(eventsFor(stasisGate, watch))
  return { connection, stasisGate }
}

function eventsFor(stasisGate: StasisGate, watch: BypassWatch): AsteriskEvents {
  return {
    entered: (channel, args) => stasisGate.entered(channel, args),
    left: (channelId) => stasisGate.left(channelId),
    offered: (channel) => stasisGate.offered(channel),
    dial: (event) => watch.dial(event),
    dialUnseen: (dialString) => watch.dialUnseen(dialString),
    ended: (channelId, cause, at) => watch.ended(channelId, cause, at),
    disconnected: () => watch.disconnected(),
    resynchronised(channels) {
      stasisGate.resynchronised(channels)
      watch.resynchronised(channels)
    },
  }
}
