/**
 * The descriptor of one endpoint of the published API. The server, the remote client, the tests and
 * the documentation all use it.
 */
import type { z } from 'zod'
import type { Caller, Right, ScopeChoice } from '../domain/caller.js'
import type { MaybePromise } from '../domain/compliance.js'
import type { CallKind } from '../domain/decision.js'

/** Where a request's fields may come from. Names ignore letter case. */
export type FieldSource = 'query' | 'json' | 'form' | 'multipart'

/**
 * The form of an error body:
 * - `reason-phrase`: `{"ReasonPhrase": text}` (spec, time-legal);
 * - `text`: plain text (rpc paths);
 * - `text-or-error`: plain text, or `{"error": text}` when the request's content type is JSON
 *   (spec, "Internal DNC list");
 * - `problem`: RFC 9457 problem details;
 * - `oauth`: `{"error", "error_description"}` of RFC 6749, section 5.2;
 * - `reason-line`: plain text, also sent as the reason phrase of the status line (rpc/project);
 * - `block-line`: `block:<reason>:-:end`, which a dialplan reads as a refusal.
 */
export type ErrorShape =
  | 'reason-phrase'
  | 'text'
  | 'text-or-error'
  | 'problem'
  | 'oauth'
  | 'reason-line'
  | 'block-line'

/** Groups of endpoints that share one limit of requests per minute and account. */
export const rateClasses = [
  'scrub',
  'litigator',
  'reassigned',
  'reputation',
  'pdnc',
  'ebr',
  'time-legal',
] as const
export type RateClass = (typeof rateClasses)[number]

/** A right that every request of an endpoint needs, or one that only some requests need. */
export type RequiredRight<Request> = Right | ConditionalRight<Request>

interface ConditionalRight<Request> {
  readonly right: Right
  /** Describes the requests that need it: `actionType is add or remove`. */
  readonly condition: string
  // A method, so that descriptors with different request types fit into one table.
  appliesTo(request: Request): boolean
}

/** An encoded answer. */
export type Reply = TextReply | (ReplyHead & { readonly json: unknown })

export interface TextReply extends ReplyHead {
  readonly text: string
}

/** A reply generated while it is sent; an error closes the connection, since the headers are already sent. */
export interface StreamedReply extends ReplyHead {
  readonly parts: AsyncIterable<string | Uint8Array>
  /** Names of headers that are known only at the end. */
  readonly trailerNames: readonly string[]
  readonly trailers: () => Readonly<Record<string, string>>
  /** Of a reply that has no end by itself: aborted when its reader has gone, or when it may not go on. */
  readonly ending?: AbortController
}

/** A reply as bytes: a long one, or one that is made once for every request. */
export interface BytesReply extends ReplyHead {
  readonly bytes: Buffer
}

interface ReplyHead {
  readonly status?: number
  /** Overrides the standard text of the status line. */
  readonly reasonPhrase?: string
  readonly contentType?: string
  /** In addition to the headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer that is the same for everybody, who need no key. */
export interface Page {
  /** A refusal is kept as well. */
  readonly make: () => MaybePromise<Reply | BytesReply>
  /** It never changes. */
  readonly isFixed?: boolean
  /** It is not made for HEAD, whose answer is then without its length and type. */
  readonly ignoresHead?: boolean
}

/** A request as sent by a client, with published field names. */
export interface WireRequest {
  readonly query?: Readonly<Record<string, string>> | undefined
  /** Sent as JSON. */
  readonly json?: unknown
  /** Request the JSON form of the answer by content type (spec, "Internal DNC list"). */
  readonly jsonRequested?: boolean | undefined
}

/** The request data that an encoder may use besides the answer. */
export interface ReplyContext<Request> {
  readonly request: Request
  /** The request's content type is JSON. */
  readonly jsonRequested: boolean
}

export interface Endpoint<Request, Response> {
  /** Label of the metrics, such as `scrub-post`; `scrubPost` is its id in the description. */
  readonly name: string
  readonly summary: string
  /** The section of the specification it implements. */
  readonly spec: string
  readonly method: 'GET' | 'POST' | 'PUT'
  /** One or more equivalent paths; letter case is ignored. `:name` is a parameter. */
  readonly paths: readonly string[]
  readonly accepts: readonly FieldSource[]
  /** Reads a body by its content, JSON or a form, whatever its content type says. */
  readonly acceptsAnyContentType?: boolean
  /** The field that receives the body if it is a bare JSON list. */
  readonly bareListField?: string
  /** `open` needs no key, since the request itself contains credentials. */
  readonly access?: 'key' | 'open'
  /** The rights that the key needs; empty if any key will do or none is needed. */
  readonly rights: readonly RequiredRight<Request>[]
  /** The projects and campaigns that a request applies to, explicitly or by default. */
  readonly scopes: 'none' | ((request: Request) => readonly ScopeChoice[])
  /** The kind of call that a request is about; `undefined` if it names none. */
  readonly callKind?: (request: Request) => CallKind | undefined
  /** Largest body in bytes; {@link getMaxBodyBytes} has the default. Not above `http.maxBodyBytes`. */
  readonly maxBodyBytes?: number
  /**
   * Which requests are parsed and answered by a service thread, where there is one: those with a long
   * body or query, or all of them, because their answer may be long whatever they ask.
   */
  readonly usesServiceThread?: 'when-long' | 'always'
  /** The answer goes on until its reader goes; header `Last-Event-ID` is field `after`. */
  readonly isEndless?: boolean
  /** Refused with 503 while this server may not know what others have stored in the last moments. */
  readonly requiresCurrent?: boolean
  /** The rate limit that applies; no limit when absent. */
  readonly rateClass?: RateClass
  /**
   * The count of numbers in a request. It counts against the number limit of the rate class, and a
   * high count makes the request a bulk call. If absent, neither applies.
   */
  readonly countNumbers?: (request: Request) => number
  /** Throws `invalid-request` for a request beyond the limits of its account. */
  readonly requireAccountLimits?: (caller: Caller, request: Request) => void
  /** Field sources besides the `loginId` header that may contain the key, as field `loginId`. */
  readonly keyAlsoIn: readonly FieldSource[]
  /** The key may also be the password of `Authorization: Basic`. */
  readonly keyAsPassword?: boolean
  readonly request: z.ZodType<Request>
  /** Encodes a request; only on endpoints that this program calls as a client. */
  readonly encodeRequest?: (request: Request) => WireRequest
  readonly response: z.ZodType<Response>
  readonly errors: ErrorShape
  /** Media types of the answer, for the description; JSON when absent. */
  readonly replyTypes?: readonly string[]
  /** Additional headers of the answer with their meaning, for the description. */
  readonly replyHeaders?: Readonly<Record<string, string>>
  /** Status of the answer, for the description; 200 when absent. */
  readonly successStatus?: number
  /** Additional statuses with their meaning, for the description. */
  readonly otherStatuses?: Readonly<Record<number, string>>
  /** Regular expression of a text answer, for the description. */
  readonly replyPattern?: string
  /** By name, for the description. Requests as JSON; replies as JSON, or as text by `replyTypes`. */
  readonly examples?: {
    readonly requests?: Readonly<Record<string, object>>
    readonly replies?: Readonly<Record<string, unknown>>
  }
  /** Encodes the answer; JSON with status 200 when absent. */
  readonly encode?: (
    response: Response,
    context: ReplyContext<Request>,
  ) => MaybePromise<Reply | BytesReply | StreamedReply>
}

/**
 * The published endpoints ignore unknown fields and accept a field twice with equal values
 * (docs/spec-interpretations.md). Callgate's own endpoints under `/v1/` reject both; token requests
 * follow their own rules (RFC 6749, section 3.2).
 */
export function ignoresUnknownFields({
  paths,
  access,
}: Pick<Endpoint<unknown, unknown>, 'paths' | 'access'>): boolean {
  return access !== 'open' && !paths.some((path) => path.startsWith('/v1/'))
}

/**
 * The path under each API version that existing clients use, the given version first; `/apiLatest` is
 * an alias of the newest.
 */
export function listVersionedPaths(newest: '/v1.5' | '/v1.4', path: string): readonly string[] {
  const versions = new Set([newest, '/v1.5', '/v1.4', '/v1.3', '/v1.2', '/apiLatest'])
  return [...versions].map((version) => version + path)
}

/** `scopes` of requests that name at most one project and campaign. */
export const singleScope = (request: ScopeChoice): readonly ScopeChoice[] => [request]

/** Largest body of requests about a single item, such as a decision or a token. */
export const maxSmallBodyBytes = 16_384
/** Largest body of requests with lists of documented maximum length. */
export const maxListBodyBytes = 1_048_576

/** Without lists, since it is parsed in the thread that decides calls. */
const maxObjectBodyBytes = 65_536

/** Largest body of a request to an endpoint, in bytes; `setting` is `http.maxBodyBytes`. */
export function getMaxBodyBytes(
  endpoint: Pick<Endpoint<never, unknown>, 'maxBodyBytes' | 'usesServiceThread'>,
  setting: number,
): number {
  const { usesServiceThread, maxBodyBytes } = endpoint
  return Math.min(maxBodyBytes ?? (usesServiceThread ? setting : maxObjectBodyBytes), setting)
}

/** Infers the types of a descriptor, so that callers need not repeat them. */
export function defineEndpoint<Request, Response>(
  descriptor: Endpoint<Request, Response>,
): Endpoint<Request, Response> {
  return Object.freeze(descriptor)
}
