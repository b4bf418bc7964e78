/** The columns of decisions as CSV. */
import type { CsvColumns } from '../csv.js'
import type { DecisionRecordBody } from './decision-body.js'

export const decisionColumns = {
  id: ({ id }) => id,
  decidedAt: ({ decidedAt }) => decidedAt,
  decision: ({ decision }) => decision,
  reason: ({ reason }) => reason,
  message: ({ message }) => message,
  number: ({ number }) => number,
  dialed: ({ dialed }) => dialed,
  callKind: ({ callKind }) => callKind,
  purpose: ({ purpose }) => purpose,
  projectId: ({ projectId }) => projectId,
  campaignId: ({ campaignId }) => campaignId,
  callerId: ({ callerId }) => callerId,
  reference: ({ reference }) => reference,
  keyId: ({ keyId }) => keyId,
  via: ({ via }) => via,
  erased: ({ erased }) => (erased ? 'true' : undefined),
  outcome: ({ outcome }) => outcome?.state,
  dialledAt: ({ outcome }) => outcome?.dialledAt,
  answeredAt: ({ outcome }) => outcome?.answeredAt,
  endedAt: ({ outcome }) => outcome?.endedAt,
} satisfies CsvColumns<DecisionRecordBody>
