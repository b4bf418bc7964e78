/** The metrics of the calls that come through an Asterisk. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { NotCarriedOut } from './domain/call-outcome.js'

/** Servers and trunks by the names the settings give them. */
export interface AsteriskMetrics {
  asteriskConnected(server: string, connected: boolean): void
  asteriskReconnected(server: string): void
  callNotCarriedOut(server: string, why: NotCarriedOut): void
  ungatedCall(call: {
    readonly server: string
    readonly trunk: string
    readonly hungUp: boolean
  }): void
}

export function asteriskMetrics(registry: Registry): AsteriskMetrics {
  const registers = [registry]
  const connected = new Gauge({
    name: 'callgate_asterisk_connected',
    help: '1 while calls of this Asterisk reach the gate: event socket open, a recent pong, own name.',
    labelNames: ['server'],
    registers,
  })
  const reconnects = new Counter({
    name: 'callgate_asterisk_reconnects_total',
    help: 'Connections to an Asterisk made after the first.',
    labelNames: ['server'],
    registers,
  })
  const notCarriedOut = new Counter({
    name: 'callgate_decisions_not_carried_out_total',
    help: 'Decisions that did not reach their channel.',
    labelNames: ['server', 'why'],
    registers,
  })
  const ungated = new Counter({
    name: 'callgate_ungated_calls_total',
    help: 'Legs that began to dial on a watched trunk without a fresh allow for their number.',
    labelNames: ['server', 'trunk', 'hung_up'],
    registers,
  })
  return {
    asteriskConnected: (server, up) => connected.set({ server }, up ? 1 : 0),
    asteriskReconnected: (server) => reconnects.inc({ server }),
    callNotCarriedOut: (server, why) => notCarriedOut.inc({ server, why }),
    ungatedCall: ({ server, trunk, hungUp }) =>
      ungated.inc({ server, trunk, hung_up: String(hungUp) }),
  }
}
