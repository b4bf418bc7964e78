/** Whether frequency limits permit another call. */
import type { CallRequest, Finding, Ruling } from '../../domain/decision.js'
import type { CallToCount, FrequencyCount, FrequencyLimit } from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import { prepareExceptions, sayExceptions } from '../exceptions.js'
import type { HouseLimit, Judged, LiftedLimit, LimitsOfCall, Rule } from '../judged.js'
import type { Law } from '../law.js'
import { type ExceptionInUse, isInScope } from '../scope.js'
import { sayUncounted } from './key.js'

interface CountingRules {
  readonly settings: {
    readonly houseLimits: readonly HouseLimit[]
    readonly exceptions: readonly ExceptionInUse[]
  }
  readonly law: Pick<Law, 'frequency' | 'exceptions'>
}

/** The limits that count the call; `undefined` if there are none, or the call is blocked for good. */
export function findLimits(
  about: Judged,
  findings: readonly Finding[],
  ruling: Pick<Ruling, 'decision' | 'nextAllowedAt'>,
): LimitsOfCall | undefined {
  const { call, number, law, settings, policy, derived } = about
  const { callKind, mandate, at } = call
  const isAllowed = ruling.decision === 'allow'
  if (!isAllowed && ruling.nextAllowedAt === undefined) return undefined
  const key = isAllowed && at === undefined ? mandate?.attempts : undefined
  const permission = findings.find(({ check }) => check === 'permission')
  const { hasPermission = false, relationship } = permission ?? {}
  const { purpose } = about.purpose
  const { places } = derived
  const called = { callKind, purpose, number, places, hasPermission, relationship }
  const { now } = about.times
  const { frequency, lifted } = findFrequency(call, called, { rules: { settings, law }, now })
  if (key === undefined && frequency.length === 0 && lifted.length === 0) return undefined
  return { key, frequency, lifted, isShadowed: policy.attempts.mode === 'shadow' }
}

/** The limits on how often a person is called: those of the law and the operator's own. */
export function findFrequency(
  request: CallRequest,
  called: CallToCount & Pick<Finding, 'relationship'>,
  { rules, now }: { readonly rules: CountingRules; readonly now: Instant },
): Pick<LimitsOfCall, 'frequency' | 'lifted'> {
  const { at = now } = request
  const found = rules.law.frequency.find(called, at)
  const lifted = found.length === 0 ? noneLifted : findLifted(request, called, { found, rules, at })
  const lawful =
    lifted.length === 0
      ? found
      : found.filter((limit) => lifted.every((one) => one.limit !== limit))
  const own =
    called.purpose === 'emergency' || rules.settings.houseLimits.length === 0
      ? noLimits
      : rules.settings.houseLimits.filter((limit) => isInScope(request, limit) !== false)
  const frequency = own.length === 0 ? lawful : [...lawful, ...own.map(toFrequencyLimit)]
  return { frequency, lifted }
}

const noneLifted: readonly LiftedLimit[] = []
const noLimits: readonly HouseLimit[] = []

/** The limits waived by an exception that the operator has enabled. */
function findLifted(
  request: CallRequest,
  { relationship }: Pick<Finding, 'relationship'>,
  {
    found,
    rules,
    at,
  }: {
    readonly found: readonly FrequencyLimit[]
    readonly rules: CountingRules
    readonly at: Instant
  },
): readonly LiftedLimit[] {
  const findExceptions = prepareExceptions(request, rules, at)
  if (!findExceptions || !relationship) return noneLifted
  const applied = findExceptions('cap', relationship)
  return found.flatMap((limit) => {
    const by = applied.find((one) => rules.law.exceptions.liftsCap(one, limit.id))
    return by ? [{ limit, by }] : []
  })
}

function toFrequencyLimit({ calls, seconds }: HouseLimit): FrequencyLimit {
  return {
    id: 'house',
    calls,
    periodMs: seconds * 1000,
    per: 'person',
    isPerSubject: false,
    counts: 'all',
    purposes: undefined,
    citation: 'gate.houseLimits',
  }
}

export const attemptsRule = {
  id: 'attempts',
  check: 'attempts',
  judge({ ledger, limits, times: { now } }: Judged) {
    if (ledger === undefined || ledger === 'not-asked' || limits === undefined) return undefined
    const { frequency, lifted } = limits
    if (frequency.length === 0 && lifted.length === 0) return undefined
    if ('failure' in ledger) return createFinding(sayUncounted(ledger.failure), now)
    return judgeCounts(findCounts(frequency, ledger.counts, now), lifted, now)
  },
} as const satisfies Rule

/**
 * The count of each limit. If a full limit has no known opening, it opens after its period at the latest.
 */
function findCounts(
  limits: readonly FrequencyLimit[],
  counted: readonly FrequencyCount[],
  at: Instant,
): readonly FrequencyCount[] {
  const left = [...counted]
  return limits.map((limit) => {
    const index = left.findIndex((count) => count.limit.id === limit.id)
    const [known] = index === -1 ? [] : left.splice(index, 1)
    const { attempts = [], opensAt = at + limit.periodMs } = known ?? {}
    return attempts.length < limit.calls ? { limit, attempts } : { limit, attempts, opensAt }
  })
}

function judgeCounts(
  counts: readonly FrequencyCount[],
  lifted: readonly LiftedLimit[],
  at: Instant,
): Finding {
  const full = counts.filter(({ opensAt }) => opensAt !== undefined)
  const says = [
    ...(full.length > 0 ? full : counts).map(sayCount),
    ...lifted.flatMap(({ limit: { citation }, by }): readonly Said[] => [
      { code: 'limit-lifted', params: { citation } },
      ...sayExceptions([by]),
    ]),
  ]
  if (full.length === 0) return createFinding({ verdict: 'pass', reason: 'permitted', says }, at)
  const denial = { verdict: 'deny', reason: 'too-many-attempts', says } as const
  return createFinding({ ...denial, opensAt: findOpening(counts) }, at)
}

/** When all limits have room; `undefined` if they have. */
function findOpening(counts: readonly FrequencyCount[]): Instant | undefined {
  const openings = counts.flatMap(({ opensAt }) => opensAt ?? [])
  return openings.length === 0 ? undefined : Math.max(...openings)
}

function sayCount({ limit, attempts, opensAt }: FrequencyCount): Said {
  const { calls, citation, periodMs, days } = limit
  const params = {
    attempts: attempts.length,
    calls,
    counts: limit.counts === 'conversation' ? ('conversations' as const) : ('calls' as const),
    ...(days ? { days: days.count } : { seconds: periodMs / 1000 }),
    citation,
    until: opensAt === undefined ? undefined : formatInstant(opensAt),
  }
  return { code: 'limit-count', params }
}

type Judgment = Pick<Finding, 'verdict' | 'reason' | 'says' | 'opensAt'>

function createFinding(judgment: Judgment, at: Instant): Finding {
  const holdsUntil = Number.POSITIVE_INFINITY
  return { check: 'attempts', source: 'attempts', asOf: at, holdsUntil, ...judgment }
}

/** Two openings of one rule follow each other by a night or a holiday; the checks agree after a few. */
const maxOpenings = 10

/**
 * The first instant, from `at` on, at which every check passes; `undefined` if there is none soon. `ruleAt` is how the call
 * would be ruled at an instant.
 */
export function findNextAllowedAt(
  at: Instant,
  ruleAt: (at: Instant) => Ruling,
): Instant | undefined {
  let next = at
  for (let opening = 0; opening < maxOpenings; opening += 1) {
    const { decision, nextAllowedAt } = ruleAt(next)
    if (decision === 'allow') return next
    if (nextAllowedAt === undefined || nextAllowedAt <= next) return undefined
    next = nextAllowedAt
  }
  return undefined
}
