/** Reports on the remote source for operators: warnings at the start, and a check in `/readyz`. */
import type { Callgate } from '../../app/callgate.js'
import type { Settings } from '../../config/settings.js'
import type { ReadinessCheck } from '../../http/health.js'

/**
 * Lists the questions whose circuit breaker is open. Always ready, since an outage of a provider is not
 * a fault of this instance and affects every other instance too.
 */
export function listSourceReadinessChecks({ remote }: Callgate): readonly ReadinessCheck[] {
  if (!remote) return []
  return [
    {
      name: 'source',
      check: () => {
        const states = remote.providers.map(({ name, circuits }) => {
          const all = circuits()
          return { name, circuits: all, isAsked: !all.some(({ open }) => open) }
        })
        return {
          ready: true,
          impaired: states.some(({ isAsked }) => !isAsked),
          detail: states
            .filter(({ name, isAsked }) => !isLogin(name) || !isAsked)
            .map(({ name, circuits }) => describeCircuits(name, circuits))
            .join('; '),
        }
      },
    },
  ]
}

/** Those of accounts are named only if they are not asked. */
const isLogin = (name: string) => name.includes('/')

function describeCircuits(
  name: string,
  circuits: readonly {
    readonly question: string
    readonly open: boolean
    readonly detail?: string
  }[],
): string {
  const open = circuits.filter((circuit) => circuit.open)
  if (open.length === 0) return `${name} is in use`
  const why = open.map(({ question, detail }) => `${question} (${detail ?? 'failing'})`)
  return `${name} is not asked for ${why.join(', ')}`
}

/** One warning per address to which a key would be sent unencrypted. */
export function listSourceWarnings({ source }: Settings): readonly string[] {
  if (source.kind !== 'remote') return []
  return [source.provider, source.secondProvider].flatMap(
    ({ name, baseUrl, rpcUrl, monitorUrl, authUrl }) => {
      const unencrypted = [baseUrl, rpcUrl, monitorUrl, authUrl].filter(isUnencrypted)
      return unencrypted.map(
        (url) => `${name} is used without TLS at ${url}, so its key can be intercepted`,
      )
    },
  )
}

const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

function isUnencrypted(url: string | undefined): boolean {
  if (url === undefined) return false
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !loopbackHosts.has(hostname)
}
