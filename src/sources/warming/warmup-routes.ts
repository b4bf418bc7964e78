/** Binds the warming endpoints to the warmer. */
import {
  maxRefusedShown,
  readWarmupEndpoint,
  startWarmupEndpoint,
  stopWarmupEndpoint,
  type WarmupProgressBody,
  type WarmupRequestBody,
  type WarmupStartedBody,
} from '../../api/gate/warmup.js'
import { createRoute, type Route, requireScopeAllowed } from '../../api/route.js'
import type { Caller } from '../../domain/caller.js'
import type { MaybePromise } from '../../domain/compliance.js'
import { formatInstant } from '../../domain/time/dates.js'
import { AppError } from '../../errors.js'
import { readWarmupNumbers } from './read-warmup-numbers.js'
import type { WarmupRequest, WarmupService } from './warmer.js'
import type { WarmupProgress } from './warmup-job.js'

export interface WarmupRoutesOptions {
  /** The operator's own service codes, the same as for the gate. */
  readonly serviceCodes: ReadonlySet<string>
}

export function createWarmupStartRoute(
  start: (caller: Caller, request: WarmupRequest) => MaybePromise<WarmupProgress>,
  options: WarmupRoutesOptions,
): Route {
  const started = async (caller: Caller, asked: WarmupRequestBody): Promise<WarmupStartedBody> => {
    const { projectId, campaignId, keepForMs } = asked
    const read = await readWarmupNumbers(asked.numbers, { ...options, maxRefused: maxRefusedShown })
    const { numbers, refused, refusedCount } = read
    const { accountId } = caller
    const job = await start(caller, { accountId, numbers, projectId, campaignId, keepForMs })
    return { ...toWarmupBody(job), refused, refusedCount }
  }
  return createRoute(startWarmupEndpoint, started)
}

export function warmupRoutes(
  warmer: Pick<WarmupService, 'start' | 'find' | 'stop'>,
  options: WarmupRoutesOptions,
): readonly Route[] {
  /** Throws for a job of another account, and for one of a project that the key may not use. */
  const found = (caller: Caller, id: string): WarmupProgress => {
    const job = warmer.find(caller.accountId, id)
    if (!job) throw new AppError('not-found', `id '${id}': this account has no such warmup job`)
    requireScopeAllowed(caller, job.scope)
    return job
  }
  return [
    createWarmupStartRoute((_caller, request) => warmer.start(request), options),
    createRoute(readWarmupEndpoint, (caller, { id }) => toWarmupBody(found(caller, id))),
    createRoute(stopWarmupEndpoint, (caller, { id }) => {
      const job = found(caller, id)
      return toWarmupBody(warmer.stop(caller.accountId, id) ?? job)
    }),
  ]
}

function toWarmupBody({
  scope: _,
  startedAt,
  keptUntil,
  ...progress
}: WarmupProgress): WarmupProgressBody {
  return {
    ...progress,
    startedAt: formatInstant(startedAt),
    keptUntil: formatInstant(keptUntil),
  }
}
