/** Known TCPA litigators are not called; consent does not override this. */
import type { Check } from './check.js'

export const litigatorCheck: Check<'litigator'> = {
  name: 'litigator',
  question: 'litigator',
  judge({ value: { isLitigator, list } }) {
    const lists = list && [list]
    if (isLitigator) {
      const detail = 'linked to a known TCPA litigator'
      return { verdict: 'deny', reason: 'litigator', detail, lists }
    }
    return { verdict: 'pass', reason: 'permitted', detail: 'not on the litigator list', lists }
  },
}
