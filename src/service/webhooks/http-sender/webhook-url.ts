/** Parses a receiver's URL, both for validation and for connecting. */

import { isIP } from 'node:net'
import { parseUrl } from '../../../runtime/parse-url.js'
import { SendError } from '../webhook-sender.js'

export interface WebhookUrl {
  readonly isSecure: boolean
  /** Lower-case ASCII without a trailing dot; an IPv6 address without brackets. */
  readonly host: string
  readonly port: number
  /** `host:port`, without a default port. */
  readonly authority: string
  /** With the query, without the fragment. */
  readonly path: string
  /** Set for a host that needs no lookup: an address, or a name of this machine. */
  readonly addresses: readonly string[] | undefined
}

const maxUrlLength = 1_500

/** Excludes whitespace, control characters and backslashes, since URL parsers disagree about them. */
const plainUrlPattern = /^https?:\/\/[^\s\\/?#\p{Cc}][^\s\\\p{Cc}]*$/iu

const hostLabelPattern = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/

/** Throws {@link SendError} with the violated rule for anything but `http(s)://host...`. */
export function parseWebhookUrl(text: string): WebhookUrl {
  if (text.length > maxUrlLength)
    throw createBadUrlError(`must have at most ${maxUrlLength} characters`)
  const url = plainUrlPattern.test(text) ? parseUrl(text) : undefined
  if (!url) throw createBadUrlError('must be an address such as https://host/path')
  if (/^[^/?#]*@/.test(text.slice(text.indexOf('//') + 2))) {
    throw createBadUrlError('must have no user name or password')
  }
  const host = parseHost(url)
  if (url.port === '0') throw createBadUrlError('must have a port from 1 to 65535')
  const isSecure = url.protocol === 'https:'
  return {
    isSecure,
    host,
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    authority: `${isIP(host) === 6 ? `[${host}]` : host}${url.port && `:${url.port}`}`,
    path: url.pathname + url.search,
    addresses: findLiteralAddresses(host),
  }
}

/** The URL parser has already normalized every form of a numeric address (WHATWG URL, 3.5). */
function parseHost(url: URL): string {
  const name = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(name) !== 0) return name
  const host = name.replace(/\.$/, '')
  const isName = host.length <= 253 && host.split('.').every((part) => hostLabelPattern.test(part))
  if (!isName) throw createBadUrlError('must have the name or address of a host')
  return host
}

/** `localhost` and its subdomains always mean this machine (RFC 6761, 6.3). */
function findLiteralAddresses(host: string): readonly string[] | undefined {
  if (isIP(host) !== 0) return [host]
  return /^(?:.*\.)?localhost$/.test(host) ? ['127.0.0.1', '::1'] : undefined
}

function createBadUrlError(rule: string): SendError {
  return new SendError('bad-url', rule)
}
