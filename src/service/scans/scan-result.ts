/**
 * What a one-time scan says of one number (spec, "One-time scan job"), in the form the wire has: it
 * is kept, shown by the status call and sent to the customer's address in this one form.
 */
import type { Complaint, LabelSource, NumberLabels } from '../../domain/labels.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { type Country, carriersOf, type Level, levelOf, sourcesOf } from '../reputation/scores.js'

export type ScanType = 'carrier' | 'carrierandapps'

type LabelState = 'Clean' | 'Flagged'

export interface ScanComplaint {
  readonly FTCComplaintId: string
  readonly Phone: string
  readonly CreatedDate: string
  readonly ViolationDate: string
  readonly Subject: string
}

/** `null` stands where the scan's type or the account's country leaves a source unasked. */
export interface ScanResult {
  readonly Phone: string
  readonly CurrScore: Level
  readonly CarrierAScore: LabelState | null
  readonly CarrierBScore: LabelState | null
  readonly CarrierCScore: LabelState | null
  readonly AppAStatus: LabelState | null
  readonly AppBStatus: LabelState | null
  /** Newest first; `null` when there are none. */
  readonly FTCComplaints: readonly ScanComplaint[] | null
}

/** Who is asked: the carriers of the account's country, with the apps when the scan has them. */
export function scanSources(country: Country, scanType: ScanType): readonly LabelSource[] {
  return scanType === 'carrier' ? carriersOf(country) : sourcesOf(country)
}

export function allHaveAnswered(labels: NumberLabels, sources: readonly LabelSource[]): boolean {
  return sources.every((source) => labels[source] !== undefined)
}

/** A much-complained number would otherwise make results and notifications of any size. */
export const mostComplaints = 10

/** What was found out of one number. */
export interface Look {
  readonly number: PhoneNumber
  readonly labels: NumberLabels
  /** Newest first. */
  readonly complaints: readonly Complaint[]
}

/** All of `sources` were asked and have answered; `undefined` of none. */
export function scanResult(
  { number, labels, complaints }: Look,
  sources: readonly LabelSource[],
): ScanResult | undefined {
  const labelled = sources.filter((source) => labels[source] === true).length
  const score = levelOf(labelled, sources.length)
  if (score === 'Processing') return undefined
  const state = (source: LabelSource): LabelState | null => {
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
      complaints.length === 0 ? null : complaints.slice(0, mostComplaints).map(scanComplaint),
  }
}

/** The five fields that a scan shows (spec, "FTC complaint object"). */
function scanComplaint(complaint: Complaint): ScanComplaint {
  return {
    FTCComplaintId: complaint.id,
    Phone: complaint.phone,
    CreatedDate: complaint.createdDate,
    ViolationDate: complaint.violationDate,
    Subject: complaint.subject,
  }
}
