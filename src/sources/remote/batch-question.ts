/**
 * One question as it is put to a provider: many numbers in one request, and the reply read so that
 * no number ever gets the answer of another. Waiting, sending and repeating are left to the asker.
 */
import type { WireRequest } from '../../api/endpoint.js'
import type { Instant } from '../../domain/clock.js'
import type { Question, QuestionName } from '../../domain/compliance.js'

/** An endpoint of the API and the fields to send. */
export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** As in the specification, such as `/app/main/rpc/scrub`; tells which address it goes to. */
  readonly path: string
  readonly wire: WireRequest
}

/** Some times what a row has. Reading more would stop all calls. */
export const usualRowBytes = 4_096

export interface Understood<Value> {
  readonly value: Value
  readonly holdsUntil: Instant
}

/** Why a row cannot be relied on; for people, without the number. */
export interface NotUnderstood {
  readonly notUnderstood: string
}

export interface BatchQuestion<Asks extends Question, Value, Name extends string = QuestionName> {
  readonly name: Name
  /** Most bytes of one row of a reply; {@link usualRowBytes} when absent. */
  readonly rowBytes?: number
  /** Why the provider's API has no such question; `undefined` when it has. */
  refusal(question: Asks): string | undefined
  /** Questions with the same text share one answer. */
  identity(question: Asks): string
  /** Questions with the same text may go in one request, each number once. */
  group(question: Asks): string
  /** Throws when it was handed questions of different groups, or none. */
  compose(questions: readonly Asks[]): OutgoingRequest
  /**
   * The answers in the order of the questions, from the body of a 2xx reply. A row that is not the
   * question's own, or holds an unknown letter, status or a gap, is not understood. Throws a
   * {@link ReplyError} when the whole body cannot be relied on.
   */
  read(
    reply: { readonly body: string; readonly contentType: string; readonly askedAt: Instant },
    questions: readonly Asks[],
  ): readonly (Understood<Value> | NotUnderstood)[]
}

/** A reply that answers none of its questions. The detail names neither key nor number. */
export class ReplyError extends Error {
  /** `refused`: the provider does not accept the key, such as by a login page. */
  readonly why: 'refused' | 'not-understood'

  constructor(why: ReplyError['why'], detail: string) {
    super(detail)
    this.name = 'ReplyError'
    this.why = why
  }
}
