/**
 * What the calling rules were applied to in a decision, as its record keeps it, so that other rules can
 * be tried on it later. What is usual takes no space: an absent member has the value that its comment
 * names, or there was none.
 */
import { type ListEvidence, type ListFinding, noListEvidence } from '../domain/number-set.js'
import type {
  CandidatePlace,
  Country,
  LineClass,
  NumberFacts,
  Place,
  PlaceSource,
} from '../domain/place.js'
import type { Instant, LocalDay } from '../domain/time/clock.js'
import { msPerDay } from '../domain/time/dates.js'
import type { ProjectHours } from '../domain/time/week-windows.js'
import type { Said } from '../domain/words/words.js'
import type { EbrRecord } from '../law/records/ebr-record.js'

export interface RecordedPlace {
  readonly places: readonly CandidatePlace[]
  /** US. */
  readonly country?: Country | undefined
}

export interface RecordedNumber extends RecordedPlace {
  /** `prefix`. */
  readonly by?: PlaceSource | undefined
  /** `wireless`. */
  readonly line?: LineClass | undefined
  /** The class of the original assignment; the same as `line`. */
  readonly assigned?: LineClass | undefined
}

/** A list that has the number, or that cannot say whether it has it; absent if the number is clear. */
export interface RecordedListing {
  readonly on?: LocalDay | undefined
  readonly region?: string | undefined
  /** Why the list cannot say. */
  readonly says?: readonly Said[] | undefined
  readonly isStale?: boolean | undefined
  readonly isUnusable?: boolean | undefined
}

/** An entry of the internal list; see `InternalDncEntry`. */
interface RecordedOptOut {
  readonly addedAt: Instant
  readonly removedAt: Instant | null
  readonly optedOutAt: Instant
  readonly optedOutSeq: number
  readonly optedOutByDate?: boolean | undefined
}

/** What most decisions do not have. */
export interface UnusualFacts {
  /** Of the postal code, if its place is known. */
  readonly postal?: RecordedPlace | undefined
  /** The project's own. */
  readonly hours?: readonly ProjectHours[] | undefined
  readonly industryExemption?: true | undefined
  readonly voipRestricted?: true | undefined
  readonly national?: RecordedListing | undefined
  readonly state?: RecordedListing | undefined
  readonly isLitigator?: true | undefined
  /** When the first list becomes too old, if that is before the next midnight. */
  readonly listsHoldUntil?: Instant | undefined
  /** On the internal list, also one that was removed from it. */
  readonly entry?: RecordedOptOut | undefined
  /** The relationship or consent on file. */
  readonly record?: EbrRecord | undefined
  /** The account's time, by which a fixed record of the sandbox is judged. */
  readonly now?: Instant | undefined
}

/** The facts of an entry of the internal list alone, which may be read before the others. */
export interface RecordedEntry {
  readonly addedAt: Instant
}

export type RecordedFacts = RecordedNumber & UnusualFacts

/** As JSON of {@link RecordedFacts}. */
export function formatFacts(
  { place, lineClass, originalClass }: Extract<NumberFacts, { readonly status: 'ok' }>,
  unusual?: UnusualFacts,
): string {
  const recorded = {
    ...toRecordedPlace(place),
    by: place.source === 'prefix' ? undefined : place.source,
    line: lineClass === 'wireless' ? undefined : lineClass,
    assigned: originalClass === lineClass ? undefined : originalClass,
    ...unusual,
  } satisfies RecordedFacts
  return JSON.stringify(recorded)
}

export function toRecordedPlace({ candidates, country }: Place): RecordedPlace {
  return { places: candidates, country: country === 'US' ? undefined : country }
}

/** Of the regions of the places; `undefined` if there are none. */
export function selectHours(
  hours: readonly ProjectHours[],
  places: readonly { readonly region: string }[],
): readonly ProjectHours[] | undefined {
  const ofPlaces = hours.filter((one) => places.some(({ region }) => region === one.region))
  return ofPlaces.length > 0 ? ofPlaces : undefined
}

/** The place as it was when it was recorded. */
export function fromRecordedPlace(
  { places, country = 'US' }: RecordedPlace,
  source: PlaceSource,
): Place {
  return { country, candidates: places, source }
}

export function fromRecordedNumber(recorded: RecordedNumber): NumberFacts {
  const { by = 'prefix', line = 'wireless', assigned = line } = recorded
  return {
    status: 'ok',
    place: fromRecordedPlace(recorded, by),
    locality: '',
    carrier: undefined,
    lineClass: line,
    originalClass: assigned,
  }
}

export function fromRecordedEntry({ addedAt }: RecordedEntry): RecordedOptOut {
  return { addedAt, removedAt: null, optedOutAt: addedAt, optedOutSeq: 0 }
}

export function toRecordedListing(
  found: ListFinding & { readonly region?: string },
  listedOn: LocalDay | undefined,
): RecordedListing | undefined {
  const { status, region } = found
  if (status === 'clear') return undefined
  if (status === 'listed') return { on: listedOn, region }
  const { says, isStale, isUnusable } = found
  return { says, isStale, isUnusable, region }
}

export function fromRecordedListing(
  { on = 0, region, says, isStale, isUnusable }: RecordedListing,
  evidence: ListEvidence = noListEvidence,
): ListFinding & { readonly region?: string } {
  const more = { ...evidence, ...(region !== undefined && { region }) }
  if (says !== undefined) {
    const problem = { ...(isStale && { isStale }), ...(isUnusable && { isUnusable }) }
    return { status: 'not-covered', says, ...problem, ...more }
  }
  return { status: 'listed', asOf: on * msPerDay, listedOn: on, ...more }
}
