/** The position of a request in a distributed trace (W3C Trace Context, header `traceparent`). */

export interface TraceContext {
  /** 32 hexadecimal digits, lower case. */
  readonly traceId: string
  /** The span that made the request; 16 hexadecimal digits, lower case. */
  readonly spanId: string
  /** Whether the caller records the trace. */
  readonly isSampled: boolean
}

const traceparent =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/

/**
 * Reads the header as the specification demands: one that is malformed is ignored, and of a later
 * version only the known fields are read.
 */
export function parseTraceparent(header: string): TraceContext | undefined {
  const [, version, traceId, spanId, flags, more] = traceparent.exec(header) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === '00' && more !== undefined) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}
