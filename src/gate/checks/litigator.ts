/** Known TCPA litigators are not called; consent does not lift this. */
import { type LitigatorStatus, when } from '../../domain/compliance.js'
import { type Check, findingOf, type Judged } from './check.js'

export const litigatorCheck: Check = {
  name: 'litigator',
  run: ({ askedAt, litigator }) =>
    when(litigator(), (asked) =>
      findingOf({ check: 'litigator', askedAt }, asked, ({ value }) => judge(value)),
    ),
}

function judge({ isLitigator, list }: LitigatorStatus): Judged {
  const lists = list && [list]
  if (isLitigator) {
    const detail = 'linked to a known TCPA litigator'
    return { verdict: 'deny', reason: 'litigator', detail, lists }
  }
  return { verdict: 'pass', reason: 'permitted', detail: 'not on the litigator list', lists }
}
