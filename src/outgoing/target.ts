/** Reads the address of a receiver: the one reading that both the check and the connection use. */
import { isIP } from 'node:net'
import { SendError } from '../service/webhooks/sender.js'

export interface Target {
  readonly isSecure: boolean
  /** In lower case and ASCII, without a last dot; an IPv6 address without brackets. */
  readonly host: string
  readonly port: number
  /** `https://host:port`, the port only where it is not the usual one. */
  readonly origin: string
  /** With the query, without the fragment. */
  readonly path: string
  /** Where the host needs no look-up, all it can lead to: an address, or this machine by its name. */
  readonly addresses: readonly string[] | undefined
}

const mostCharacters = 1_500

/** No blanks, control characters and backslashes: parsers of addresses do not agree on them. */
const plainText = /^https?:\/\/[^\s\\/?#\p{Cc}][^\s\\\p{Cc}]*$/iu

const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/

/** Throws {@link SendError} with the rule that is broken, for anything but `http(s)://host...`. */
export function parseTarget(text: string): Target {
  if (text.length > mostCharacters) throw badUrl(`must have at most ${mostCharacters} characters`)
  if (!plainText.test(text) || !URL.canParse(text)) {
    throw badUrl('must be an address such as https://host/path')
  }
  const url = new URL(text)
  if (/^[^/?#]*@/.test(text.slice(text.indexOf('//') + 2))) {
    throw badUrl('must hold no user name or password')
  }
  const host = hostOf(url)
  if (url.port === '0') throw badUrl('must have a port from 1 to 65535')
  const isSecure = url.protocol === 'https:'
  return {
    isSecure,
    host,
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    origin: `${url.protocol}//${isIP(host) === 6 ? `[${host}]` : host}${url.port && `:${url.port}`}`,
    path: url.pathname + url.search,
    addresses: addressesOf(host),
  }
}

/** Every spelling of an address in numbers has become the usual one by now (WHATWG URL, 3.5). */
function hostOf(url: URL): string {
  const name = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(name) !== 0) return name
  const host = name.replace(/\.$/, '')
  const isName = host.length <= 253 && host.split('.').every((part) => label.test(part))
  if (!isName) throw badUrl('must have the name or address of a host')
  return host
}

/** `localhost` and what is below it never leave the machine (RFC 6761, 6.3). */
function addressesOf(host: string): readonly string[] | undefined {
  if (isIP(host) !== 0) return [host]
  return /^(?:.*\.)?localhost$/.test(host) ? ['127.0.0.1', '::1'] : undefined
}

function badUrl(rule: string): SendError {
  return new SendError('bad-url', rule)
}
