/** The gate's policy, built from the settings, and the warnings about it at the start. */

import { type CheckName, type CheckPolicy, checkNames, type Policy } from '../domain/decision.js'
import type { Instant } from '../domain/time/clock.js'
import { formatInstant, msPerDay } from '../domain/time/dates.js'

/** The settings of one check that affect decisions. */
export interface CheckPolicySettings {
  readonly mode: 'enforce' | 'shadow'
  readonly onUnknown: 'block' | 'allow'
  readonly reason?: string | undefined
  readonly until?: Instant | undefined
  readonly staleForMs?: number
}

/** The settings `policy`. */
export interface PolicySettings {
  readonly litigator: CheckPolicySettings
  readonly internalDnc: CheckPolicySettings
  readonly permission: CheckPolicySettings
  readonly callingHours: CheckPolicySettings
}

export function buildPolicy(settings: PolicySettings): Policy {
  return {
    litigator: buildCheckPolicy(settings.litigator),
    'internal-dnc': buildCheckPolicy(settings.internalDnc),
    permission: buildCheckPolicy(settings.permission),
    'calling-hours': buildCheckPolicy(settings.callingHours),
  }
}

/** Unknown is allowed only with both a reason and an end. */
function buildCheckPolicy({ mode, onUnknown, reason, until }: CheckPolicySettings): CheckPolicy {
  const isAllowed = onUnknown === 'allow' && reason !== undefined && until !== undefined
  return isAllowed ? { mode, allowUnknown: { reason, until } } : { mode }
}

const settingNames: Readonly<Record<CheckName, keyof PolicySettings>> = {
  litigator: 'litigator',
  'internal-dnc': 'internalDnc',
  permission: 'permission',
  'calling-hours': 'callingHours',
}

/** An exception that ends later is probably meant to be permanent. */
const maxUsualExceptionMs = 31 * msPerDay

/** A line for each setting weaker than the strictest policy, and for each exception that ended. */
export function listPolicyWarnings(settings: PolicySettings, now: Instant): readonly string[] {
  const policy = buildPolicy(settings)
  const lines = checkNames.flatMap((check) => {
    const name = settingNames[check]
    const warnings = [
      ...listCheckWarnings(policy[check], now),
      ...listStaleWarnings(settings[name]),
    ]
    return warnings.map((warning) => `policy.${name}: ${warning}`)
  })
  const isAllShadow = checkNames.every((check) => policy[check].mode === 'shadow')
  return isAllShadow
    ? [...lines, 'policy: every check is in shadow; no number of the plan is blocked']
    : lines
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
