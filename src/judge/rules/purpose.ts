/** What a call is for: telemarketing, unless the settings or, where they allow it, the request say something else. */
import type {
  CallPurpose,
  CallRequest,
  PurposeRules,
  StatedPurpose,
} from '../../domain/decision.js'
import type { Said } from '../../domain/words/words.js'
import { type CallScope, isInScope } from '../scope.js'

/** What the calls of a scope are for. */
export interface PurposeSettings extends CallScope {
  readonly purpose: CallPurpose
  /** What else a request may say that it is for. */
  readonly requestsMay: readonly CallPurpose[]
  readonly setBy: string
}

const unstated: { readonly stated?: StatedPurpose | undefined; readonly refusal?: undefined } = {}

/**
 * What a call is for: what the first row that fits it says, unless the request may say it. Without a row, it is for
 * telemarketing.
 */
export function findPurpose(
  request: CallRequest,
  rows: readonly PurposeSettings[],
  purposes: { find(purpose: CallPurpose): PurposeRules },
): typeof unstated | { readonly stated?: undefined; readonly refusal: Said } {
  const { purpose } = request
  if (rows.length === 0 && purpose === undefined) return unstated
  const row = rows.find((one) => isInScope(request, one) !== false)
  if (row && isInScope(request, row) === undefined) {
    return { refusal: { code: 'purpose-needs-project' } }
  }
  const allowed = row ? [row.purpose, ...row.requestsMay] : ['telemarketing']
  if (purpose !== undefined && !allowed.includes(purpose)) {
    const params = { purposes: allowed, purpose }
    return { refusal: { code: 'purpose-not-among', params } }
  }
  const stated = purpose
    ? { purpose, setBy: 'request' }
    : row && { purpose: row.purpose, setBy: row.setBy }
  if (stated && purposes.find(stated.purpose).purpose !== stated.purpose) {
    const params = { purpose: stated.purpose }
    return { refusal: { code: 'purpose-without-rules', params } }
  }
  return { stated }
}
