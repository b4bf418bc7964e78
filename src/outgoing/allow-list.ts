/** Receivers that an operator lets have private addresses: hosts by name, addresses and networks. */
import { isIP } from 'node:net'
import { familyOf, isPublicAddress, networksOf, reachedAddress } from './address-rules.js'

export interface AllowList {
  /** Whether the host is listed by name; it may then have any address. */
  names(host: string): boolean
  /** Whether a request to that host may go to that address: a public one, or one that is listed. */
  permits(host: string, address: string): boolean
  /** Whether it is this list that permits it. */
  lists(host: string, address: string): boolean
}

/**
 * Entries are as the setting `webhooks.allow` has them. Throws an Error naming the setting for one
 * that is neither a host, nor an address, nor a network.
 */
export function createAllowList(entries: readonly string[]): AllowList {
  const hosts = new Set<string>()
  const networks = networksOf([])
  for (const entry of entries) {
    if (entry.includes('/')) networks.addSubnet(...networkIn(entry))
    else if (isIP(entry)) networks.addAddress(entry, familyOf(entry))
    else hosts.add(hostIn(entry))
  }
  const holds = (address: string) =>
    isIP(address) !== 0 && networks.check(address, familyOf(address))
  const names = (host: string) => hosts.has(host)
  const lists = (host: string, address: string) =>
    names(host) || holds(reachedAddress(address)) || holds(address.replace(/%.*$/s, ''))
  return {
    names,
    lists,
    permits: (host, address) => isPublicAddress(address) || lists(host, address),
  }
}

function networkIn(entry: string): [address: string, bits: number, family: 'ipv4' | 'ipv6'] {
  const [, address = '', bits] = /^([^/]*)\/(\d{1,3})$/.exec(entry) ?? []
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (bits === undefined || Number(bits) > longest) throw refusal(entry, 'is no network')
  return [address, Number(bits), familyOf(address)]
}

/** As the host of an address is written: in lower case, in ASCII. */
function hostIn(entry: string): string {
  const text = `http://${entry}/`
  const host = URL.canParse(text) ? new URL(text).hostname : ''
  if (host === '' || isIP(host) !== 0) throw refusal(entry, 'is no host, address or network')
  return host.replace(/\.$/, '')
}

function refusal(entry: string, rule: string): Error {
  return new Error(`webhooks.allow '${entry}': ${rule}`)
}
