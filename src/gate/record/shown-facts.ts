/** Builds `findings[].facts` of a reply from the facts of the call. */
import { findListedDay, type ListFinding, type StateFinding } from '../../domain/number-set.js'
import type { Place } from '../../domain/place.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { formatDay, formatInstant, msPerHour } from '../../domain/time/dates.js'
import type { RecordedSaid } from '../../domain/words/words.js'
import {
  type AskedReassigned,
  type Fact,
  type Facts,
  type OwnFacts,
  ownSource,
  type PermissionFacts,
} from '../../judge/facts.js'

type ShownFacts = Readonly<Record<string, unknown>>

interface Shown {
  readonly check: string
  readonly verdict: string
  readonly reason: string
  readonly source: string
  readonly says: readonly RecordedSaid[]
}

/** `undefined` if the finding used no facts of our own, as with a provider's answer. */
export function showFacts(
  finding: Shown,
  facts: Omit<Facts, 'times'> | undefined,
  number: string,
): ShownFacts | undefined {
  if (facts === undefined) return undefined
  const isJudged = finding.source === ownSource && finding.verdict !== 'unknown'
  const ofOwn = isJudged ? facts.own : undefined
  switch (finding.check) {
    case 'internal-dnc':
      return ofOwn && showEntry(ofOwn)
    case 'calling-hours':
      return ofOwn && judgedHours.has(finding.reason) ? showHours(ofOwn) : undefined
    case 'permission':
      return ofOwn && showPermission(ofOwn)
    case 'reassigned':
      return facts.reassigned && showReassigned(facts.reassigned, number)
    case 'attempts':
      return showCounts(facts)
    case 'abandonment':
      return showAbandoned(facts, finding)
    default:
      return undefined
  }
}

const judgedHours: ReadonlySet<string> = new Set([
  'permitted',
  'outside-calling-hours',
  'restricted-day',
])

function knownOf<Value>(fact: Fact<Value> | 'not-asked'): Value | undefined {
  if (fact === 'not-asked') return undefined
  return fact.why === undefined ? fact.value : fact.last?.value
}

function showEntry({ entry }: OwnFacts): ShownFacts | undefined {
  const { removedAt, addedAt } = knownOf(entry) ?? {}
  return removedAt === null ? { addedAt } : undefined
}

function showHours({ number, postal, hours }: OwnFacts): ShownFacts | undefined {
  return showNumber(number, postal, knownOf(hours) ?? [])
}

function showNumber(
  number: OwnFacts['number'],
  postal: Place | undefined,
  hours: PermissionFacts['hours'],
): ShownFacts | undefined {
  if (number.status !== 'ok') return undefined
  const { place, lineClass, originalClass } = number
  return {
    ...showPlace(place),
    by: place.source === 'prefix' ? undefined : place.source,
    line: lineClass === 'wireless' ? undefined : lineClass,
    assigned: originalClass === lineClass ? undefined : originalClass,
    postal: postal && showPlace(postal),
    hours: hours.length > 0 ? hours : undefined,
  }
}

const showPlace = ({ candidates: places, country }: Place) => ({
  places,
  country: country === 'US' ? undefined : country,
})

function showPermission({ number, postal, permission }: OwnFacts): ShownFacts | undefined {
  const known = knownOf(permission)
  if (known?.lists === undefined) return undefined
  const { hours, industryExemption, voipRestricted, lists, entry, record } = known
  const { national, state, litigator } = lists
  return {
    ...showNumber(number, postal, hours),
    industryExemption: industryExemption || undefined,
    voipRestricted: voipRestricted || undefined,
    national: showListing(national, findListedDay(national)),
    state: showListing(state, findListedDay(state)),
    isLitigator: litigator.status === 'listed' || undefined,
    entry,
    record,
  }
}

function showListing(
  found: ListFinding & Pick<StateFinding, 'region'>,
  listedOn: LocalDay | undefined,
): ShownFacts | undefined {
  const { status, region } = found
  if (status === 'clear') return undefined
  if (status === 'listed') return { on: listedOn, region }
  const { says, isStale, isUnusable } = found
  return { says, isStale, isUnusable, region }
}

/** Results that the next call asks for again. */
const notKnown: ReadonlySet<AskedReassigned['result']> = new Set([
  'no-data',
  'not-asked',
  'unreachable',
])

/** Proves which data were queried, and their answer. */
function showReassigned(asked: AskedReassigned, number: string): ShownFacts | undefined {
  const { result, says, report, source, agent, askedAt, releasedOn, holdsUntil } = asked
  if (result === 'not-configured') return undefined
  const isKnown = !notKnown.has(result)
  const day = report?.since ?? asked.since
  return {
    answer: result,
    says,
    number,
    askedAbout: day === undefined ? undefined : formatDay(day),
    because: asked.basis,
    safeHarbor: result === 'no' && report?.hasSafeHarbor === true,
    national: report?.national,
    ownData: report?.own,
    release: releasedOn === undefined ? undefined : formatDay(releasedOn),
    askedBy: agent,
    source: askedAt === undefined ? undefined : source,
    askedAt: askedAt === undefined ? undefined : formatInstant(askedAt),
    holdsUntil: isKnown && holdsUntil !== undefined ? formatInstant(holdsUntil) : undefined,
  }
}

function showCounts({ ledger }: Pick<Facts, 'ledger'>): ShownFacts | undefined {
  if (ledger === undefined || ledger === 'not-asked' || 'failure' in ledger) return undefined
  const limits = ledger.counts.map(({ limit, attempts, opensAt }) => {
    const { id, citation, calls, periodMs, days } = limit
    const period = days ? { days: days.count, in: days.zone } : { hours: periodMs / msPerHour }
    const full = opensAt !== undefined && { opensAt: formatInstant(opensAt) }
    return { id, citation, calls, ...period, attempts, ...full }
  })
  return { limits }
}

/** The counts of the periods that the finding names. */
function showAbandoned({ stored }: Pick<Facts, 'stored'>, { says }: Shown): ShownFacts | undefined {
  const { abandoned } = stored ?? {}
  if (abandoned === undefined || abandoned === 'unread') return undefined
  const begins = new Set(says.map(({ params }) => params?.since))
  const rules = abandoned
    .map(({ from, until, ...count }) => {
      return { ...count, from: formatInstant(from), until: formatInstant(until) }
    })
    .filter(({ from }) => begins.has(from))
  return { rules }
}
