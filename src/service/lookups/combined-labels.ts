/** Combines several sources of labels, and several of complaints. */

import type { PhoneNumber } from '../../domain/phone-number.js'
import type {
  Complaint,
  ComplaintSource,
  LabelIssuer,
  LabelSource,
  NumberLabels,
} from '../../domain/spam-labels.js'
import { CombinedSources, type SourceResult } from './source-failures.js'

/** Uses the first label of each issuer; later sources supply only what is missing. */
export class CombinedLabels extends CombinedSources<LabelSource> implements LabelSource {
  /** Rejects when all sources fail. */
  async labels(
    numbers: readonly PhoneNumber[],
    wanted: readonly LabelIssuer[],
  ): Promise<ReadonlyMap<PhoneNumber, NumberLabels>> {
    const found = new Map<PhoneNumber, NumberLabels>()
    const results: SourceResult<unknown>[] = []
    const findIncomplete = () => numbers.filter((number) => isIncomplete(found.get(number), wanted))
    let missing = findIncomplete()
    if (missing.length === 0) return found
    for (const asked of this.askInTurn('labels', (source) => source.labels(missing, wanted))) {
      const result = await asked
      results.push(result)
      if (!result.failed) fillMissing(found, result.value, wanted)
      missing = findIncomplete()
      if (missing.length === 0) break
    }
    requireOneAnswer(results)
    return found
  }
}

/** The complaints of all sources, each once, newest first. */
export class CombinedComplaints
  extends CombinedSources<ComplaintSource>
  implements ComplaintSource
{
  /** Rejects when all sources fail. */
  async complaints(
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<PhoneNumber, readonly Complaint[]>> {
    const results = await this.askAll('complaints', (source) => source.complaints(numbers))
    requireOneAnswer(results)
    const found = new Map<PhoneNumber, readonly Complaint[]>()
    for (const result of results) {
      if (result.failed) continue
      for (const [number, complaints] of result.value) {
        found.set(number, mergeComplaints(found.get(number), complaints))
      }
    }
    return found
  }
}

function isIncomplete(labels: NumberLabels | undefined, wanted: readonly LabelIssuer[]): boolean {
  return wanted.some((source) => labels?.[source] === undefined)
}

function fillMissing(
  found: Map<PhoneNumber, NumberLabels>,
  more: ReadonlyMap<PhoneNumber, NumberLabels>,
  wanted: readonly LabelIssuer[],
): void {
  for (const [number, labels] of more) {
    const known = Object.fromEntries(
      wanted.flatMap((issuer) => (labels[issuer] === undefined ? [] : [[issuer, labels[issuer]]])),
    ) as NumberLabels
    found.set(number, { ...known, ...found.get(number) })
  }
}

function requireOneAnswer(results: readonly SourceResult<unknown>[]): void {
  const [first] = results
  if (first?.failed && results.every(({ failed }) => failed)) throw first.cause
}

function mergeComplaints(
  known: readonly Complaint[] | undefined,
  more: readonly Complaint[],
): readonly Complaint[] {
  if (!known) return more
  const byId = new Map([...more, ...known].map((one) => [one.id, one]))
  return [...byId.values()].sort((one, other) =>
    complaintDate(one) < complaintDate(other) ? 1 : -1,
  )
}

/** `MM/DD/YYYY HH:MM:SS` as a text that sorts by time. */
function complaintDate({ createdDate }: Complaint): string {
  return createdDate.slice(6, 10) + createdDate.slice(0, 5) + createdDate.slice(10)
}
