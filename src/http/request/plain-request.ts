/**
 * A request as programs send it: whole in one piece of data, with a key in header `loginId`. It is read
 * here in a fraction of the time that `node:http` takes. What is unusual in any way is not plain, and is
 * left to `node:http`, so this must accept less than that does, and never read the same bytes in
 * another way.
 */
export interface PlainRequest {
  /** `POST /v1/decisions`: method and address, a query included. */
  readonly target: string
  readonly headers: PlainHeaders
  readonly body: string
}

/** Clients send the same ones again and again. */
export interface PlainHeaders {
  /** From the line break before the first one to the end of the last one. */
  readonly text: string
  /** Header `loginId`; empty when there is none. */
  readonly loginId: string
  readonly contentType: string
  /** Header `traceparent`; empty when there is none. */
  readonly traceparent: string
  readonly bodyLength: number
}

const maxPlainBytes = 8_192
const endOfHead = '\r\n\r\n'

const requestLine = /^((?:GET|POST) \/[!-~]*) HTTP\/1\.1(?=\r\n)/
/**
 * Blanks before a value are part of it being there, so that a long row of them is passed over only once. `node:http` refuses a tab after
 * `Content-Length`, so a line that ends with one is not plain.
 */
const headerLine =
  /\r\n([!#$%&'*+.^_`|~0-9A-Za-z-]+):(?:[ \t]*([!-~]+(?:[ \t]+[!-~]+)*))? *(?=\r\n|$)/y

/** Headers that change how the bytes are read, or what `node:http` answers to. */
const unusualHeaders: ReadonlySet<string> = new Set([
  'content-encoding',
  'expect',
  'idempotency-key',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The headers that count; each may be sent once. */
const usedHeaders: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'content-type',
  'loginid',
  'traceparent',
])

/**
 * The request that these bytes are; `undefined` if it is not plain, not complete, or more follows it.
 * `last`: the headers of the previous request of the connection.
 */
export function readPlainRequest(
  bytes: Buffer,
  last: PlainHeaders | undefined,
): PlainRequest | undefined {
  if (bytes.length > maxPlainBytes) return undefined
  const text = bytes.toString('latin1')
  const headLength = text.indexOf(endOfHead)
  if (headLength === -1) return undefined
  const [line = '', target = ''] = requestLine.exec(text) ?? []
  if (target === '') return undefined
  const headersText = text.slice(line.length, headLength)
  const headers = headersText === last?.text ? last : readPlainHeaders(headersText)
  const body = text.slice(headLength + endOfHead.length)
  return headers && headers.bodyLength === body.length ? { target, headers, body } : undefined
}

function readPlainHeaders(text: string): PlainHeaders | undefined {
  const found = new Map<string, string>()
  headerLine.lastIndex = 0
  while (headerLine.lastIndex < text.length) {
    const [, name = '', value = ''] = headerLine.exec(text) ?? []
    const lowerName = name.toLowerCase()
    if (lowerName === '' || unusualHeaders.has(lowerName) || found.has(lowerName)) return undefined
    if (usedHeaders.has(lowerName)) found.set(lowerName, value)
  }
  const isKept = (found.get('connection') ?? 'keep-alive').toLowerCase() === 'keep-alive'
  const length = found.get('content-length') ?? '0'
  if (!found.has('host') || !isKept || !/^\d{1,4}$/.test(length)) return undefined
  return {
    text,
    loginId: found.get('loginid') ?? '',
    contentType: found.get('content-type') ?? '',
    traceparent: found.get('traceparent') ?? '',
    bodyLength: Number(length),
  }
}
