/** Known TCPA litigators are not called; consent does not lift this. */
import { when } from '../../domain/compliance.js'
import { type Check, findingOf, type Judged } from './check.js'

const listed: Judged = {
  verdict: 'deny',
  reason: 'litigator',
  detail: 'linked to a known TCPA litigator',
}
const clear: Judged = { verdict: 'pass', reason: 'permitted', detail: 'not on the litigator list' }

export const litigatorCheck: Check = {
  name: 'litigator',
  run: ({ askedAt, litigator }) =>
    when(litigator(), (asked) =>
      findingOf({ check: 'litigator', askedAt }, asked, ({ value }) =>
        value.isLitigator ? listed : clear,
      ),
    ),
}
