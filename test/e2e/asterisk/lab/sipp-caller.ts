/** SIPp as the phone or the dialer: places calls and tells what became of each. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppendedLines } from './appended-lines.js'
import type { AsteriskServer } from './asterisk-server.js'
import { callerScenario } from './caller-scenario.js'
import { freeUdpPort } from './ports.js'
import { type LoggedEvent, type Sipp, type SippStatistics, startSipp } from './sipp-process.js'

/** Whoever takes SIP calls, with the SIPp for it. */
export interface CalledServer extends Pick<AsteriskServer, 'sipp' | 'folder'> {
  readonly ports: { readonly sip: number }
}

export interface CallsOptions {
  readonly server: CalledServer
  /** What is dialled; any text, it is percent-encoded for the URI. */
  readonly numbers: readonly string[]
  /** How many calls, going round the numbers; as many as there are numbers unless given. */
  readonly total?: number
  /** Calls per second; 10 unless given. */
  readonly rate?: number
  /** Context of the dialplan in which they come in; `outbound` unless given. */
  readonly context?: string
  /** Caller id of the call by its place, from 0; each has its own unless given. */
  readonly callerId?: (index: number) => string
  /** How long an answered call lasts; 0 unless given. */
  readonly hangUpAfterMs?: number
  /** A call that has no final answer is cancelled after so long; 10,000 ms unless given. */
  readonly giveUpAfterMs?: number
  /** Number to which the caller transfers the call once it is answered (SIP REFER). */
  readonly transferTo?: string
  /** For a SIP proxy, which is between the caller and whoever answers. */
  readonly followsRoutes?: boolean
}

/** Times are milliseconds since the epoch, to the microsecond, on the clock of `Arrival.at`. */
export interface PlacedCall {
  readonly number: string
  /** Finds its INVITE at the trunk. */
  readonly callerId: string
  readonly sentAt: number
  /** Final SIP status: 200 or a refusal; 487 when it was cancelled; `undefined` when none came. */
  readonly status: number | undefined
  /** Q.850 cause in the Reason header of a refusal. */
  readonly cause: number | undefined
  /** When that final answer came. */
  readonly answeredAt: number | undefined
  /** Whether the caller cancelled it, since `giveUpAfterMs` had passed. */
  readonly gaveUp: boolean
  /** Final answer to the REFER of a call that was to be transferred; 202 is taken. */
  readonly transferStatus: number | undefined
  readonly endedAt: number | undefined
}

export interface CallsReport {
  /** In the order in which they were placed. */
  readonly calls: readonly PlacedCall[]
  readonly statistics: SippStatistics
}

export interface RunningCalls {
  /** Calls placed so far. */
  placed(): readonly PlacedCall[]
  /** Settles when all have ended. */
  readonly done: Promise<CallsReport>
  /** Places no more; those under way go on to their end. */
  stop(): Promise<CallsReport>
  /** Ends at once, without a word to Asterisk. */
  kill(): Promise<void>
}

/** Caller ids of one run never repeat: 302-55x-xxxx. */
let given = 0

/** Begins to place calls and resolves at once. */
export async function startCalls(options: CallsOptions): Promise<RunningCalls> {
  const { server, numbers } = options
  const total = options.total ?? numbers.length
  if (numbers.length === 0 || total < 1) throw new Error('startCalls: no numbers to call')
  const first = given
  given += total
  const callerId =
    options.callerId ?? ((index) => `30255${String((first + index) % 100_000).padStart(5, '0')}`)
  const plans = Array.from({ length: total }, (_, index) => ({
    number: numbers[index % numbers.length] ?? '',
    callerId: callerId(index),
  }))
  const port = await freeUdpPort()
  const sipp = startSipp({
    sipp: server.sipp,
    folder: server.folder,
    name: 'caller',
    scenario: callerScenario({
      context: options.context ?? 'outbound',
      hangUpAfterMs: options.hangUpAfterMs ?? 0,
      giveUpAfterMs: options.giveUpAfterMs ?? 10_000,
      followsRoutes: options.followsRoutes,
      transferTo: options.transferTo === undefined ? undefined : inUri(options.transferTo),
    }),
    args: [
      '-inf',
      injectionFile(server.folder, plans),
      '-m',
      String(total),
      '-l',
      String(total),
      '-trace_shortmsg',
      '-shortmessage_file',
      messagesFile,
      '-aa',
      '-p',
      String(port),
      '-r',
      String(options.rate ?? 10),
      `127.0.0.1:${server.ports.sip}`,
    ],
  })
  return runningCalls(sipp, plans)
}

/** Places calls and waits until all have ended. */
export async function placeCalls(options: CallsOptions): Promise<CallsReport> {
  return await (await startCalls(options)).done
}

interface Plan {
  readonly number: string
  readonly callerId: string
}

function injectionFile(folder: string, plans: readonly Plan[]): string {
  const path = join(folder, `calls-${process.hrtime.bigint()}.csv`)
  const lines = plans.map(({ number, callerId }) => `${inUri(number)};${inUri(callerId)}\n`)
  writeFileSync(path, `SEQUENTIAL\n${lines.join('')}`)
  return path
}

/** Also what encodeURIComponent leaves, but for `+` and `*`, which a dialler sends as they are. */
function inUri(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%2B/g, '+')
}

function runningCalls(sipp: Sipp, plans: readonly Plan[]): RunningCalls {
  const calls: PlacedCall[] = []
  const messages = new AppendedLines(join(sipp.folder, messagesFile))
  const placed = () => {
    // Read first, noted last: the message of what is logged has been written before.
    const events = sipp.events()
    for (const event of messages.read().flatMap(inviteSent)) note(calls, plans, event)
    for (const event of events) note(calls, plans, event)
    return [...calls]
  }
  const done = sipp.process.ended().then((ended) => {
    // All went as scripted, some did not, there was none; anything else is no run at all.
    if (ended !== 0 && ended !== 1 && ended !== 99)
      throw new Error(`SIPp ended with ${ended}:\n${sipp.process.output()}${sipp.errors()}`)
    return { calls: placed(), statistics: sipp.statistics() }
  })
  // Whoever kills it does not ask how it ended.
  done.catch(() => undefined)
  return {
    placed,
    done,
    stop() {
      sipp.finish()
      return done
    },
    async kill() {
      await sipp.process.end('SIGKILL')
    },
  }
}

/** Below the folder of the SIPp. */
const messagesFile = 'messages'

/** A line of SIPp's list of messages, as an event: only the first of its INVITEs counts. */
function inviteSent(line: string): readonly LoggedEvent[] {
  const found = /\t([\d.]+)\tS\t(\d+)-\S+\tCSeq:1 INVITE\t/.exec(line)
  return found ? [{ what: 'SENT', at: Number(found[1]) * 1000, fields: [found[2] ?? ''] }] : []
}

const nothingYet = {
  status: undefined,
  cause: undefined,
  answeredAt: undefined,
  gaveUp: false,
  transferStatus: undefined,
  endedAt: undefined,
}

function note(
  calls: PlacedCall[],
  plans: readonly Plan[],
  { what, at, fields }: LoggedEvent,
): void {
  const [callNumber = '', status = '', reason = ''] = fields
  const index = Number(callNumber) - 1
  const plan = plans[index]
  if (!plan) throw new Error(`SIPp logs ${what} of call ${callNumber}, which was not planned`)
  if (what === 'SENT') calls[index] ??= { ...plan, ...nothingYet, sentAt: at }
  const call = calls[index]
  if (!call) throw new Error(`SIPp logs ${what} of call ${callNumber}, but no INVITE of it`)
  const cause = /cause=(\d+)/.exec(reason)?.[1]
  const changes: Readonly<Record<string, Partial<PlacedCall>>> = {
    ANSWERED: { status: 200, answeredAt: at },
    REFUSED: {
      status: Number(status),
      answeredAt: at,
      cause: cause === undefined ? undefined : Number(cause),
    },
    REFERRED: { transferStatus: Number(status) },
    GAVEUP: { gaveUp: true },
    ENDED: { endedAt: at },
  }
  calls[index] = { ...call, ...changes[what] }
}
