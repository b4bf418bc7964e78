/** Whether the subject that a call names is one of its account; that of a call about a debt is the debt. */
import type { Finding } from '../../domain/decision.js'
import type { Said } from '../../domain/words/words.js'
import type { Judged, Rule } from '../judged.js'
import { isInScope } from '../scope.js'

type AboutSubject = Pick<Judged, 'call' | 'purpose' | 'now'> & {
  readonly settings: Pick<Judged['settings'], 'subjects'>
}

export const subjectRule: Rule<AboutSubject> = {
  judge({ call, purpose, settings: { subjects }, now: asOf }): Finding | undefined {
    const { subject } = call
    if (subject === undefined || purpose === 'debt-collection') return undefined
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
      ...{ check: 'attempts', source: 'attempts', asOf, holdsUntil },
      ...{ verdict: 'deny', reason: 'unknown-subject', says: [said] },
    }
  },
}
