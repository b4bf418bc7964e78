/** What the program tells the client of a provider of look-ups and labels. */
import type { ProviderBasics, ProviderOptions, ProviderWatch } from './provider-options.js'

/** What is asked, as logs and metrics name it. */
export const lookupNames = [
  ...(['identity', 'line-status', 'res-or-business'] as const),
  ...(['reassigned', 'labels'] as const),
] as const
export type LookupName = (typeof lookupNames)[number]

export interface LookupProviderOptions
  extends Pick<
    ProviderBasics,
    'name' | 'credentials' | 'clock' | 'timers' | 'random' | 'log' | 'transport'
  > {
  /** Of every path of the API; does not end with a slash. */
  readonly baseUrl: string
  /** Where tokens are had, path included. */
  readonly authUrl?: string | undefined
  /** How long one look-up may take, waiting and retries included. */
  readonly timeoutMs: number
  /** Of each kind, in any minute. */
  readonly requestsPerMinute: number
  /** How long a fact is kept. */
  readonly keepMs: number
  readonly watch: ProviderWatch<LookupName>
}

/** The published limit of all reputation calls together. */
const reputationPerMinute = 100
/** Of an add to the monitor; the other calls of it take more. */
const mostLabelled = 50
const mostReassigned = 1_000

const limits = {
  ...{ coalesceMs: 5, maxQueued: 20_000, maxRequests: 8 },
  ...{ retries: 2, circuitFailures: 5, circuitOpenMs: 5_000 },
}

export const connections = limits.maxRequests * lookupNames.length + 1

export function providerOptions(options: LookupProviderOptions): ProviderOptions<LookupName> {
  const { name, baseUrl, authUrl, timeoutMs, requestsPerMinute, ...rest } = options
  const { credentials, clock, timers, random, log, watch, transport } = rest
  const upTo = (numbersPerRequest: number, perMinute = requestsPerMinute) => ({
    ...{ numbersPerRequest, requestsPerMinute: perMinute, deadlineMs: timeoutMs },
  })
  return {
    ...{ name, credentials, clock, timers, random, log, watch, transport, limits },
    addresses: {
      ...{ baseUrl, rpcUrl: baseUrl, monitorUrl: baseUrl },
      authUrl: authUrl ?? `${baseUrl}/oauth/token`,
    },
    questions: {
      identity: upTo(1),
      'line-status': upTo(1),
      'res-or-business': upTo(1),
      reassigned: upTo(mostReassigned),
      labels: upTo(mostLabelled, Math.min(requestsPerMinute, reputationPerMinute)),
    },
  }
}
