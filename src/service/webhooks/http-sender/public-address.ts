/**
 * Determines which IP addresses are public. All others lead to this machine, to its network or nowhere;
 * they are listed in the IANA special-purpose registries (RFC 6890 and its updates). In IPv6, only
 * allocated global unicast is treated as public, so unknown ranges are not.
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** A network in CIDR form, `address/bits`. */
export type Network = readonly [address: string, bits: number]

const specialNetworksIPv4: readonly Network[] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared by carriers; metadata of one cloud
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // formally public, but answered by the host of one cloud's machines
  ['169.254.0.0', 16], // link-local; metadata of most clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // relays of 6to4
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
]

const globalUnicastIPv6: Network = ['2000::', 3]

const specialNetworksIPv6: readonly Network[] = [
  ['2001::', 23], // protocol assignments, Teredo among them
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, which holds an IPv4 address
  ['3fff::', 20], // documentation
]

/** The last 32 bits are the IPv4 address of the destination. */
const ipv4EmbeddingNetworks: readonly Network[] = [
  ['::ffff:0:0', 96], // IPv4-mapped: the system connects over IPv4
  ['64:ff9b::', 96], // translated by NAT64
]

export function createBlockList(networks: readonly Network[]): BlockList {
  const list = new BlockList()
  for (const [address, bits] of networks) list.addSubnet(address, bits, getAddressFamily(address))
  return list
}

const special = createBlockList([...specialNetworksIPv4, ...specialNetworksIPv6])
const globalUnicast = createBlockList([globalUnicastIPv6])
const ipv4Embedding = createBlockList(ipv4EmbeddingNetworks)

/** Whether `address`, in any form that node:net accepts, is on the public internet. */
export function isPublicAddress(address: string): boolean {
  const reached = normalizeAddress(address)
  if (isIPv4(reached)) return !special.check(reached, 'ipv4')
  if (!isIPv6(reached)) return false
  return globalUnicast.check(reached, 'ipv6') && !special.check(reached, 'ipv6')
}

/**
 * The address that a connection really goes to: without the zone id, and the embedded IPv4 address if
 * there is one. Text that is not an address is returned unchanged.
 */
export function normalizeAddress(address: string): string {
  const bare = address.replace(/%.*$/s, '')
  if (!isIPv6(bare) || !ipv4Embedding.check(bare, 'ipv6')) return bare
  const [high, low] = parseIPv6Groups(bare).slice(-2)
  return [high, low].flatMap((group = 0) => [group >> 8, group & 0xff]).join('.')
}

export function getAddressFamily(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6'
}

/** The eight groups of an IPv6 address. */
function parseIPv6Groups(address: string): readonly number[] {
  // The URL parser normalizes the address, with a dotted ending converted to hexadecimal.
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const read = (text: string) =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  const [first, last] = [read(head), read(tail)]
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last]
}
