/** What was stored and imported here about the number of a recorded decision, as far as its record says it. */
import type { CheckName } from '../../domain/decision.js'
import type { ListVersion } from '../../domain/number-set.js'
import { noListEvidence, noStateFinding } from '../../domain/number-set.js'
import type { NumberFacts } from '../../domain/place.js'
import type { Instant } from '../../domain/time/clock.js'
import { parseInstant } from '../../domain/time/dates.js'
import type {
  DecisionDocument,
  FindingDocument,
  ListDocument,
} from '../../gate/record/decision-document.js'
import { type OwnFacts, ownSource, type PermissionFacts } from '../../judge/facts.js'
import {
  fromRecordedEntry,
  fromRecordedListing,
  fromRecordedNumber,
  fromRecordedPlace,
  type RecordedEntry,
  type RecordedFacts,
} from '../../judge/recorded-facts.js'
import { notOnInternalList } from '../../judge/rules/internal-list.js'
import { litigatorJudgments } from '../../judge/rules/litigator.js'

/** The findings that our own rules are applied to again. */
export interface OwnFindings {
  readonly 'internal-dnc'?: FindingDocument | undefined
  readonly 'calling-hours'?: FindingDocument | undefined
  readonly permission?: FindingDocument | undefined
}

/** Also of several sources, since our own is one of them at most. */
export function selectOwnFindings({ findings }: DecisionDocument): OwnFindings {
  const withFacts = (check: CheckName) =>
    findings
      .filter((finding) => finding.check === check)
      .flatMap((finding) => finding.parts ?? [finding])
      .find(({ facts }) => facts !== undefined)
  const own = (['internal-dnc', 'calling-hours', 'permission'] as const).flatMap((check) => {
    const found = withFacts(check)
    return found ? [[check, found] as const] : []
  })
  return Object.fromEntries(own)
}

/** What the findings do not say was not asked. */
export function toOwnFacts(
  { 'internal-dnc': listed, 'calling-hours': hours, permission }: OwnFindings,
  { findings, postalCode }: DecisionDocument,
  asOf: Instant,
): OwnFacts {
  const [ofHours, ofPermission] = [factsOf(hours), factsOf(permission)]
  const located = ofHours ?? ofPermission
  const recorded = listed && fromRecordedEntry(listed.facts as unknown as RecordedEntry)
  const isOurs = findings.some(
    ({ check, source }) => check === 'permission' && source === ownSource,
  )
  return {
    asOf,
    number: located ? fromRecordedNumber(located) : unknownNumber,
    ported: noListEvidence,
    postalCode: postalCode?.trim() ? postalCode : undefined,
    postal: located?.postal && fromRecordedPlace(located.postal, 'postal-code'),
    litigator: 'not-asked',
    entry: recorded ? { value: recorded } : 'not-asked',
    hours: ofHours ? { value: ofHours.hours ?? [] } : 'not-asked',
    permission:
      permission && ofPermission
        ? { value: toPermission(ofPermission, permission) }
        : isOurs
          ? { why: unanswered }
          : 'not-asked',
  }
}

const unanswered = {
  ok: false,
  reason: 'source-failed',
  says: [{ code: 'source-failed' }],
  source: ownSource,
} as const

const unknownNumber: NumberFacts = { status: 'unknown-prefix', says: [], areaCodeInUse: false }

function factsOf(finding: FindingDocument | undefined): RecordedFacts | undefined {
  return finding?.facts as RecordedFacts | undefined
}

/** The lists of all parts of a scrub are those that the record names. */
function toPermission(facts: RecordedFacts, finding: FindingDocument): PermissionFacts {
  const lists = finding.lists?.map(toListVersion) ?? []
  const evidence = { lists, holdsUntil: facts.listsHoldUntil }
  return {
    industryExemption: facts.industryExemption === true,
    voipRestricted: facts.voipRestricted === true,
    hours: facts.hours ?? [],
    lists: {
      national: facts.national
        ? fromRecordedListing(facts.national, evidence)
        : { status: 'clear', ...evidence },
      state: facts.state ? fromRecordedListing(facts.state) : noStateFinding,
      litigator: facts.isLitigator
        ? { status: 'listed', asOf: 0, ...noListEvidence }
        : noStateFinding,
    },
    entry: facts.entry,
    record: facts.record,
  }
}

/** What is said of an entry on a list of ours, or of none, follows from it. */
export function judgeEntry({ check, verdict, source }: FindingDocument) {
  if (source !== ownSource || verdict === 'unknown') return undefined
  if (check === 'litigator') return litigatorJudgments[verdict === 'deny' ? 'listed' : 'clear']
  return check === 'internal-dnc' && verdict === 'pass' ? notOnInternalList : undefined
}

export function toListVersion({ name, version, asOf }: ListDocument): ListVersion {
  return { name, version, asOf: instantOf(asOf) }
}

/** Throws a `TypeError` for what is not an instant, which no record has. */
export function instantOf(text: string): Instant {
  // A what-if may be for a year of five digits.
  const at = parseInstant(text) ?? Date.parse(text)
  if (Number.isNaN(at)) throw new TypeError(`'${text}' in a record is not an instant`)
  return at
}
