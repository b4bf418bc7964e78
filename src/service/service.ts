/** The subjects of the compliance service, as its routes and the embedded source are handed them. */
import type { TimeLegal } from './calling-hours/time-legal-batch.js'
import type { Consent } from './consent/consent.js'
import type { InternalDnc } from './internal-dnc/internal-dnc.js'
import type { Litigators } from './litigator.js'
import type { Scrub } from './scrub/scrub.js'

/** The calls of the published API, each subject narrowed to them. */
export interface Service {
  readonly timeLegal: Pick<TimeLegal, 'check'>
  readonly scrub: Pick<Scrub, 'rows'>
  readonly internalDnc: Pick<InternalDnc, 'add' | 'remove' | 'status' | 'count'>
  readonly consent: Pick<Consent, 'record'>
  readonly litigators: Pick<Litigators, 'check'>
}
