/** Which of a provider's addresses a path of the API belongs to (spec, "Addresses"). */
import type { ProviderAddresses } from './provider-options.js'

/** The whole address of a path; letter case does not matter. */
export function addressOf(path: string, addresses: ProviderAddresses): string {
  const lower = path.toLowerCase()
  if (lower.startsWith('/app/main/rpc/')) return addresses.rpcUrl + path
  if (lower.startsWith('/v1.4/reputation')) return addresses.monitorUrl + path
  return addresses.baseUrl + path
}
