/** The receivers that may have private addresses, by setting: host names, addresses and networks. */

import { isIP } from 'node:net'
import { parseUrl } from '../../../runtime/parse-url.js'
import {
  createBlockList,
  getAddressFamily,
  isPublicAddress,
  normalizeAddress,
} from './public-address.js'

export interface AllowList {
  /** Whether the host is listed by name, which permits any address. */
  hasHost(host: string): boolean
  /** Whether a request to the host may go to the address: it is public or listed. */
  isAllowed(host: string, address: string): boolean
  /** Whether the list itself permits the address. */
  isListed(host: string, address: string): boolean
}

/**
 * Parses the entries of the setting `webhooks.allow`. Throws an Error naming the setting for an entry
 * that is not a host, address or network.
 */
export function createAllowList(entries: readonly string[]): AllowList {
  const hosts = new Set<string>()
  const networks = createBlockList([])
  for (const entry of entries) {
    if (entry.includes('/')) networks.addSubnet(...parseNetwork(entry))
    else if (isIP(entry)) networks.addAddress(entry, getAddressFamily(entry))
    else hosts.add(parseAllowedHost(entry))
  }
  const holds = (address: string) =>
    isIP(address) !== 0 && networks.check(address, getAddressFamily(address))
  const hasHost = (host: string) => hosts.has(host)
  const isListed = (host: string, address: string) =>
    hasHost(host) || holds(normalizeAddress(address)) || holds(address.replace(/%.*$/s, ''))
  return {
    hasHost,
    isListed,
    isAllowed: (host, address) => isPublicAddress(address) || isListed(host, address),
  }
}

function parseNetwork(entry: string): [address: string, bits: number, family: 'ipv4' | 'ipv6'] {
  const [, address = '', bits] = /^([^/]*)\/(\d{1,3})$/.exec(entry) ?? []
  const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (bits === undefined || Number(bits) > maxBits)
    throw createEntryError(entry, 'is not a network')
  return [address, Number(bits), getAddressFamily(address)]
}

/** Normalizes a host as in a URL: lower case, ASCII. */
function parseAllowedHost(entry: string): string {
  const host = parseUrl(`http://${entry}/`)?.hostname ?? ''
  if (host === '' || isIP(host) !== 0)
    throw createEntryError(entry, 'is not a host, address or network')
  return host.replace(/\.$/, '')
}

function createEntryError(entry: string, rule: string): Error {
  return new Error(`webhooks.allow '${entry}': ${rule}`)
}
