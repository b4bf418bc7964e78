/** Sets of label sources as bit masks, one bit per source, as stored in the tables. */
import { type LabelIssuer, labelIssuers, type NumberLabels } from '../../domain/spam-labels.js'

export type SourceBits = number

/** Stored in the database, so the bit of a source must never change. */
const bitBySource: Readonly<Record<LabelIssuer, SourceBits>> = {
  CarrierA: 1,
  CarrierB: 2,
  CarrierC: 4,
  CarrierD: 8,
  AppA: 16,
  AppB: 32,
}

export function toSourceBits(sources: readonly LabelIssuer[]): SourceBits {
  return sources.reduce((bits, source) => bits | bitBySource[source], 0)
}

export function fromSourceBits(bits: SourceBits): readonly LabelIssuer[] {
  return labelIssuers.filter((source) => hasSource(bits, source))
}

export function hasSource(bits: SourceBits, source: LabelIssuer): boolean {
  return (bits & bitBySource[source]) !== 0
}

export function countSources(bits: SourceBits): number {
  return fromSourceBits(bits).length
}

/** The answers of one check. */
export interface LabelBits {
  readonly answered: SourceBits
  /** A subset of `answered`. */
  readonly flagged: SourceBits
}

/** Ignores answers of sources that are not in `sources`. */
export function toLabelBits(labels: NumberLabels, sources: readonly LabelIssuer[]): LabelBits {
  const answered = sources.filter((source) => labels[source] !== undefined)
  return {
    answered: toSourceBits(answered),
    flagged: toSourceBits(answered.filter((source) => labels[source] === true)),
  }
}
