/** Reads the first line and the headers of a request to the proxy, and refuses what two programs could read differently. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from './refusal.js'

export interface RequestTarget {
  readonly path: string
  /** With its question mark, or empty. */
  readonly query: string
}

/** Without escapes, dot segments and empty segments, so that there is only one way to read it. */
const targetPattern = /^((?:\/[A-Za-z0-9_.~:+-]+)+)(\?[\x21\x23-\x7e]*)?$/

export function readTarget({ url = '' }: IncomingMessage): RequestTarget {
  const [, path = '', query = ''] = targetPattern.exec(url) ?? []
  const hasDotSegment = path.split('/').some((segment) => /^\.+$/.test(segment))
  if (path !== '' && !hasDotSegment && !/[?&]_method=/i.test(query)) return { path, query }
  const rule = 'the path must be plain: no escapes, empty or dot segments, and no address before it'
  throw new Refusal('ambiguous-request', rule)
}

/** Given twice, two programs may each take another one. */
const singleHeaders = [
  ...['host', 'content-type', 'content-length', 'content-encoding', 'transfer-encoding'],
  ...['authorization', 'expect'],
]

export function requireClearHeaders(request: IncomingMessage): void {
  for (const name of singleHeaders) {
    const count = request.headersDistinct[name]?.length ?? 0
    if (count > 1) throw new Refusal('ambiguous-request', `the header ${name} is given twice`)
  }
  const { 'content-encoding': coding = 'identity', upgrade } = request.headers
  if (coding.trim().toLowerCase() !== 'identity') {
    throw new Refusal('unreadable-request', 'Content-Encoding: compressed bodies are not read')
  }
  if (upgrade !== undefined) {
    throw new Refusal('unknown-request', 'Upgrade: WebSocket connections are not forwarded')
  }
}

/** Hop-by-hop headers (RFC 9110, section 7.6.1), and those that the proxy writes itself. */
const ownHeaders = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'],
  ...['host', 'content-length', 'content-type', 'content-encoding'],
])
/** Headers that make another request of this one, or that are for callgate. */
const droppedHeader =
  /_|^x-http-method|^x-method-override$|^x-original-|^x-rewrite-|^x-forwarded-|^forwarded$|^x-callgate-|^loginid$/

/** The headers that are passed on, credentials of the platform included. */
export function forwardedHeaders(
  { headers, headersDistinct }: IncomingMessage,
  { readsAnswer }: { readonly readsAnswer: boolean },
) {
  const named = namedByConnection(headers.connection)
  const forwarded = Object.entries(headersDistinct).filter(
    (entry): entry is [string, string[]] =>
      !ownHeaders.has(entry[0]) && !droppedHeader.test(entry[0]) && !named.has(entry[0]),
  )
  if (!readsAnswer) return forwarded
  // The ids of the calls are in the answer, which must not be compressed to be read.
  const others = forwarded.filter(([name]) => name !== 'accept-encoding')
  return [...others, ['accept-encoding', ['identity']] as [string, string[]]]
}

/** `Connection` may name further hop-by-hop headers. */
export function namedByConnection(connection: string | undefined): ReadonlySet<string> {
  return new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
}
