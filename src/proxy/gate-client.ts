/** Client of the gate: asks about calls, and passes on the platform's events. Everything but a valid allow is a refusal. */
import { decideEndpoint } from '../api/gate/decisions.js'
import type { CallKind } from '../domain/decision.js'
import type { Instant, Timers } from '../domain/time/clock.js'
import { formatInstant, parseInstant } from '../domain/time/dates.js'
import type { PlatformName } from '../platform-events/call-event.js'
import { isObject, type PlannedCall } from './platforms/platform.js'
import type { RefusedCall } from './refusal.js'

export interface GateClientOptions {
  readonly platform: PlatformName
  /** Of the gate, without a slash at the end. */
  readonly url: string
  /** Sent in a header and never shown. */
  readonly key: string
  readonly callKind: CallKind
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  /** For all decisions of a request, and for recording its calls, together. */
  readonly deadlineMs: number
  readonly timers: Timers
}

/** The calls of a request are allowed until then, on the clock of `timers`. */
export interface AllowedCalls {
  readonly ids: readonly string[]
  readonly untilMs: number
}

/** An allowed call, for the gate to add to its records. */
export interface PlatformCall {
  readonly decisionId: string
  /** Ten digits. */
  readonly number: string
  /** The platform's ids of the call. */
  readonly callIds?: readonly string[]
  /** When the platform was asked for the words of the call. */
  readonly fetchedAt?: string
}

export interface PlatformEvent {
  readonly receivedAt: Instant
  /** As text, unread. */
  readonly body: string
  /** Of the address, without the question mark. */
  readonly query: string
  /** `fetched`: the proxy asked the platform for it. `late`: its signature is old, so a stranger may have replayed it. */
  readonly delivery?: 'fetched' | 'late' | undefined
}

export interface PlatformReport {
  readonly refusedSignatures?: number
  readonly canFetch?: boolean
}

interface AllowedCall {
  readonly id: string
  readonly untilMs: number
}

type BlockedCall = Omit<RefusedCall, 'index'>

/** In bytes of text, what the gate takes of an event. */
export const maxEventLength = 4_000_000

const maxQuestionsAtOnce = 8
/** Platforms wait about ten seconds. */
const storeTimeoutMs = 5_000

export class GateClient {
  readonly #options: GateClientOptions

  constructor(options: GateClientOptions) {
    this.#options = options
  }

  /**
   * Returns all refused calls of a request. If there is none, the calls have been recorded at the gate, so
   * that their events find them, and it returns what allows them.
   */
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
    try {
      await this.#recordCalls(toPlatformCalls(calls, allowed), signal)
    } catch (cause) {
      const message = `the gate did not record the call: ${describeFailure(cause)}`
      return calls.map((_call, index) => ({ index, reason: 'undecided', message }))
    }
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
    const { callKind, projectId, campaignId, timers } = this.#options
    const askedMs = timers.monotonicMs()
    const answer = await this.#request('/v1/decisions', signal, {
      number,
      callKind,
      callerId,
      projectId,
      campaignId,
      ...(at !== undefined && { at: formatInstant(at) }),
    })
    const read = decideEndpoint.response.safeParse(answer)
    if (!read.success) throw new GateFailure('the answer of the gate cannot be read')
    const { id, decision, reason, message, nextAllowedAt } = read.data
    if (decision !== 'allow') return { reason, message, decisionId: id, nextAllowedAt }
    const lifetimeMs = validForMs(read.data, number, at)
    if (lifetimeMs > 0) return { id, untilMs: askedMs + lifetimeMs }
    throw new GateFailure('the answer of the gate is for another call')
  }

  /** Rejects unless the gate has stored it, as all of these do. */
  recordCalls(calls: readonly PlatformCall[]): Promise<void> {
    return this.#recordCalls(calls, AbortSignal.timeout(storeTimeoutMs))
  }

  #recordCalls(calls: readonly PlatformCall[], signal: AbortSignal): Promise<void> {
    return this.#record('/v1/platform-calls', { calls }, signal)
  }

  recordEvent({ receivedAt, ...event }: PlatformEvent): Promise<void> {
    const body = { receivedAt: formatInstant(receivedAt), ...event }
    return this.#record('/v1/platform-events', body)
  }

  report(report: PlatformReport): Promise<void> {
    return this.#record('/v1/platform-reports', report)
  }

  /** Lists allowed calls without words. */
  async listDueCalls(): Promise<readonly PlatformCall[]> {
    const { platform } = this.#options
    const path = `/v1/platform-calls?platform=${platform}&due=fetch`
    const answer = await this.#request(path, AbortSignal.timeout(storeTimeoutMs))
    const calls = isObject(answer) ? answer.calls : undefined
    if (Array.isArray(calls) && calls.every(isPlatformCall)) return calls
    throw new GateFailure('the answer of the gate cannot be read')
  }

  async #record(
    path: string,
    body: object,
    signal = AbortSignal.timeout(storeTimeoutMs),
  ): Promise<void> {
    const { platform } = this.#options
    const answer = await this.#request(path, signal, { platform, ...body })
    if (isObject(answer) && answer.recorded === true) return
    throw new GateFailure('the answer of the gate cannot be read')
  }

  async #request(path: string, signal: AbortSignal, body?: object): Promise<unknown> {
    const { url, key } = this.#options
    const response = await fetch(`${url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { loginId: key, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      redirect: 'error',
      signal,
    })
    if (response.status === 200) return await response.json()
    await response.arrayBuffer()
    const advice = response.status === 403 ? '; the key needs the rights decide and records' : ''
    throw new GateFailure(`the gate answered with ${response.status}${advice}`)
  }
}

function toPlatformCalls(
  calls: readonly PlannedCall[],
  allowed: readonly AllowedCall[],
): readonly PlatformCall[] {
  return calls.map(({ number }, index) => ({
    decisionId: allowed[index]?.id ?? '',
    number: number.slice(2),
  }))
}

function isPlatformCall(value: unknown): value is PlatformCall {
  if (!isObject(value)) return false
  const { decisionId, number, callIds = [] } = value
  const isNamed = typeof decisionId === 'string' && typeof number === 'string'
  return isNamed && Array.isArray(callIds) && callIds.every((id) => typeof id === 'string')
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
export function describeFailure(cause: unknown): string {
  return cause instanceof GateFailure ? cause.message : 'the gate cannot be reached'
}
