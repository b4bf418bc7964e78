/** Asks the gate about the calls of one request. Everything but a valid allow is a refusal. */
import { decideEndpoint } from '../api/gate/decisions.js'
import type { CallKind } from '../domain/decision.js'
import type { Instant, Timers } from '../domain/time/clock.js'
import { formatInstant, parseInstant } from '../domain/time/dates.js'
import type { PlannedCall } from './platforms/platform.js'
import type { RefusedCall } from './refusal.js'

export interface GateClientOptions {
  /** Of the gate, without a slash at the end. */
  readonly url: string
  /** Sent in a header and never shown. */
  readonly key: string
  readonly callKind: CallKind
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  /** For all decisions of a request together. */
  readonly deadlineMs: number
  readonly timers: Timers
}

/** The calls of a request are allowed until then, on the clock of `timers`. */
export interface AllowedCalls {
  readonly ids: readonly string[]
  readonly untilMs: number
}

interface AllowedCall {
  readonly id: string
  readonly untilMs: number
}

type BlockedCall = Omit<RefusedCall, 'index'>

const maxQuestionsAtOnce = 8

export class GateClient {
  readonly #options: GateClientOptions

  constructor(options: GateClientOptions) {
    this.#options = options
  }

  /** Gives all refused calls of a request, or, only if there is none, what allows the others. */
  async judge(calls: readonly PlannedCall[]): Promise<AllowedCalls | readonly RefusedCall[]> {
    const signal = AbortSignal.timeout(this.#options.deadlineMs)
    const refused: RefusedCall[] = []
    const allowed: AllowedCall[] = []
    const remaining = calls.entries()
    const work = async () => {
      for (const [index, call] of remaining) {
        const result = await this.#judge(call, signal)
        if ('reason' in result) refused.push({ index, ...result })
        else allowed[index] = result
      }
    }
    await Promise.all(Array.from({ length: maxQuestionsAtOnce }, work))
    if (refused.length > 0) return refused.sort((one, other) => one.index - other.index)
    return {
      ids: allowed.map(({ id }) => id),
      untilMs: Math.min(...allowed.map(({ untilMs }) => untilMs)),
    }
  }

  /** A scheduled call must be permitted at each of its instants. */
  async #judge(call: PlannedCall, signal: AbortSignal): Promise<AllowedCall | BlockedCall> {
    let result: AllowedCall | BlockedCall = { reason: 'undecided', message: 'the call has no time' }
    for (const at of call.at ?? [undefined]) {
      result = await this.#ask(call, at, signal).catch((cause: unknown) => ({
        reason: 'undecided',
        message: signal.aborted
          ? `the gate did not decide within ${this.#options.deadlineMs} ms`
          : describeFailure(cause),
      }))
      if ('reason' in result) return result
    }
    return result
  }

  async #ask(
    { number, callerId }: PlannedCall,
    at: Instant | undefined,
    signal: AbortSignal,
  ): Promise<AllowedCall | BlockedCall> {
    const { url, key, callKind, projectId, campaignId, timers } = this.#options
    const askedMs = timers.monotonicMs()
    const response = await fetch(`${url}/v1/decisions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', loginId: key },
      body: JSON.stringify({
        number,
        callKind,
        callerId,
        projectId,
        campaignId,
        ...(at !== undefined && { at: formatInstant(at) }),
      }),
      redirect: 'error',
      signal,
    })
    if (response.status !== 200) throw new GateFailure(`the gate answered with ${response.status}`)
    const read = decideEndpoint.response.safeParse(await response.json())
    if (!read.success) throw new GateFailure('the answer of the gate cannot be read')
    const { id, decision, reason, message, nextAllowedAt } = read.data
    if (decision !== 'allow') return { reason, message, decisionId: id, nextAllowedAt }
    const lifetimeMs = validForMs(read.data, number, at)
    if (lifetimeMs > 0) return { id, untilMs: askedMs + lifetimeMs }
    throw new GateFailure('the answer of the gate is for another call')
  }
}

/**
 * How long an allow is valid from the moment of the question; 0 if it is not for this call. It is a
 * difference of two instants of the gate, so that the clock of this machine does not matter.
 */
function validForMs(
  allow: {
    readonly id: string
    readonly number: string
    readonly dial?: string | undefined
    readonly whatIf: boolean
    readonly judgedAt: string
    readonly validUntil: string
  },
  number: string,
  at: Instant | undefined,
): number {
  const tenDigits = number.slice(2)
  const isSameNumber = allow.number === tenDigits && allow.dial === tenDigits
  const isSameTime = allow.whatIf === (at !== undefined)
  const isRecorded = /^[\w-]{2,64}$/.test(allow.id)
  if (!isSameNumber || !isSameTime || !isRecorded) return 0
  const from = parseInstant(allow.judgedAt)
  const until = parseInstant(allow.validUntil)
  if (from === undefined || until === undefined || (at !== undefined && from !== at)) return 0
  return until - from
}

class GateFailure extends Error {}

/** Without texts of the network, which may contain parts of the request. */
function describeFailure(cause: unknown): string {
  return cause instanceof GateFailure ? cause.message : 'the gate cannot be reached'
}
