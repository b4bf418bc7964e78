/** The rules of a call, in the order of their findings. One that has its own file needs a line here, and nothing else. */
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

/** By what the call says. After a denial nothing is looked up, and no other rule is applied. */
export const firstRule = keyOfCallRule

/** By what is looked up. */
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

/** By what is counted, once all else is judged. */
export const countedRules: readonly Rule[] = [attemptsRule, keyCountsRule]

export const allRules: readonly Rule[] = [firstRule, ...rules, ...countedRules]
