/**
 * Every fault with its parameters and its effect on the wire. Faults are parsed by this table, and the
 * documentation lists it.
 */

/** Without these, a fault applies to every request. */
interface FaultLimits {
  /** The number of requests to which it applies. */
  readonly times?: number | undefined
  /** Probability, from 0 to 1, that it applies to a request. */
  readonly chance?: number | undefined
}

/** No reply arrives. */
export type ConnectionFault = FaultLimits & {
  readonly kind: 'silent' | 'reset' | 'hang-up' | 'garbage-http'
}

/** Another reply in place of the correct one. */
export type ReplyFault = FaultLimits &
  (
    | { readonly kind: 'garbage' | 'empty' | 'login-page' | 'csv-error' | 'unauthorized' }
    | { readonly kind: 'rate-limited'; readonly retryAfterSeconds?: number | undefined }
    | { readonly kind: 'server-error'; readonly status?: number | undefined }
    | { readonly kind: 'redirect'; readonly location?: string | undefined }
  )

/** The correct answer, delivered badly. */
export type DeliveryFault = FaultLimits &
  (
    | { readonly kind: 'slow'; readonly ms: number }
    | { readonly kind: 'slow-body'; readonly ms?: number | undefined }
    | { readonly kind: 'half-closed' | 'half-silent' | 'stale-keepalive' }
  )

/** The correct answer with damaged rows; only for the four questions, in JSON. */
export type RowFault = FaultLimits &
  (
    | { readonly kind: 'missing-field'; readonly field?: string | undefined }
    | { readonly kind: 'wrong-letter' | 'missing-row' | 'extra-row' | 'out-of-order' }
    | { readonly kind: 'neighbour' | 'wrapped' | 'wrapped-each' }
  )

export type Fault = ConnectionFault | ReplyFault | DeliveryFault | RowFault
export type FaultKind = Fault['kind']

export interface FaultParameter {
  readonly name: string
  /** `header-text` is text that may stand in a header: printable ASCII. */
  readonly type: 'whole-number' | 'number' | 'text' | 'header-text'
  /** Bounds of a number, or of the length of a text. */
  readonly min: number
  readonly max: number
  readonly required?: true
}

export interface FaultDescription {
  readonly affects: 'connection' | 'reply' | 'delivery' | 'rows'
  /** What happens to a request; one line for people. */
  readonly description: string
  readonly parameter?: FaultParameter
}

export const maxWaitMs = 600_000
export const defaultSlowBodyMs = 5_000
export const defaultServerError = 503

const describe =
  (affects: FaultDescription['affects']) =>
  (description: string, parameter?: FaultParameter): FaultDescription => ({
    affects,
    description,
    ...(parameter && { parameter }),
  })
const connection = describe('connection')
const reply = describe('reply')
const delivery = describe('delivery')
const rows = describe('rows')

const wholeNumberParameter = (name: string, min: number, max: number): FaultParameter => ({
  name,
  type: 'whole-number',
  min,
  max,
})
const textParameter = (name: string): FaultParameter => ({ name, type: 'text', min: 1, max: 2_000 })

export const faultDescriptions: Readonly<Record<FaultKind, FaultDescription>> = {
  silent: connection('accepts the request, never answers and keeps the connection open'),
  reset: connection('resets the connection (TCP RST) after receiving the request'),
  'hang-up': connection('closes the connection (TCP FIN) without a byte of an answer'),
  'garbage-http': connection('answers with bytes that are not HTTP, then closes the connection'),
  garbage: reply('200 as JSON, with random bytes as body'),
  empty: reply('200 with an empty body'),
  'login-page': reply('200 with the HTML of a login page'),
  'csv-error': reply('200 as plain text: a number is not a valid number'),
  unauthorized: reply('401, as for a key that is not valid'),
  'rate-limited': reply(
    '429; with Retry-After if `retryAfterSeconds` is given',
    wholeNumberParameter('retryAfterSeconds', 0, 86_400),
  ),
  'server-error': reply('a server error: `status` 500 to 504, else 503', {
    ...wholeNumberParameter('status', 500, 504),
  }),
  redirect: reply('302 to `location`, else to a path of this vendor that does not exist', {
    ...textParameter('location'),
    type: 'header-text',
  }),
  slow: delivery('the correct answer, `ms` later', {
    ...wholeNumberParameter('ms', 0, maxWaitMs),
    required: true,
  }),
  'slow-body': delivery(
    'the head at once, the body in small pieces over `ms` (5000)',
    wholeNumberParameter('ms', 1, maxWaitMs),
  ),
  'half-closed': delivery('announces the whole body, sends half of it and closes the connection'),
  'half-silent': delivery('announces the whole body, sends half of it and never the rest'),
  'stale-keepalive': delivery(
    'the correct answer, then the connection is closed, although it was announced as kept open',
  ),
  'missing-field': rows(
    'every row lacks its verdict, or the named `field`',
    textParameter('field'),
  ),
  'wrong-letter': rows('every row has an unknown verdict: a letter, a status, or text for a flag'),
  'missing-row': rows('the row of the first number is missing'),
  'extra-row': rows('begins with a row for a number that was not requested'),
  'out-of-order': rows('the rows come in reverse order'),
  neighbour: rows('the rows are shifted by one; a single row is for another number'),
  wrapped: rows('the rows are wrapped: `[{"Response": [rows]}]`'),
  'wrapped-each': rows('each row is wrapped separately: `[{"Response": [row]}, ...]`'),
}

export const faultKinds = Object.keys(faultDescriptions) as readonly FaultKind[]

export function isFaultKind(text: string): text is FaultKind {
  return Object.hasOwn(faultDescriptions, text)
}

export function isConnectionFault(fault: Fault): fault is ConnectionFault {
  return faultDescriptions[fault.kind].affects === 'connection'
}

export function isReplyFault(fault: Fault): fault is ReplyFault {
  return faultDescriptions[fault.kind].affects === 'reply'
}

export function isRowFault(fault: Fault): fault is RowFault {
  return faultDescriptions[fault.kind].affects === 'rows'
}
