/** Whether the subject that a call names is one of its account; that of a call about a debt is the debt. */
import type { Finding } from '../../domain/decision.js'
import type { Said } from '../../domain/words/words.js'
import type { Judged, Rule } from '../judged.js'
import { isInScope } from '../scope.js'

export const subjectRule = {
  id: 'subject',
  check: 'attempts',
  judge({ call, purpose, settings: { subjects }, times }: Judged): Finding | undefined {
    const { subject } = call
    if (subject === undefined || purpose.purpose === 'debt-collection') return undefined
    const own = subjects.filter((scope) => isInScope(call, scope) === true)
    if (own.some((row) => row.subjects.includes(subject))) return undefined
    const known = own.flatMap((row) => row.subjects)
    // Without the subject, which may say who is called: an erasure leaves what is said.
    const said: Said =
      known.length === 0
        ? { code: 'no-subjects' }
        : { code: 'subject-not-among', params: { subjects: known } }
    const holdsUntil = Number.POSITIVE_INFINITY
    return {
      ...{ check: 'attempts', source: 'attempts', asOf: times.now, holdsUntil },
      ...{ verdict: 'deny', reason: 'unknown-subject', says: [said] },
    }
  },
} as const satisfies Rule
