/**
 * Requests and results of the reputation monitor and of one-time scans with internal names (spec,
 * "Reputation monitor API" and "Reputation endpoints").
 */
import type { PhoneNumber } from './phone-number.js'
import type { Complaint } from './spam-labels.js'

const levels = ['Clean', 'Medium', 'High'] as const
type Level = (typeof levels)[number]

/** `Processing`: not known yet (spec, "Monitored-number record"). */
export const scores = [...levels, 'Processing'] as const
export type Score = (typeof scores)[number]

export const historicalScores = ['0', '1', '2', '3', '4', '5'] as const
export type HistoricalScore = (typeof historicalScores)[number]

export const labelStatuses = ['Clean', 'Flagged', 'Processing'] as const
export type LabelStatus = (typeof labelStatuses)[number]

/** The sources that a record has a field for; CarrierD has none. */
type RecordedIssuer = 'CarrierA' | 'CarrierB' | 'CarrierC' | 'AppA' | 'AppB'

export interface NumberScores {
  readonly legalEntityId: number | null
  readonly currScore: Score
  /** Highest of the last 15 days. */
  readonly maxScore: Score
  readonly historicalScore: HistoricalScore
  readonly labels: Readonly<Record<RecordedIssuer, LabelStatus>>
  /** The latest complaints, newest first; null when there are none. */
  readonly complaints: readonly Complaint[] | null
}

export interface NumberRecord {
  readonly phone: PhoneNumber
  /** Absent when the account does not monitor the number. */
  readonly scores?: NumberScores | undefined
}

/** A number to monitor; absent fields leave the values of a monitored number unchanged. */
export interface NewNumber {
  readonly phone: PhoneNumber
  readonly label?: string | undefined
  readonly legalEntityId?: number | undefined
  readonly serviceType?: string | undefined
}

export interface NumbersRequest {
  readonly numbers: readonly PhoneNumber[]
}

export interface RecordPage {
  readonly records: readonly NumberRecord[]
  /** How many numbers the account monitors; a client reads it from a header. */
  readonly total: number | undefined
}

export interface RemovedNumber {
  readonly phone: PhoneNumber
  /** False when the account did not monitor it. */
  readonly removed: boolean
}

export interface FlagsRemovedSummary {
  /** 0 for a carrier that does not label the account's numbers. */
  readonly byCarrier: Readonly<Record<'CarrierA' | 'CarrierB' | 'CarrierC' | 'CarrierD', number>>
  readonly total: number
}

export const scanTypes = ['carrier', 'carrierandapps'] as const
export type ScanType = (typeof scanTypes)[number]

export interface ScanRequest {
  /** As sent; duplicates are kept, and each counts. */
  readonly numbers: readonly PhoneNumber[]
  readonly notificationUrl: string
  /** A secret; must not appear in answers, logs or errors. */
  readonly notificationKey: string | undefined
  readonly scanType: ScanType
  /** Only sends a test payload to the notification URL. */
  readonly testOnly: boolean
}

export interface ScanReceipt {
  readonly jobId: string
  readonly status: 'Submitted'
  /** 0 for a test of the notification URL. */
  readonly phoneCount: number
}

export const scanStatuses = ['Submitted', 'Processing', 'Complete', 'Failed'] as const

export interface ScanProgress {
  readonly jobId: string
  readonly status: (typeof scanStatuses)[number]
  readonly phoneCount: number
  readonly processedCount: number
  /** In the order of the request; only of a complete job. */
  readonly results?: readonly ScanResult[] | undefined
}

type LabelState = 'Clean' | 'Flagged'

/**
 * One number of a scan (spec, "One-time scan job"), in its wire form, since it is stored, shown by
 * the status call and sent to the notification URL. `null` means that the scan type or the account's
 * country excludes the source.
 */
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

export interface ScanComplaint {
  readonly FTCComplaintId: string
  readonly Phone: string
  readonly CreatedDate: string
  readonly ViolationDate: string
  readonly Subject: string
}
