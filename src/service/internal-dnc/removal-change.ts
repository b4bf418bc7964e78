/** Removing numbers from an internal list, as a change that may need a second person. */
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { ChangeToMake } from '../changes/change-requests.js'

interface Removal {
  readonly numbers: readonly PhoneNumber[]
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly reason?: string | undefined
}

/** Nothing if there is no number. */
export function toRemovalChange(removal: Removal): ChangeToMake | undefined {
  const { numbers, projectId, campaignId, reason } = removal
  if (numbers.length === 0) return undefined
  const of = projectId ?? (campaignId === undefined ? undefined : `campaign ${campaignId}`)
  const what = numbers.length === 1 ? 'one opt-out' : `${numbers.length} opt-outs`
  return {
    kind: numbers.length === 1 ? 'lift-opt-out' : 'remove-opt-outs',
    what: `ending ${what} of ${of === undefined ? 'the Master Project' : `project ${of}`}`,
    endpoint: 'pdnc-post',
    request: {
      ...{ actionType: 'remove', phoneList: numbers.join(','), projId: projectId, campaignId },
      reason,
    },
    reason,
  }
}
