/** Policy as the gate applies it, from the settings, and what the start has to say about it. */
import { formatInstant, type Instant } from '../domain/clock.js'
import { type CheckName, type CheckPolicy, checkNames, type Policy } from '../domain/decision.js'

/** The settings of one check, as far as decisions follow from them. */
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

/** An end that is farther away is probably none. */
const longLeaveMs = 31 * 86_400_000

/** A line for each place where policy is weaker than the strictest, and for each end that passed. */
export function policyWarnings(settings: PolicySettings, now: Instant): readonly string[] {
  const policy = policyOf(settings)
  const lines = checkNames.flatMap((check) => {
    const name = settingNames[check]
    const warnings = [...warningsOf(policy[check], now), ...staleWarnings(settings[name])]
    return warnings.map((warning) => `policy.${name}: ${warning}`)
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
  if (now >= until) {
    return [...shadow, `unknown blocks again since ${end}; it was allowed for: ${reason}`]
  }
  const far = until - now > longLeaveMs ? ' (more than a month ahead)' : ''
  return [...shadow, `unknown is allowed until ${end}${far}: ${reason}`]
}

function staleWarnings({ staleForMs = 0 }: CheckPolicySettings): readonly string[] {
  if (staleForMs === 0) return []
  const seconds = Math.ceil(staleForMs / 1_000)
  return [`an answer may permit for ${seconds} s past its age while its source is silent`]
}
