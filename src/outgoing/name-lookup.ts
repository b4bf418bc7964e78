/**
 * Looks names up. A look-up by the system takes one of the few threads that files and all other
 * look-ups need too, and cannot be called off, so name servers that never answer would hold up the
 * whole program. Names of strangers are therefore asked of the name servers directly.
 */
import { lookup, Resolver } from 'node:dns/promises'

/** All addresses of a name; none, or a rejection, when it has none. */
export type LookUp = (host: string, signal: AbortSignal) => Promise<readonly string[]>

export interface LookUpOptions {
  /** Names an operator vouches for: these may stand in a hosts file, which only the system reads. */
  readonly isTrusted: (host: string) => boolean
  /** Name servers as `address:port`; the system's when absent. */
  readonly servers?: readonly string[]
}

const firstTryMs = 2_000
const tries = 2

export function createLookUp({ isTrusted, servers }: LookUpOptions): LookUp {
  return async (host, signal) =>
    isTrusted(host) ? await bySystem(host) : await byServers(host, signal, servers)
}

async function bySystem(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}

async function byServers(
  host: string,
  signal: AbortSignal,
  servers: readonly string[] | undefined,
): Promise<readonly string[]> {
  signal.throwIfAborted()
  const resolver = new Resolver({ timeout: firstTryMs, tries })
  if (servers) resolver.setServers(servers)
  const callOff = () => resolver.cancel()
  signal.addEventListener('abort', callOff, { once: true })
  try {
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = [four, six].flatMap((answer) =>
      answer.status === 'fulfilled' ? answer.value : [],
    )
    // A name with addresses of one family is a name like any other.
    if (found.length === 0 && four.status === 'rejected') throw four.reason
    return found
  } finally {
    signal.removeEventListener('abort', callOff)
  }
}
