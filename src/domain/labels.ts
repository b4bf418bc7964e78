/**
 * Spam labels that carriers and call-blocking apps put on numbers, and complaints about them
 * (spec, "Monitored-number record", "FTC complaint object").
 */
import type { PhoneNumber } from './phone-number.js'

/** The three national US carriers in the spec's order, and the Canadian pair. */
export const carriers = ['CarrierA', 'CarrierB', 'CarrierC', 'CarrierD'] as const
export const apps = ['AppA', 'AppB'] as const
export const labelSources = [...carriers, ...apps] as const
export type LabelSource = (typeof labelSources)[number]

/** Whether each source labels a number; a source that is absent has not said. */
export type NumberLabels = Readonly<Partial<Record<LabelSource, boolean>>>

/** Tells which labels numbers carry now. */
export interface LabelBook {
  /** Numbers without any fact may be absent. Rejects when it cannot be asked now. */
  labels(
    numbers: readonly PhoneNumber[],
    wanted: readonly LabelSource[],
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

export interface ComplaintBook {
  /** Newest first; numbers without complaints are absent. */
  complaints(
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<PhoneNumber, readonly Complaint[]>>
}
