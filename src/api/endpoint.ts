/**
 * What an endpoint is: one descriptor per call of the published contract. The server binds it, a
 * remote client calls it, the tests and documents walk it.
 */
import type { z } from 'zod'
import type { Caller, Right, ScopeChoice } from '../domain/caller.js'
import type { Eventually } from '../domain/compliance.js'
import type { CallKind } from '../domain/decision.js'

/** Where a request's fields may come from. Names are compared without letter case. */
export type FieldSource = 'query' | 'json' | 'form' | 'multipart'

/**
 * The body an error has:
 * - `reason-phrase`: `{"ReasonPhrase": text}` (spec, time-legal);
 * - `text`: plain text (rpc paths);
 * - `text-or-error`: plain text, or `{"error": text}` when the request's content type is JSON
 *   (spec, "Internal DNC list");
 * - `problem`: RFC 9457 problem details;
 * - `oauth`: `{"error", "error_description"}` of RFC 6749, section 5.2;
 * - `reason-line`: plain text, which is the reason phrase of the status line as well (rpc project call);
 * - `block-line`: `block:<reason>:-:end`, which a dialplan can only read as a refusal.
 */
export type ErrorShape =
  | 'reason-phrase'
  | 'text'
  | 'text-or-error'
  | 'problem'
  | 'oauth'
  | 'reason-line'
  | 'block-line'

/** Calls that share one limit of requests per minute and account. */
export const rateClasses = [
  ...(['scrub', 'litigator', 'reassigned', 'reputation'] as const),
  ...(['pdnc', 'ebr', 'time-legal'] as const),
] as const
export type RateClass = (typeof rateClasses)[number]

/** A right that every request of an endpoint needs, or one that only some of its requests need. */
export type NeededRight<Request> = Right | ConditionalRight<Request>

export interface ConditionalRight<Request> {
  readonly right: Right
  /** Which requests need it, for people: `actionType is add or remove`. */
  readonly when: string
  // A method, so that descriptors of different requests fit into one table.
  applies(request: Request): boolean
}

/** How an answer travels. */
export type Reply = ReplyHead & ({ readonly json: unknown } | { readonly text: string })

/** Text that is made while it is sent; what it throws cuts the connection, since the head has left. */
export interface LongReply extends ReplyHead {
  readonly parts: AsyncIterable<string>
  /** Headers that are known at the end alone. */
  readonly trailerNames: readonly string[]
  readonly trailers: () => Readonly<Record<string, string>>
}

/** One that is the same for everybody, made once. */
export interface Page extends ReplyHead {
  readonly bytes: Buffer
}

/** A function is called right before the reply is written, and makes it. */
export type PendingReply = Reply | LongReply | (() => Reply)

interface ReplyHead {
  readonly status?: number
  /** Text of the status line in place of the status's own. */
  readonly reasonPhrase?: string
  readonly contentType?: string
  /** Beside those that every answer has. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A request as a client sends it: fields by their published names. */
export interface WireRequest {
  readonly query?: Readonly<Record<string, string>> | undefined
  /** Sent as JSON. */
  readonly json?: unknown
  /** Ask for the JSON form of the answer by the request's content type (spec, "Internal DNC list"). */
  readonly jsonRequested?: boolean | undefined
}

/** What an encoder may look at beside the answer. */
export interface ReplyContext<Request> {
  readonly request: Request
  /** The request's content type is JSON. */
  readonly jsonRequested: boolean
}

export interface Endpoint<Request, Response> {
  /** Label of the metrics and anchor of the documents, such as `scrub-post`. */
  readonly name: string
  readonly summary: string
  /** The section of the specification it implements. */
  readonly spec: string
  readonly method: 'GET' | 'POST' | 'PUT'
  /** One or more paths that mean the same; compared without letter case. `:name` is a parameter. */
  readonly paths: readonly string[]
  readonly accepts: readonly FieldSource[]
  /** The field that a bare JSON list as body stands for. */
  readonly listBody?: string
  /** `open` needs no key: what it is given are credentials. */
  readonly access?: 'key' | 'open'
  /** What the key must be able to do; empty where every key may ask, or no key is needed. */
  readonly rights: readonly NeededRight<Request>[]
  /** The projects and campaigns a request names, or means by naming none. */
  readonly scopes: 'none' | ((request: Request) => readonly ScopeChoice[])
  /** The kind of call a request wants decided. */
  readonly callKind?: (request: Request) => CallKind
  /** Largest body in bytes, where that is below the setting `http.maxBodyBytes`. */
  readonly maxBodyBytes?: number
  /** Counts against that limit; without it there is none. */
  readonly rate?: RateClass
  /**
   * How many numbers a request holds. They count against the limit of numbers of the rate class, and
   * many of them make the request a bulk call. Calls without it are neither counted nor bulk.
   */
  readonly numbers?: (request: Request) => number
  /** Throws `invalid-request` for a request beyond what its account may ask. */
  readonly holdToAccount?: (caller: Caller, request: Request) => void
  /** Places besides the `loginId` header where the key may stand, under the name `loginId`. */
  readonly keyAlsoIn: readonly FieldSource[]
  /** The key may also be the password of `Authorization: Basic`. */
  readonly keyAsPassword?: boolean
  readonly request: z.ZodType<Request>
  /** How a client writes a request; on endpoints that this program asks of others. */
  readonly send?: (request: Request) => WireRequest
  readonly response: z.ZodType<Response>
  readonly errors: ErrorShape
  /** Media types of the answer; JSON when absent. For the description. */
  readonly replyTypes?: readonly string[]
  /** Headers the answer may have beside those of every answer, by what they say. For the description. */
  readonly replyHeaders?: Readonly<Record<string, string>>
  /** Status of the answer; 200 when absent. For the description. */
  readonly success?: number
  /** Statuses beside that one and those every call of its kind has, with what they mean. */
  readonly outcomes?: Readonly<Record<number, string>>
  /** How the answer is written; JSON with status 200 when absent. */
  readonly encode?: (
    response: Response,
    context: ReplyContext<Request>,
  ) => Eventually<Reply | LongReply>
}

/**
 * Unknown fields are passed over and a field may stand twice with equal values (ADR 0083): the published
 * calls. Callgate's own under `/v1/` refuse both; a token request has rules of its own (RFC 6749,
 * section 3.2).
 */
export function takesOpenFields({
  paths,
  access,
}: Pick<Endpoint<unknown, unknown>, 'paths' | 'access'>): boolean {
  return access !== 'open' && !paths.some((path) => path.startsWith('/v1/'))
}

/**
 * A path of the API under each version that clients in use ask for, the one to be asked first;
 * `/apiLatest` is the newest.
 */
export function versionedPaths(newest: '/v1.5' | '/v1.4', path: string): readonly string[] {
  const versions = new Set([newest, '/v1.5', '/v1.4', '/v1.3', '/v1.2', '/apiLatest'])
  return [...versions].map((version) => version + path)
}

/** Of the many requests that name one project and campaign at most. */
export const oneScope = (request: ScopeChoice): readonly ScopeChoice[] => [request]

/** Largest body of calls that are about one thing: a decision, a token. */
export const smallBodyBytes = 16_384
/** Of calls with lists whose length has a documented maximum. */
export const listBodyBytes = 1_048_576

/** Keeps the types of one descriptor without repeating them. */
export function endpoint<Request, Response>(
  descriptor: Endpoint<Request, Response>,
): Endpoint<Request, Response> {
  return Object.freeze(descriptor)
}
