/** Policy as the gate applies it, from the settings, and what the start has to say about it. */
import { formatInstant, type Instant } from '../domain/clock.js'
import { type CheckName, type CheckPolicy, checkNames, type Policy } from '../domain/decision.js'

/** The settings of one check, as far as decisions follow from them. */
export interface CheckPolicySettings {
  readonly mode: 'enforce' | 'shadow'
  readonly onUnknown: 'block' | 'allow'
  readonly reason?: string | undefined
  readonly until?: Instant | undefined
}

/** The settings `policy`. */
export interface PolicySettings {
  readonly litigator: CheckPolicySettings
  readonly internalDnc: CheckPolicySettings
  readonly permission: CheckPolicySettings
  readonly callingHours: CheckPolicySettings
}

export function policyOf(settings: PolicySettings): Policy {
  return {
    litigator: checkPolicyOf(settings.litigator),
    'internal-dnc': checkPolicyOf(settings.internalDnc),
    permission: checkPolicyOf(settings.permission),
    'calling-hours': checkPolicyOf(settings.callingHours),
  }
}

/** Unknown is not allowed without both a reason and an end. */
function checkPolicyOf({ mode, onUnknown, reason, until }: CheckPolicySettings): CheckPolicy {
  const isAllowed = onUnknown === 'allow' && reason !== undefined && until !== undefined
  return isAllowed ? { mode, allowUnknown: { reason, until } } : { mode }
}

const settingNames: Readonly<Record<CheckName, keyof PolicySettings>> = {
  litigator: 'litigator',
  'internal-dnc': 'internalDnc',
  permission: 'permission',
  'calling-hours': 'callingHours',
}

/** A line for each place where policy is weaker than the strictest, and for each end that passed. */
export function policyWarnings(policy: Policy, now: Instant): readonly string[] {
  const lines = checkNames.flatMap((check) => {
    const setting = `policy.${settingNames[check]}`
    return warningsOf(policy[check], now).map((warning) => `${setting}: ${warning}`)
  })
  const isAllShadow = checkNames.every((check) => policy[check].mode === 'shadow')
  return isAllShadow
    ? [...lines, 'policy: every check is in shadow; no number of the plan is blocked']
    : lines
}

function warningsOf({ mode, allowUnknown }: CheckPolicy, now: Instant): readonly string[] {
  const shadow = mode === 'shadow' ? ['in shadow; its findings block nothing'] : []
  if (allowUnknown === undefined) return shadow
  const { reason, until } = allowUnknown
  const end = formatInstant(until)
  const unknown =
    now < until
      ? `unknown is allowed until ${end}: ${reason}`
      : `unknown blocks again since ${end}; it was allowed for: ${reason}`
  return [...shadow, unknown]
}
