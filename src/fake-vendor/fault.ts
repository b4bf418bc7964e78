/**
 * What can be made to go wrong: every fault with its parameters and what it looks like on the wire.
 * The table is what faults are read by and what the documents list.
 */

/** When a fault is over or passes a request by; without them it holds for every request. */
export interface FaultLimits {
  /** How many requests it strikes, then it is over. */
  readonly times?: number | undefined
  /** From 0 to 1: how likely it strikes a request. */
  readonly chance?: number | undefined
}

/** Nothing of the right answer arrives, and no other reply either. */
export type ConnectionFault = FaultLimits & {
  readonly kind: 'silent' | 'reset' | 'hang-up' | 'garbage-http'
}

/** Another reply in place of the right one. */
export type ReplyFault = FaultLimits &
  (
    | { readonly kind: 'garbage' | 'empty' | 'login-page' | 'csv-error' | 'unauthorized' }
    | { readonly kind: 'rate-limited'; readonly retryAfterSeconds?: number | undefined }
    | { readonly kind: 'server-error'; readonly status?: number | undefined }
    | { readonly kind: 'redirect'; readonly location?: string | undefined }
  )

/** The right answer, delivered badly. */
export type DeliveryFault = FaultLimits &
  (
    | { readonly kind: 'slow'; readonly ms: number }
    | { readonly kind: 'slow-body'; readonly ms?: number | undefined }
    | { readonly kind: 'half-closed' | 'half-silent' | 'stale-keepalive' }
  )

/** The right answer with its rows spoilt: of the four questions only, and of their JSON form. */
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

export interface FaultFacts {
  readonly touches: 'connection' | 'reply' | 'delivery' | 'rows'
  /** What happens to a request; one line for people. */
  readonly about: string
  readonly parameter?: FaultParameter
}

export const longestWaitMs = 600_000
export const defaultSlowBodyMs = 5_000
export const defaultServerError = 503

const connection = (about: string): FaultFacts => ({ touches: 'connection', about })
const reply = (about: string, parameter?: FaultParameter): FaultFacts =>
  parameter ? { touches: 'reply', about, parameter } : { touches: 'reply', about }
const delivery = (about: string, parameter?: FaultParameter): FaultFacts =>
  parameter ? { touches: 'delivery', about, parameter } : { touches: 'delivery', about }
const rows = (about: string, parameter?: FaultParameter): FaultFacts =>
  parameter ? { touches: 'rows', about, parameter } : { touches: 'rows', about }

const whole = (name: string, min: number, max: number): FaultParameter => ({
  ...{ name, type: 'whole-number', min, max },
})
const text = (name: string): FaultParameter => ({ name, type: 'text', min: 1, max: 2_000 })

export const faultTable: Readonly<Record<FaultKind, FaultFacts>> = {
  silent: connection('takes the request, never answers and keeps the connection open'),
  reset: connection('resets the connection (TCP RST) once the request is in'),
  'hang-up': connection('closes the connection (TCP FIN) without a byte of an answer'),
  'garbage-http': connection('answers with bytes that are no HTTP, then closes the connection'),
  garbage: reply('200 as JSON, with random bytes as body'),
  empty: reply('200 with an empty body'),
  'login-page': reply('200 with the HTML of a login page'),
  'csv-error': reply('200 as plain text: a number is not a valid number'),
  unauthorized: reply('401, as for a key that is not valid'),
  'rate-limited': reply(
    '429; with Retry-After if `retryAfterSeconds` is given',
    whole('retryAfterSeconds', 0, 86_400),
  ),
  'server-error': reply('an error of the server: `status` 500 to 504, else 503', {
    ...whole('status', 500, 504),
  }),
  redirect: reply('302 to `location`, else to a path of this vendor where there is nothing', {
    ...text('location'),
    type: 'header-text',
  }),
  slow: delivery('the right answer, `ms` later', {
    ...whole('ms', 0, longestWaitMs),
    required: true,
  }),
  'slow-body': delivery(
    'the head at once, the body in small pieces over `ms` (5000)',
    whole('ms', 1, longestWaitMs),
  ),
  'half-closed': delivery('announces the whole body, sends half of it and closes the connection'),
  'half-silent': delivery('announces the whole body, sends half of it and never the rest'),
  'stale-keepalive': delivery(
    'the right answer, then the connection is closed although it was said to be kept',
  ),
  'missing-field': rows('every row lacks its verdict, or the named `field`', text('field')),
  'wrong-letter': rows(
    'every row has a verdict nobody knows: a letter, a status, or text for a flag',
  ),
  'missing-row': rows('the row of the first number is missing'),
  'extra-row': rows('begins with a row of a number that was not asked'),
  'out-of-order': rows('the rows come in reverse order'),
  neighbour: rows('the rows are moved on by one; the only row is that of another number'),
  wrapped: rows('the rows are wrapped: `[{"Response": [rows]}]`'),
  'wrapped-each': rows('each row is wrapped by itself: `[{"Response": [row]}, ...]`'),
}

export const faultKinds = Object.keys(faultTable) as readonly FaultKind[]

export function isFaultKind(text: string): text is FaultKind {
  return Object.hasOwn(faultTable, text)
}

export function isConnectionFault(fault: Fault): fault is ConnectionFault {
  return faultTable[fault.kind].touches === 'connection'
}

export function isReplyFault(fault: Fault): fault is ReplyFault {
  return faultTable[fault.kind].touches === 'reply'
}

export function isRowFault(fault: Fault): fault is RowFault {
  return faultTable[fault.kind].touches === 'rows'
}
