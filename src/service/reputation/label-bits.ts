/** Sets of label sources as whole numbers, one bit per source, as the tables keep them. */
import { type LabelSource, labelSources, type NumberLabels } from '../../domain/labels.js'

export type SourceBits = number

/** Stored, so a source keeps its bit for ever. */
const bitOf: Readonly<Record<LabelSource, SourceBits>> = {
  CarrierA: 1,
  CarrierB: 2,
  CarrierC: 4,
  CarrierD: 8,
  AppA: 16,
  AppB: 32,
}

export function bitsOf(sources: readonly LabelSource[]): SourceBits {
  return sources.reduce((bits, source) => bits | bitOf[source], 0)
}

export function sourcesIn(bits: SourceBits): readonly LabelSource[] {
  return labelSources.filter((source) => hasSource(bits, source))
}

export function hasSource(bits: SourceBits, source: LabelSource): boolean {
  return (bits & bitOf[source]) !== 0
}

export function countSources(bits: SourceBits): number {
  return sourcesIn(bits).length
}

/** What was heard at one look. */
export interface Heard {
  readonly answered: SourceBits
  /** A part of `answered`. */
  readonly flagged: SourceBits
}

/** Answers of sources that were not asked are left out. */
export function heardOf(labels: NumberLabels, sources: readonly LabelSource[]): Heard {
  const answered = sources.filter((source) => labels[source] !== undefined)
  return {
    answered: bitsOf(answered),
    flagged: bitsOf(answered.filter((source) => labels[source] === true)),
  }
}
