/** The metrics of calls from Asterisk. */
import { Counter, Gauge, type Registry } from 'prom-client'
import { type HandoverFailure, handoverFailures } from '../domain/call-outcome.js'

/** Servers and trunks are named as in the settings. */
export interface AsteriskMetrics {
  /** Starts everything at 0: the first event is an increase, and one that never connects is seen. */
  startAsterisk(server: string, trunks: readonly string[]): void
  setAsteriskConnected(server: string, connected: boolean): void
  countAsteriskReconnect(server: string): void
  countHandoverFailure(server: string, why: HandoverFailure): void
  countUngatedCall(call: {
    readonly server: string
    readonly trunk: string
    readonly hungUp: boolean
  }): void
  /** Since the start. */
  readUngatedLegs(): Promise<number>
}

export function createAsteriskMetrics(registry: Registry): AsteriskMetrics {
  const registers = [registry]
  const connected = new Gauge({
    name: 'callgate_asterisk_connected',
    help: '1 while calls from this Asterisk reach the gate: event socket open, recent pong, application name not taken.',
    labelNames: ['server'],
    registers,
  })
  const reconnects = new Counter({
    name: 'callgate_asterisk_reconnects_total',
    help: 'Reconnects to an Asterisk after the first connection.',
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
    help: 'Legs that started dialing on a watched trunk without a valid permit for their number.',
    labelNames: ['server', 'trunk', 'hung_up'],
    registers,
  })
  return {
    startAsterisk(server, trunks) {
      connected.set({ server }, 0)
      reconnects.inc({ server }, 0)
      for (const why of handoverFailures) notCarriedOut.inc({ server, why }, 0)
      for (const trunk of trunks) {
        for (const hung_up of ['true', 'false']) ungated.inc({ server, trunk, hung_up }, 0)
      }
    },
    setAsteriskConnected: (server, up) => connected.set({ server }, up ? 1 : 0),
    countAsteriskReconnect: (server) => reconnects.inc({ server }),
    countHandoverFailure: (server, why) => notCarriedOut.inc({ server, why }),
    countUngatedCall: ({ server, trunk, hungUp }) =>
      ungated.inc({ server, trunk, hung_up: String(hungUp) }),
    async readUngatedLegs() {
      const { values } = await ungated.get()
      return values.reduce((sum, { value }) => sum + value, 0)
    },
  }
}
