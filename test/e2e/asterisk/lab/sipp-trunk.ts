/** SIPp as the trunk: what arrived there, by SIPp's own word. */
import type { AsteriskServer } from './asterisk-server.js'
import { hasBoundUdpPort } from './ports.js'
import { type LoggedEvent, type SippStatistics, startSipp } from './sipp-process.js'
import { type TrunkBehaviour, trunkScenario } from './trunk-scenario.js'
import { until } from './until.js'

export interface TrunkOptions {
  readonly server: Pick<AsteriskServer, 'sipp' | 'folder' | 'trunkPort'>
  /** Which trunk of that server to be; `trunk` unless given. */
  readonly trunk?: string
  /** Answers at once and waits for the hangup unless told otherwise. */
  readonly behaviour?: TrunkBehaviour
  /** SIP header to report as `decisionId`; `X-Callgate-Id` unless given. */
  readonly idHeader?: string
}

export interface Arrival {
  /** User part of the request URI, percent-decoded. */
  readonly number: string
  /** User part of From: the caller id by which a call of `startCalls` is known. */
  readonly callerId: string
  /** Empty when the INVITE did not carry the header. */
  readonly decisionId: string
  /** Empty when the INVITE did not carry the header. */
  readonly traceparent: string
  /** When SIPp took the INVITE; milliseconds since the epoch, to the microsecond. */
  readonly at: number
  readonly cancelledAt: number | undefined
  readonly answeredAt: number | undefined
  /** When Asterisk hung up the answered call. */
  readonly endedAt: number | undefined
  /** Whether Asterisk took the REFER of a trunk that transfers. */
  readonly transferTaken: boolean | undefined
}

export interface Trunk {
  readonly port: number
  /** INVITEs that have arrived so far, in their order. A retransmission is none. */
  arrived(): readonly Arrival[]
  /** How many of them Asterisk has cancelled. */
  cancelled(): number
  /** Ends SIPp, calls under way included; `created` is the count of all that arrived. */
  close(): Promise<SippStatistics>
}

/** Resolves when SIPp listens. */
export async function startTrunk(options: TrunkOptions): Promise<Trunk> {
  const { server, trunk = 'trunk', behaviour = { does: 'answer' } } = options
  const port = server.trunkPort(trunk)
  const sipp = startSipp({
    sipp: server.sipp,
    folder: server.folder,
    name: trunk,
    scenario: trunkScenario(behaviour, options.idHeader ?? 'X-Callgate-Id'),
    args: ['-aa', '-p', String(port)],
  })
  const ended = () => !sipp.process.isRunning()
  await until(
    `SIPp listens on port ${port}`,
    () => ended() || hasBoundUdpPort(sipp.process.pid, port),
  )
  if (ended()) throw new Error(`SIPp ended at once:\n${sipp.process.output()}${sipp.errors()}`)
  const calls = new Map<string, Arrival>()
  const arrived = () => {
    for (const event of sipp.events()) note(calls, event)
    return [...calls.values()]
  }
  let closing: Promise<SippStatistics> | undefined
  const close = async () => {
    sipp.finish()
    const idle = setTimeout(() => sipp.finish(), 200)
    await until('SIPp ends', () => !sipp.process.isRunning()).finally(() => clearTimeout(idle))
    return sipp.statistics()
  }
  return {
    port,
    arrived,
    cancelled: () => arrived().filter(({ cancelledAt }) => cancelledAt !== undefined).length,
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

function note(calls: Map<string, Arrival>, { what, at, fields }: LoggedEvent): void {
  const [callId = '', from = '', id = '', trace = '', ...uri] = fields
  if (what === 'INVITE') {
    calls.set(callId, {
      number: userOf(uri.join('|')),
      callerId: userOf(from),
      decisionId: readHeader(id),
      traceparent: readHeader(trace),
      at,
      ...nothingYet,
    })
    return
  }
  const call = calls.get(callId)
  if (!call) throw new Error(`SIPp logs ${what} of a call that never arrived: ${callId}`)
  const more: Readonly<Record<string, Partial<Arrival>>> = {
    CANCEL: { cancelledAt: at },
    ANSWERED: { answeredAt: at },
    BYE: { endedAt: at },
    TAKEN: { transferTaken: true },
    DECLINED: { transferTaken: false },
  }
  calls.set(callId, { ...call, ...more[what] })
}

const nothingYet = {
  cancelledAt: undefined,
  answeredAt: undefined,
  endedAt: undefined,
  transferTaken: undefined,
}

const readHeader = (header: string) => header.slice(header.indexOf(':') + 1).trim()

function userOf(address: string): string {
  const user = /sips?:([^@>]*)@/.exec(address)?.[1] ?? ''
  try {
    return decodeURIComponent(user)
  } catch {
    // A caller may have put anything there; what is no UTF-8 stays as it is.
    return user
  }
}
