/** The calling rules that rules apply: what `law/` makes of the file. */
import type { AbandonmentRules } from '../law/abandonment-rules.js'
import type { CallerIdRules } from '../law/caller-id-rules.js'
import type { CallingRules } from '../law/calling-rules.js'
import type { ConsentRules } from '../law/consent-rules.js'
import type { Exceptions } from '../law/exceptions.js'
import type { FrequencyRules } from '../law/frequency-rules.js'
import type { Purposes } from '../law/purposes.js'

export interface Law
  extends Pick<
    CallingRules,
    'findCountry' | 'findEbrRule' | 'findWirelessBan' | 'listDisclosures'
  > {
  readonly abandonment: Pick<AbandonmentRules, 'find'>
  readonly callerIds: Pick<CallerIdRules, 'findPresenceLaw'>
  readonly exceptions: Pick<Exceptions, 'find' | 'liftsCap'>
  readonly frequency: Pick<FrequencyRules, 'find'>
  readonly purposes: Pick<Purposes, 'find'>
  readonly requiredConsents: Pick<ConsentRules, 'find'>
}
