/**
 * An endpoint together with the method that answers it. Tables of routes are what a server binds;
 * reading the request off the wire and the body of an error are left to `http/`.
 */
import type { z } from 'zod'
import type { Caller } from '../domain/caller.js'
import type { Eventually } from '../domain/compliance.js'
import {
  type Endpoint,
  type LongReply,
  type PendingReply,
  type Reply,
  type ReplyContext,
  takesOpenFields,
} from './endpoint.js'
import { refusal } from './field-problems.js'
import { wireSchema } from './json-schema.js'
import { requireSomeRight, requireWithinLimits } from './key-limits.js'
import { openFields } from './open-fields.js'

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
  | 'keyAsPassword'
  | 'errors'
>

export interface AnswerContext {
  readonly caller: Caller
  /** The request's content type is JSON. */
  readonly jsonRequested: boolean
  /** Told how many numbers the request holds, before they are worked on; throws to refuse them. */
  readonly admitNumbers?: ((count: number) => void) | undefined
  /** Told the names of fields the call does not know and passed over, if there are any. */
  readonly onIgnored?: ((names: readonly string[]) => void) | undefined
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
  answer(fields: object, context: AnswerContext): Promise<PendingReply>
}

/** Binds an endpoint to the method of a subject; a function it gives is a {@link PendingReply}. */
export function route<Request, Response>(
  endpoint: Endpoint<Request, Response>,
  handle: (caller: Caller, request: Request) => Eventually<Response | (() => Response)>,
): Route {
  const read = readerOf(endpoint)
  return {
    endpoint,
    admit: (caller) => requireSomeRight(caller, endpoint.rights),
    async answer(given, { caller, jsonRequested, admitNumbers, onIgnored }) {
      const { fields, ignored } = await read(given)
      if (ignored.length > 0) onIgnored?.(ignored)
      const parsed = await endpoint.request.safeParseAsync(fields, { reportInput: true })
      if (!parsed.success) throw refusal(parsed.error)
      const request = parsed.data
      requireWithinLimits(caller, request, endpoint)
      endpoint.holdToAccount?.(caller, request)
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

function readerOf(endpoint: EndpointFacts & { readonly request: z.ZodType }) {
  if (!takesOpenFields(endpoint)) {
    return async (fields: object) => ({ fields, ignored: [] as readonly string[] })
  }
  let made: ReturnType<typeof openFields> | undefined
  return (fields: object) => {
    made ??= openFields(wireSchema(endpoint.request))
    return made(fields)
  }
}

/** An answer as it travels. */
export function replyOf<Request, Response>(
  { encode }: Pick<Endpoint<Request, Response>, 'encode'>,
  response: Response,
  context: ReplyContext<Request>,
): Eventually<Reply | LongReply> {
  return encode ? encode(response, context) : { json: response }
}
