/** How often a number may be called, how often it was, and when it may be called again, by the limits on attempts alone. */
import type { AttemptLimitsBody, AttemptLimitsRequest } from '../../api/gate/attempts.js'
import type { Caller } from '../../domain/caller.js'
import type { CallRequest } from '../../domain/decision.js'
import type { FrequencyCount } from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import { AppError } from '../../errors.js'
import { buildPolicy } from '../../gate/build-policy.js'
import { createAttempt } from '../../gate/count-attempts.js'
import { findFrequency } from '../../judge/rules/attempts.js'
import { readFrequencyCounts } from '../../service/accounts/frequency-counts.js'
import { createReadLog } from '../../service/audit/read-log.js'
import { readAttempts } from '../../service/numbers/number-history.js'
import { projectNotFound } from '../../service/projects/project-scope.js'
import type { Callgate } from '../callgate.js'

type Deps = Pick<Callgate, 'settings' | 'runtime' | 'storage' | 'projects' | 'viewOf' | 'pauses'>

/**
 * Rejects with `invalid-request` for an unknown project, and with `not-available` if the read cannot be recorded, or at an edge, whose
 * center counts.
 */
export async function readAttemptLimits(
  deps: Deps,
  caller: Caller,
  request: AttemptLimitsRequest,
): Promise<AttemptLimitsBody> {
  const { storage, runtime, projects } = deps
  const { number, kind, purpose, projectId } = request
  const scope = await projects.resolve(caller.accountId, { projectId })
  if (scope === undefined) throw projectNotFound('projectId', projectId ?? '')
  const now = runtime.clock.now()
  const enforced = await isEnforced(deps, caller.accountId)
  const call = toCall(caller, request)
  const limits = listLimits(deps, call, { number, purpose, now })
  const lasting = new Set(
    listLimits(deps, call, { number, purpose, now, hasPermission: true }).map(({ id }) => id),
  )
  const toBody = ({ limit, ...count }: FrequencyCount, isCounted: boolean) => ({
    ...{ id: limit.id, citation: limit.citation, calls: limit.calls },
    seconds: limit.days ? null : limit.periodMs / 1_000,
    days: limit.days ?? null,
    ...{ per: limit.per, counts: limit.counts },
    liftedByPermission: !lasting.has(limit.id),
    counted: isCounted ? count.attempts.length : null,
    freeAt: toText(count.opensAt),
  })
  const answer = { asOf: formatInstant(now), kind, purpose, enforced }
  if (number === undefined) {
    const shown = limits.map((limit) => toBody({ limit, attempts: [] }, false))
    return { ...answer, number: null, limits: shown, freeAt: null, attempts: null }
  }
  if (storage.traits.isCopy)
    throw new AppError('not-available', 'This is an edge; its center counts the calls')
  const attempt = createAttempt(call, { decisionId: '', number, purpose, at: now })
  const counts = await readFrequencyCounts(storage.reads, attempt, limits)
  const attempts = await readAttempts(storage.reads, { caller, number, scope }, now)
  await createReadLog(storage, runtime.clock)(caller, {
    what: 'attempts.read',
    subject: { kind: 'number', id: number },
    rows: attempts.latest.length,
    purpose: request.reason,
  })
  const openings = counts.flatMap(({ opensAt }) => opensAt ?? [])
  return {
    ...answer,
    number,
    limits: counts.map((count) => toBody(count, true)),
    freeAt: openings.length === 0 ? null : formatInstant(Math.max(...openings)),
    attempts,
  }
}

function toCall(
  { accountId, keyId }: Caller,
  { number, kind, projectId, personId }: AttemptLimitsRequest,
): CallRequest {
  const call = { accountId, keyId, dialed: number ?? '', callKind: kind, via: 'http' } as const
  return { ...call, projectId, personId }
}

/** As the gate finds them for a call that nothing else blocks. */
function listLimits(
  { settings, viewOf }: Deps,
  call: CallRequest,
  {
    number,
    purpose,
    now,
    hasPermission = false,
  }: Pick<AttemptLimitsRequest, 'number' | 'purpose'> & {
    readonly now: Instant
    readonly hasPermission?: boolean
  },
) {
  const { law, numberingPlan } = viewOf(call.accountId)
  const facts = number === undefined ? undefined : numberingPlan.lookup(number)
  const places = facts?.status === 'ok' ? facts.place.candidates : []
  const { callKind } = call
  const called = { callKind, purpose, number: number ?? '', places, hasPermission }
  const rules = { settings: settings.gate, law }
  return findFrequency(call, called, { rules, now }).frequency
}

async function isEnforced({ settings, pauses }: Deps, accountId: string): Promise<boolean> {
  if (buildPolicy(settings).attempts.mode === 'shadow') return false
  if (settings.gate.shadow.accounts.includes(accountId)) return false
  return !(await pauses.read()).has(`check:attempts:${accountId}`)
}

const toText = (at: Instant | undefined) => (at === undefined ? null : formatInstant(at))
