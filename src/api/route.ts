/**
 * An endpoint together with the method that answers it. Tables of routes are what a server binds;
 * reading the request off the wire and the body of an error are left to `http/`.
 */
import type { Caller } from '../domain/caller.js'
import type { Eventually } from '../domain/compliance.js'
import type { Endpoint, PendingReply, Reply, ReplyContext } from './endpoint.js'
import { refusal } from './field-problems.js'
import { requireSomeRight, requireWithinLimits } from './key-limits.js'

/** What a server must know of an endpoint before it can read the request. */
export type EndpointFacts = Pick<
  Endpoint<unknown, unknown>,
  | 'name'
  | 'method'
  | 'paths'
  | 'accepts'
  | 'listBody'
  | 'maxBodyBytes'
  | 'access'
  | 'rights'
  | 'rate'
  | 'keyAlsoIn'
  | 'errors'
>

export interface AnswerContext {
  readonly caller: Caller
  /** The request's content type is JSON. */
  readonly jsonRequested: boolean
  /** Told how many numbers the request holds, before they are worked on; throws to refuse them. */
  readonly admitNumbers?: ((count: number) => void) | undefined
}

/** What is told of an endpoint to people and programs. */
export type EndpointDescription = EndpointFacts &
  Pick<
    Endpoint<unknown, unknown>,
    | 'summary'
    | 'spec'
    | 'request'
    | 'response'
    | 'replyTypes'
    | 'replyHeaders'
    | 'success'
    | 'outcomes'
  >

export interface Route {
  readonly endpoint: EndpointDescription
  /** Throws `forbidden` for a caller none of whose requests could be answered. */
  admit(caller: Caller): void
  /**
   * Checks the fields as they were read and what the key may do, asks the subject and writes its
   * answer. Refusals are {@link AppError}s; anything else that is thrown is a bug.
   */
  answer(fields: unknown, context: AnswerContext): Promise<PendingReply>
}

/** Binds an endpoint to the method of a subject; a function it gives is a {@link PendingReply}. */
export function route<Request, Response>(
  endpoint: Endpoint<Request, Response>,
  handle: (caller: Caller, request: Request) => Eventually<Response | (() => Response)>,
): Route {
  return {
    endpoint,
    admit: (caller) => requireSomeRight(caller, endpoint.rights),
    async answer(fields, { caller, jsonRequested, admitNumbers }) {
      const parsed = await endpoint.request.safeParseAsync(fields, { reportInput: true })
      if (!parsed.success) throw refusal(parsed.error)
      const request = parsed.data
      requireWithinLimits(caller, request, endpoint)
      if (endpoint.numbers) admitNumbers?.(endpoint.numbers(request))
      const context = { request, jsonRequested }
      const made = await handle(caller, request)
      return typeof made === 'function'
        ? // Endpoints that answer so have one decision to write, and write it at once.
          () => replyOf(endpoint, (made as () => Response)(), context) as Reply
        : await replyOf(endpoint, made, context)
    },
  }
}

/** An answer as it travels. */
export function replyOf<Request, Response>(
  { encode }: Pick<Endpoint<Request, Response>, 'encode'>,
  response: Response,
  context: ReplyContext<Request>,
): Eventually<Reply> {
  return encode ? encode(response, context) : { json: response }
}
