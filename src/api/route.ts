/**
 * An endpoint together with the method that answers it. Tables of routes are what a server binds;
 * reading the request off the wire and the body of an error are left to `http/`.
 */
import type { Caller } from '../domain/caller.js'
import type { Eventually } from '../domain/compliance.js'
import type { Endpoint, PendingReply, Reply } from './endpoint.js'
import { refusal } from './field-problems.js'

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
  | 'rate'
  | 'keyAlsoIn'
  | 'errors'
>

export interface AnswerContext {
  readonly caller: Caller
  /** The request's content type is JSON. */
  readonly jsonRequested: boolean
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
  /**
   * Checks the fields as they were read, asks the subject and writes its answer. Refusals are
   * {@link AppError}s; anything else that is thrown is a bug.
   */
  answer(fields: unknown, context: AnswerContext): Promise<PendingReply>
}

/** Binds an endpoint to the method of a subject; a function it gives is a {@link PendingReply}. */
export function route<Request, Response>(
  endpoint: Endpoint<Request, Response>,
  handle: (caller: Caller, request: Request) => Eventually<Response | (() => Response)>,
): Route {
  const encode = endpoint.encode ?? ((response: Response): Reply => ({ json: response }))
  return {
    endpoint,
    async answer(fields, { caller, jsonRequested }) {
      const parsed = endpoint.request.safeParse(fields, { reportInput: true })
      if (!parsed.success) throw refusal(parsed.error)
      const request = parsed.data
      const context = { request, jsonRequested }
      const made = await handle(caller, request)
      return typeof made === 'function'
        ? () => encode((made as () => Response)(), context)
        : encode(made, context)
    },
  }
}
