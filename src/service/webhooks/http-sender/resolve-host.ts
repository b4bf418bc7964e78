/**
 * Resolves host names. A system lookup occupies one of the few threads that file access and all other
 * lookups share, and cannot be canceled, so name servers that never answer would block the whole
 * program. Names chosen by customers are therefore resolved by querying the name servers directly.
 */
import { lookup, Resolver } from 'node:dns/promises'

/** Resolves to all addresses of a name; empty or rejected if it has none. */
export type HostResolver = (host: string, signal: AbortSignal) => Promise<readonly string[]>

export interface HostResolverOptions {
  /** Whether the name is from the settings. Such names use the system lookup, which reads the hosts file. */
  readonly isTrusted: (host: string) => boolean
  /** Name servers as `address:port`; the system's when absent. */
  readonly servers?: readonly string[]
}

const firstAttemptMs = 2_000
const maxAttempts = 2

export function createHostResolver({ isTrusted, servers }: HostResolverOptions): HostResolver {
  return async (host, signal) =>
    isTrusted(host)
      ? await resolveWithSystem(host)
      : await resolveWithServers(host, signal, servers)
}

async function resolveWithSystem(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}

async function resolveWithServers(
  host: string,
  signal: AbortSignal,
  servers: readonly string[] | undefined,
): Promise<readonly string[]> {
  signal.throwIfAborted()
  const resolver = new Resolver({ timeout: firstAttemptMs, tries: maxAttempts })
  if (servers) resolver.setServers(servers)
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = [four, six].flatMap((answer) =>
      answer.status === 'fulfilled' ? answer.value : [],
    )
    // A name may have addresses of only one family.
    if (found.length === 0 && four.status === 'rejected') throw four.reason
    return found
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}
