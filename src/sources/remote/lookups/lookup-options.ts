/** The options of a lookup provider, and the limits that follow from them. */
import type { Release } from '../../../domain/lookups.js'
import type { Instant } from '../../../domain/time/clock.js'
import type { ProviderBaseOptions, ProviderObserver, ProviderOptions } from '../provider-options.js'

/** The names of the questions in logs and metrics. */
export const lookupNames = [
  'identity',
  'line-status',
  'res-or-business',
  'reassigned',
  'labels',
] as const
export type LookupName = (typeof lookupNames)[number]

export interface LookupProviderOptions
  extends Pick<
    ProviderBaseOptions,
    'name' | 'credentials' | 'clock' | 'timers' | 'random' | 'log' | 'transport' | 'budget'
  > {
  /** Base of every path of the API; does not end with a slash. */
  readonly baseUrl: string
  /** The token endpoint, path included. */
  readonly authUrl?: string | undefined
  /** Maximum time of one lookup, including waiting and retries. */
  readonly timeoutMs: number
  /** Limit per kind of lookup in any minute. */
  readonly requestsPerMinute: number
  /** How many servers keep to the limits together. */
  readonly servers: number
  /** How long a fact is cached. */
  readonly keepMs: number
  /** The release of the database of reassigned numbers that answers at an instant. */
  readonly findRelease: (at: Instant) => Release
  readonly observer: ProviderObserver<LookupName>
}

/** The published limit of all reputation endpoints together. */
const maxReputationPerMinute = 100
/** The limit for adding numbers to the monitor; its other endpoints accept more. */
const maxLabelsPerRequest = 50
const maxReassignedPerRequest = 1_000

const limits = {
  coalesceMs: 5,
  maxQueued: 20_000,
  maxRequests: 8,
  retries: 2,
  circuitFailures: 5,
  circuitOpenMs: 5_000,
}

export function buildLookupProviderOptions({
  baseUrl,
  authUrl,
  timeoutMs,
  requestsPerMinute,
  servers,
  keepMs: _,
  findRelease: __,
  ...options
}: LookupProviderOptions): ProviderOptions<LookupName> {
  const upTo = (numbersPerRequest: number, perMinute = requestsPerMinute) => ({
    numbersPerRequest,
    requestsPerMinute: Math.floor(perMinute / servers),
    deadlineMs: timeoutMs,
  })
  return {
    ...options,
    limits,
    addresses: {
      baseUrl,
      rpcUrl: baseUrl,
      monitorUrl: baseUrl,
      authUrl: authUrl ?? `${baseUrl}/oauth/token`,
    },
    questions: {
      identity: upTo(1),
      'line-status': upTo(1),
      'res-or-business': upTo(1),
      reassigned: upTo(maxReassignedPerRequest),
      labels: upTo(maxLabelsPerRequest, Math.min(requestsPerMinute, maxReputationPerMinute)),
    },
  }
}
