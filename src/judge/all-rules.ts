/** All rules, in the order of their findings. A new rule needs its file and a line here. */
import type { Rule } from './judged.js'
import { abandonmentRule } from './rules/abandonment.js'
import { attemptsRule } from './rules/attempts.js'
import { callerIdRule } from './rules/caller-id.js'
import { callingHoursRule } from './rules/calling-hours.js'
import { heldNumberRule } from './rules/held-number.js'
import { internalListRule } from './rules/internal-list.js'
import { keyCountsRule, keyOfCallRule, keyRegionsRule } from './rules/key.js'
import { litigatorRule } from './rules/litigator.js'
import { pausesRule } from './rules/pauses.js'
import { permissionRule } from './rules/permission.js'
import { reassignedRule } from './rules/reassigned.js'
import { subjectRule } from './rules/subject.js'

/** Judges the request alone. If it denies, nothing is looked up and no other rule runs. */
export const firstRule = keyOfCallRule

/** Rules over facts that are looked up. */
export const rules: readonly Rule[] = [
  keyRegionsRule,
  pausesRule,
  litigatorRule,
  internalListRule,
  heldNumberRule,
  callingHoursRule,
  permissionRule,
  reassignedRule,
  subjectRule,
  callerIdRule,
  abandonmentRule,
]

/** Rules over counts, applied after all others. */
export const countedRules: readonly Rule[] = [attemptsRule, keyCountsRule]

export const allRules: readonly Rule[] = [firstRule, ...rules, ...countedRules]
