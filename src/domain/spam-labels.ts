/**
 * Spam labels that carriers and call-blocking apps assign to numbers, and complaints about numbers
 * (spec, "Monitored-number record", "FTC complaint object").
 */
import type { PhoneNumber } from './phone-number.js'

/** The three national US carriers in the spec's order, and the Canadian pair. */
export const carriers = ['CarrierA', 'CarrierB', 'CarrierC', 'CarrierD'] as const
export const apps = ['AppA', 'AppB'] as const
export const labelIssuers = [...carriers, ...apps] as const
export type LabelIssuer = (typeof labelIssuers)[number]

/** Whether each source labels a number; absent means the source has not answered. */
export type NumberLabels = Readonly<Partial<Record<LabelIssuer, boolean>>>

/** A source of the current labels of numbers. */
export interface LabelSource {
  /** Numbers without any fact may be absent. Rejects when the source is unavailable. */
  labels(
    numbers: readonly PhoneNumber[],
    issuers: readonly LabelIssuer[],
  ): Promise<ReadonlyMap<PhoneNumber, NumberLabels>>
}

/** One complaint filed with the FTC. Times are as filed, `MM/DD/YYYY HH:MM:SS`, without a zone. */
export interface Complaint {
  readonly id: string
  readonly phone: PhoneNumber
  readonly createdDate: string
  readonly violationDate: string
  readonly city: string
  readonly state: string
  readonly areaCode: string
  readonly subject: string
  readonly recordedMessageOrRobocall: 'Y' | 'N'
}

export interface ComplaintSource {
  /** Newest first; numbers without complaints are absent. */
  complaints(
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<PhoneNumber, readonly Complaint[]>>
}
