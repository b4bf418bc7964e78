/** The gate's policy, built from the settings, and the warnings about it at the start. */

import { type CheckSetting, checks } from '../domain/checks.js'
import { type CheckPolicy, checkNames, type Policy, toShadowPolicy } from '../domain/decision.js'
import type { Instant } from '../domain/time/clock.js'
import { formatInstant, msPerDay } from '../domain/time/dates.js'

/** The settings of one check that affect decisions. */
export interface CheckPolicySettings {
  readonly mode: 'enforce' | 'shadow'
  readonly onUnknown: 'block' | 'allow'
  readonly reason?: string | undefined
  readonly until?: Instant | undefined
  readonly staleForMs?: number | undefined
}

/** The settings `policy`. */
export type PolicySettings = Readonly<Record<CheckSetting, CheckPolicySettings>>

/** The settings that say what a finding does to a call. */
export interface AllPolicySettings {
  readonly policy: PolicySettings
  readonly gate: { readonly shadow: ShadowSettings }
}

/** Which calls are only measured: every check is in shadow mode for them. */
interface ShadowSettings {
  readonly all: boolean
  /** Account ids. */
  readonly accounts: readonly string[]
  readonly trunks: readonly string[]
}

export function buildPolicy({ policy: settings, gate }: AllPolicySettings): Policy {
  const entries = checkNames.map((name) => [name, buildCheckPolicy(settings[checks[name].setting])])
  const policy: Policy = Object.fromEntries(entries)
  return gate.shadow.all ? toShadowPolicy(policy) : policy
}

/** Unknown is allowed only with both a reason and an end. */
function buildCheckPolicy({ mode, onUnknown, reason, until }: CheckPolicySettings): CheckPolicy {
  const isAllowed = onUnknown === 'allow' && reason !== undefined && until !== undefined
  return isAllowed ? { mode, allowUnknown: { reason, until } } : { mode }
}

/** An exception that ends later is probably meant to be permanent. */
const maxUsualExceptionMs = 31 * msPerDay

/** A line for each setting weaker than the strictest policy, and for each exception that ended. */
export function listPolicyWarnings(
  { policy: settings, gate: { shadow } }: AllPolicySettings,
  now: Instant,
): readonly string[] {
  const policy = buildPolicy({ policy: settings, gate: { shadow: { ...shadow, all: false } } })
  const lines = checkNames.flatMap((check) => {
    const name = checks[check].setting
    const warnings = [
      ...listCheckWarnings(policy[check], now),
      ...listStaleWarnings(settings[name]),
    ]
    return warnings.map((warning) => `policy.${name}: ${warning}`)
  })
  const isAllShadow = shadow.all || checkNames.every((check) => policy[check].mode === 'shadow')
  if (isAllShadow) {
    return [...lines, 'policy: every check is in shadow; no number of the plan is blocked']
  }
  const scopes = [
    ...shadow.accounts.map((account) => `gate.shadow.accounts: calls of account ${account}`),
    ...shadow.trunks.map((trunk) => `gate.shadow.trunks: calls on trunk ${trunk}`),
  ]
  return [...lines, ...scopes.map((scope) => `${scope} are not blocked by any check`)]
}

function listCheckWarnings({ mode, allowUnknown }: CheckPolicy, now: Instant): readonly string[] {
  const shadow = mode === 'shadow' ? ['in shadow; its findings block nothing'] : []
  if (allowUnknown === undefined) return shadow
  const { reason, until } = allowUnknown
  const end = formatInstant(until)
  if (now >= until) {
    return [...shadow, `unknown blocks again since ${end}; it was allowed for: ${reason}`]
  }
  const far = until - now > maxUsualExceptionMs ? ' (more than a month ahead)' : ''
  return [...shadow, `unknown is allowed until ${end}${far}: ${reason}`]
}

function listStaleWarnings({ staleForMs = 0 }: CheckPolicySettings): readonly string[] {
  if (staleForMs === 0) return []
  const seconds = Math.ceil(staleForMs / 1_000)
  return [
    `an answer may permit for ${seconds} s past its maximum age while its source does not answer`,
  ]
}
