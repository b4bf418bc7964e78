/**
 * The result of a one-time scan for one number (spec, "One-time scan job"), in API form. It is stored,
 * returned by the status endpoint and sent to the customer's URL in this form.
 */
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Country } from '../../domain/place.js'
import type { ScanComplaint, ScanResult, ScanType } from '../../domain/reputation.js'
import type { Complaint, LabelIssuer, NumberLabels } from '../../domain/spam-labels.js'
import { computeLevel, listCarriers, listSources } from '../reputation/scores.js'

/** The carriers of the account's country, with the apps if the scan includes them. */
export function listScanSources(country: Country, scanType: ScanType): readonly LabelIssuer[] {
  return scanType === 'carrier' ? listCarriers(country) : listSources(country)
}

export function hasAllAnswers(labels: NumberLabels, sources: readonly LabelIssuer[]): boolean {
  return sources.every((source) => labels[source] !== undefined)
}

/** Limits the size of results and notifications. */
export const maxComplaints = 10

/** The sources' answers for one number. */
export interface NumberObservation {
  readonly number: PhoneNumber
  readonly labels: NumberLabels
  /** Newest first. */
  readonly complaints: readonly Complaint[]
}

/** Requires an answer of every one of `sources`; `undefined` if `sources` is empty. */
export function toScanResult(
  { number, labels, complaints }: NumberObservation,
  sources: readonly LabelIssuer[],
): ScanResult | undefined {
  const labeled = sources.filter((source) => labels[source] === true).length
  const score = computeLevel(labeled, sources.length)
  if (score === 'Processing') return undefined
  const state = (source: LabelIssuer): 'Clean' | 'Flagged' | null => {
    if (!sources.includes(source)) return null
    return labels[source] === true ? 'Flagged' : 'Clean'
  }
  return {
    Phone: number,
    CurrScore: score,
    CarrierAScore: state('CarrierA'),
    CarrierBScore: state('CarrierB'),
    CarrierCScore: state('CarrierC'),
    AppAStatus: state('AppA'),
    AppBStatus: state('AppB'),
    FTCComplaints:
      complaints.length === 0 ? null : complaints.slice(0, maxComplaints).map(toScanComplaint),
  }
}

/** The five fields that a scan shows (spec, "FTC complaint object"). */
function toScanComplaint(complaint: Complaint): ScanComplaint {
  return {
    FTCComplaintId: complaint.id,
    Phone: complaint.phone,
    CreatedDate: complaint.createdDate,
    ViolationDate: complaint.violationDate,
    Subject: complaint.subject,
  }
}
