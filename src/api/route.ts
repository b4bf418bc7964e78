/**
 * An endpoint together with the method that answers it. Tables of routes are what a server binds;
 * reading the request off the wire and the body of an error are left to `http/`.
 */
import type { Caller } from '../domain/caller.js'
import type { Eventually } from '../domain/compliance.js'
import type { Endpoint, PendingReply, Reply } from './endpoint.js'
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

/**
 * Binds an endpoint to the method of a subject; a function it gives is a {@link PendingReply}. What
 * `isExempt` is answered whatever the key may do: an emergency call.
 */
export function route<Request, Response>(
  endpoint: Endpoint<Request, Response>,
  handle: (caller: Caller, request: Request) => Eventually<Response | (() => Response)>,
  isExempt?: (request: Request) => boolean,
): Route {
  const encode = endpoint.encode ?? ((response: Response): Reply => ({ json: response }))
  return {
    endpoint,
    admit(caller) {
      if (!isExempt) requireSomeRight(caller, endpoint.rights)
    },
    async answer(fields, { caller, jsonRequested, admitNumbers }) {
      const parsed = await endpoint.request.safeParseAsync(fields, { reportInput: true })
      if (!parsed.success) {
        // An exempt request was not refused before; what cannot be read is no such request.
        requireSomeRight(caller, endpoint.rights)
        throw refusal(parsed.error)
      }
      const request = parsed.data
      if (isExempt?.(request) !== true) requireWithinLimits(caller, request, endpoint)
      endpoint.holdToAccount?.(caller, request)
      if (endpoint.numbers) admitNumbers?.(endpoint.numbers(request))
      const context = { request, jsonRequested }
      const made = await handle(caller, request)
      return typeof made === 'function'
        ? // Endpoints that answer so have one decision to write, and write it at once.
          () => encode((made as () => Response)(), context) as Reply
        : await encode(made, context)
    },
  }
}
