/**
 * One kind of question to a provider: builds a request for many numbers, and parses the reply so that no
 * number gets the answer for another. `batching/` sends, waits and retries.
 */
import type { WireRequest } from '../../api/endpoint.js'
import type { Question, QuestionName } from '../../domain/compliance.js'
import type { Instant } from '../../domain/time/clock.js'

/** An endpoint of the API and the fields to send. */
export interface EndpointRequest {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** As in the specification, such as `/app/main/rpc/scrub`; it determines the address. */
  readonly path: string
  readonly wire: WireRequest
}

/** Several times the size of a row. Parsing much more would delay all calls. */
export const defaultMaxRowBytes = 4_096

export interface ParsedRow<Value> {
  readonly value: Value
  readonly holdsUntil?: Instant | undefined
}

/** Wraps a value for which the provider gives no expiry. */
export function withoutExpiry<Value>(value: Value): ParsedRow<Value> {
  return { value }
}

/** Why a row is unusable; human-readable, and without the number. */
export interface InvalidRow {
  readonly problem: string
}

export interface BatchQuestion<Asks extends Question, Value, Name extends string = QuestionName> {
  readonly name: Name
  /** Maximum bytes of one row of a reply; {@link defaultMaxRowBytes} when absent. */
  readonly maxRowBytes?: number
  /** Why the provider's API does not support the question; `undefined` if it does. */
  findRefusal(question: Asks): string | undefined
  /** Questions with the same identity share one answer. */
  getIdentity(question: Asks): string
  /** Questions of the same group may be sent in one request, each number once. */
  getGroup(question: Asks): string
  /** Throws for questions of different groups, for a number given twice, and for none. */
  buildRequest(questions: readonly Asks[]): EndpointRequest
  /**
   * Parses the body of a 2xx reply to the answers in the order of the questions. A row of another
   * number, or with an unknown letter, an unknown status or a missing field, is an {@link InvalidRow}.
   * Throws a {@link ReplyError} if the whole body is unusable.
   */
  parseReply(
    reply: { readonly body: string; readonly contentType: string; readonly askedAt: Instant },
    questions: readonly Asks[],
  ): readonly (ParsedRow<Value> | InvalidRow)[]
}

/** A reply that answers none of its questions. The message contains neither key nor number. */
export class ReplyError extends Error {
  /** `refused`: the provider does not accept the key; it may show a login page instead. */
  readonly why: 'refused' | 'not-understood'

  constructor(why: ReplyError['why'], detail: string) {
    super(detail)
    this.name = 'ReplyError'
    this.why = why
  }
}
