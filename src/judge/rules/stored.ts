/** The rules on what is stored about the calls of an account. */
import type { Finding } from '../../domain/decision.js'
import { formatDay, toUtcDay } from '../../domain/time/dates.js'
import type { Judged, Rule } from '../judged.js'
import { abandonmentRule } from './abandonment.js'
import { callerIdRule } from './caller-id.js'
import { keyRegionsRule } from './key.js'
import { pausesRule } from './pauses.js'
import { subjectRule } from './subject.js'

/** The findings about the number, after that on the limits of the key and before those on what else is stored. */
export function judgeStored(checked: readonly Finding[], about: Judged): readonly Finding[] {
  const key = pausesRule.judge(about) ?? keyRegionsRule.judge(about)
  const hold = judgeHold(about)
  const judged = hold ? checked.map((one) => (one.check === hold.check ? hold : one)) : checked
  let findings = key ? [key, ...judged] : judged
  for (const rule of lastRules) {
    const found = rule.judge(about)
    if (found) findings = [...findings, found]
  }
  return findings
}

const lastRules: readonly Rule[] = [subjectRule, callerIdRule, abandonmentRule]

/** Replaces the finding on the internal list, since the number may belong on the list. */
function judgeHold({ call: { accountId }, number, stored, now }: Judged): Finding | undefined {
  const { pauses } = stored
  if (pauses === undefined || pauses === 'unread') return undefined
  const held = pauses.find(({ subject }) => subject === `held:${accountId}:${number}`)
  if (held === undefined) return undefined
  const { pausedAt, pausedBy: platform } = held
  const params = { on: formatDay(toUtcDay(pausedAt)), platform }
  return {
    ...{
      check: 'internal-dnc',
      source: 'platform-events',
      verdict: 'deny',
      reason: 'internal-dnc',
    },
    ...{ says: [{ code: 'held-by-event', params }] },
    ...{ asOf: now, holdsUntil: Number.POSITIVE_INFINITY },
  }
}
