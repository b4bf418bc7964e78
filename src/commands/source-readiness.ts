/** What an operator is told of the source: at the start, and by `/readyz`. */
import type { Callgate } from '../compose.js'
import type { Settings } from '../config.js'
import type { ReadinessCheck } from '../http/ops.js'

/**
 * Names the questions that a provider is not asked for now. Always ready: an outage of a provider
 * is no fault of this instance, and another one would have the same provider.
 */
export function sourceReadiness({ remote }: Callgate): readonly ReadinessCheck[] {
  if (!remote) return []
  return [
    {
      name: 'source',
      check: () => ({
        ready: true,
        detail: remote.providers.map(({ name, circuits }) => describe(name, circuits())).join('; '),
      }),
    },
  ]
}

function describe(
  name: string,
  circuits: readonly {
    readonly question: string
    readonly open: boolean
    readonly detail?: string
  }[],
): string {
  const open = circuits.filter((circuit) => circuit.open)
  if (open.length === 0) return `${name} is asked`
  const why = open.map(({ question, detail }) => `${question} (${detail ?? 'failing'})`)
  return `${name} is not asked for ${why.join(', ')}`
}

/** A line for each address over which a key would travel readable. */
export function sourceWarnings({ source }: Settings): readonly string[] {
  if (source.kind !== 'remote') return []
  return [source.provider, source.secondProvider].flatMap(
    ({ name, baseUrl, rpcUrl, monitorUrl, authUrl }) => {
      const readable = [baseUrl, rpcUrl, monitorUrl, authUrl].filter(isReadable)
      return readable.map((url) => `${name} is asked without TLS at ${url}: its key can be read`)
    },
  )
}

const ownHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

function isReadable(url: string | undefined): boolean {
  if (url === undefined) return false
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !ownHosts.has(hostname)
}
