/**
 * Expected refusals. Anything else that is thrown is a bug: logged with its cause, and answered
 * with a bland 500. How a kind becomes a status and a body is the business of `http/`.
 */

/** Every kind of refusal, with the HTTP status it has unless an endpoint says otherwise. */
export const statusByErrorKind = {
  'invalid-request': 400,
  unauthenticated: 401,
  forbidden: 403,
  'not-found': 404,
  'method-not-allowed': 405,
  /** The state of what the request is about does not permit it. */
  conflict: 409,
  /** It is stored and waits for a second person. */
  'approval-needed': 409,
  'too-large': 413,
  'unsupported-media-type': 415,
  /** RFC 6749, section 5.2. */
  'unsupported-grant': 400,
  'invalid-grant-details': 400,
  'rate-limited': 429,
  'not-available': 503,
  /** Limits that were stored for a key or token are not understood, so nothing is permitted. */
  'unreadable-key': 503,
  /** The server has too much to do right now; the same request may be sent again. */
  overloaded: 503,
} as const
export type ErrorKind = keyof typeof statusByErrorKind

/** One field of a request that breaks a rule. */
export interface FieldProblem {
  /** Path of the field, such as `IsTimeLegalToCall[3].PhoneNumber`; empty for the whole request. */
  readonly field: string
  /** The value as received, cut short; absent when the field is missing. */
  readonly value?: string | undefined
  readonly rule: string
}

export class AppError extends Error {
  readonly kind: ErrorKind
  readonly problems: readonly FieldProblem[]
  /** When the same request may be sent again. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    kind: ErrorKind,
    message: string,
    more: {
      problems?: readonly FieldProblem[]
      cause?: unknown
      retryAfterSeconds?: number
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'AppError'
    this.kind = kind
    this.problems = more.problems ?? []
    this.retryAfterSeconds = more.retryAfterSeconds
  }
}

const maxShownLength = 60

/** A refusal that names the fields, their values and the rules they break. */
export function invalidRequest(problems: readonly FieldProblem[]): AppError {
  return new AppError('invalid-request', problems.map(describeProblem).join('; '), { problems })
}

export function isFieldProblem(value: unknown): value is FieldProblem {
  return typeof value === 'object' && value !== null && 'rule' in value
}

export function describeProblem({ field, value, rule }: FieldProblem): string {
  const where = field === '' ? 'request' : field
  return value === undefined ? `${where}: ${rule}` : `${where} '${truncate(value)}': ${rule}`
}

export function truncate(text: string): string {
  return text.length <= maxShownLength ? text : `${text.slice(0, maxShownLength)}...`
}

/** A data or configuration file that cannot be used; the message names the file and what is wrong. */
export class DataFileError extends Error {
  readonly path: string

  constructor(path: string, detail: string, cause?: unknown) {
    super(`${path}: ${detail}`, cause === undefined ? undefined : { cause })
    this.name = 'DataFileError'
    this.path = path
  }
}

/** The message of an error, or what was thrown in its place as text. */
export function getErrorMessage(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

/** The code of a system error, such as `ENOENT`; `undefined` if it has none. */
export function getErrorCode(cause: unknown): string | undefined {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  return typeof code === 'string' && code !== '' ? code : undefined
}

/** Follows each advice to restore a backup: what was stored since is lost, such as opt-outs. */
export const countLossFirst = ' (count first what that would lose: callgate backup loss <backup>)'
