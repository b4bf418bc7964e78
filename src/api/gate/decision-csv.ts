/** Decisions as CSV (RFC 4180), for spreadsheets. */
import type { DecisionRecordBody } from './decision-body.js'

const columns = {
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
} satisfies Readonly<Record<string, (record: DecisionRecordBody) => string | undefined>>

export const csvHeader = `${Object.keys(columns).join()}\r\n`

export function toCsvLine(record: DecisionRecordBody): string {
  const cells = Object.values(columns).map((read) => toCell(read(record) ?? ''))
  return `${cells.join()}\r\n`
}

/** A spreadsheet would evaluate a cell that begins like a formula; an apostrophe makes it text. */
function toCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
