/** Warming endpoint -> method of the warmer. */
import { requireScopeAllowed } from '../api/key-limits.js'
import { type Route, route } from '../api/route.js'
import {
  mostRefusedShown,
  readWarming,
  startWarming,
  stopWarming,
  type WarmBody,
  type WarmFields,
  type WarmStartedBody,
} from '../api/warm.js'
import type { Caller } from '../domain/caller.js'
import { formatInstant } from '../domain/clock.js'
import { AppError } from '../errors.js'
import type { Warming, WarmProgress } from '../sources/warmer.js'
import { readWarmNumbers } from './warm-numbers.js'

export interface WarmRoutesOptions {
  /** The operator's own, as the gate has them. */
  readonly serviceCodes: ReadonlySet<string>
}

export function warmRoutes(
  warmer: Pick<Warming, 'start' | 'find' | 'stop'>,
  options: WarmRoutesOptions,
): readonly Route[] {
  const started = async ({ accountId }: Caller, asked: WarmFields): Promise<WarmStartedBody> => {
    const { projectId, campaignId, keepForMs } = asked
    const read = await readWarmNumbers(asked.numbers, { ...options, mostRefused: mostRefusedShown })
    const { numbers, refused, refusedCount } = read
    const job = warmer.start({ accountId, numbers, projectId, campaignId, keepForMs })
    return { ...bodyOf(job), refused, refusedCount }
  }
  /** Throws for a job of another account, and for one of a project that the key may not name. */
  const found = (caller: Caller, id: string): WarmProgress => {
    const job = warmer.find(caller.accountId, id)
    if (!job) throw new AppError('not-found', `id '${id}': no warming of this account has it`)
    requireScopeAllowed(caller, job.scope)
    return job
  }
  return [
    route(startWarming, started),
    route(readWarming, (caller, { id }) => bodyOf(found(caller, id))),
    route(stopWarming, (caller, { id }) => {
      const job = found(caller, id)
      return bodyOf(warmer.stop(caller.accountId, id) ?? job)
    }),
  ]
}

function bodyOf({ scope: _, startedAt, keptUntil, ...progress }: WarmProgress): WarmBody {
  return {
    ...progress,
    startedAt: formatInstant(startedAt),
    keptUntil: formatInstant(keptUntil),
  }
}
