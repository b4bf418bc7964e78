/** Calls are placed only within the lawful hours of every place the called party may be in. */
import type { LegalTime, LegalTimeStatus } from '../../domain/compliance.js'
import type { Finding, ReasonCode } from '../../domain/decision.js'
import type { AppliedException } from '../../domain/mandate.js'
import { isFictional } from '../../domain/phone-number.js'
import type { NumberInService } from '../../domain/place.js'
import { isWithinYears, msPerDay, toUtcDay } from '../../domain/time/dates.js'
import type { ProjectHours } from '../../domain/time/week-windows.js'
import type { Said } from '../../domain/words/words.js'
import type { CalledPlace } from '../../law/hours/operator-closures.js'
import { combineSources, type OwnFinding, requireFinding } from '../combine-findings.js'
import { sayExceptions } from '../exceptions.js'
import { ownSource } from '../facts.js'
import type { CallWithFacts, Judged, Rule } from '../judged.js'
import {
  findAnswer,
  findOwn,
  isBesideProvider,
  type Judgment,
  judgeAnswer,
  judgeFact,
} from '../make-finding.js'
import { listPlaces } from '../places.js'

/**
 * Where a provider answers, the statutory hours must permit too: by our numbering plan and for the kind of voice, which the
 * provider's API does not know, and without its project. For the fictional numbers 555-0100 to 555-0199, which no plan contains,
 * the provider's answer is enough, so that its test numbers can be used.
 */
export const callingHoursRule = {
  id: 'calling-hours',
  check: 'calling-hours',
  judge(about: Judged) {
    const { hours, lifting } = about.derived
    return lifting.length === 0 ? hours : judgeLiftedHours(about, lifting)
  },
} as const satisfies Rule

/** Before exceptions that waive the hours. */
export function judgeHours(about: CallWithFacts): Finding {
  const { sources, times } = about
  const asked = findAnswer(sources, 'legalTime')
  return combineSources(judgeOwnHours(about), asked, (answer) =>
    judgeAnswer('calling-hours', answer, { now: times.accountNow, judge: judgeLegalTime }),
  )
}

export function judgeOwnHours(about: CallWithFacts): OwnFinding | undefined {
  const { sources, number } = about
  const { number: facts, hours } = sources.own
  const isPlaceless = facts.status === 'unknown-prefix' && hours !== 'not-asked' && !hours.why
  const isTestNumber = isBesideProvider(sources) && isPlaceless && isFictional(number)
  return isTestNumber ? undefined : judgeOwn(about, [])
}

/** The finding while `exceptions` of the law are in use: the hours of the country hold in place of the region's own. */
function judgeLiftedHours(about: CallWithFacts, exceptions: readonly AppliedException[]): Finding {
  const finding = requireFinding(judgeOwn(about, exceptions))
  return { ...finding, says: [...finding.says, ...sayExceptions(exceptions)] }
}

function judgeOwn(
  about: CallWithFacts,
  exceptions: readonly AppliedException[],
): OwnFinding | undefined {
  const { own } = about.sources
  const { times, at, call, settings } = about
  const now = times.accountNow
  const judge = (hours: readonly ProjectHours[]) =>
    findOwn('calling-hours', own, judgeWindows(about, hours, exceptions))
  if (own.hours === 'not-asked') return undefined
  const { why } = own.hours
  if (why?.reason === 'bad-question') {
    const status = 'INVALID_PROJECT'
    const [{ quote } = { quote: undefined }] = why.says
    return { finding: findOwn('calling-hours', own, refuse(status, quote)) }
  }
  if (!isWithinYears(at, now, 50)) {
    const refused = { ...refuse('INVALID_DATE'), holdsUntil: (toUtcDay(now) + 1) * msPerDay }
    return { finding: findOwn('calling-hours', own, refused) }
  }
  const isGiven = own.postalCode !== undefined && own.postal === undefined
  if (isGiven && settings.strictestPlace[call.callKind] && own.number.status === 'ok') {
    const says = [{ code: 'postal-code-without-hours', quote: own.postalCode }] as const
    const failure = { ok: false, reason: 'bad-question', says, source: ownSource } as const
    return judgeFact('calling-hours', { why: failure }, { now, judge })
  }
  return judgeFact('calling-hours', own.hours, { now, judge })
}

function judgeWindows(
  about: CallWithFacts,
  overrides: readonly ProjectHours[],
  exceptions: readonly AppliedException[],
): Judgment {
  const { windows, settings, call, at, stated, purpose, sources } = about
  const { number, postalCode, postal } = sources.own
  if (number.status === 'toll-free')
    return { ...refuse('TOLL_FREE'), says: [{ code: 'toll-free' }] }
  if (number.status !== 'ok') return { ...refuse('UNKNOWN_NXX'), says: number.says }
  const isMachine = call.callKind !== 'manual' && purpose.machines !== 'unlimited'
  const options = {
    overrides,
    recordedVoice: settings.recordedVoiceWindows && isMachine,
    requireStatutoryWindow: isBesideProvider(sources) || !settings.projectMayWiden,
    purpose: stated,
    exceptions: exceptions.length === 0 ? undefined : exceptions,
  }
  const places = listHoursPlaces(about, number)
  const {
    permitted,
    restrictedDay,
    opensAt,
    says: ofWindow,
    holdsUntil,
  } = windows.evaluate(places, at, options)
  const source = (postal ?? number.place).source
  const unplaced: readonly Said[] =
    postalCode !== undefined && !postal ? [{ code: 'postal-code-unplaced' }] : []
  const says: readonly Said[] = [
    ...ofWindow,
    ...unplaced,
    // Shows a reader how reliable the place is.
    { code: 'place-by', params: { source } },
  ]
  const known = { says, places: listPlaces(number.place, postal), holdsUntil }
  return { ...judgeWindow({ permitted, restrictedDay, opensAt }), ...known }
}

/** The place of the postal code replaces that of the number, or both apply. */
function listHoursPlaces(
  { settings, call, sources: { own } }: CallWithFacts,
  { place }: NumberInService,
): readonly CalledPlace[] {
  const { postal, postalCode } = own
  if (!postal) return place.candidates
  const places = postal.candidates.map(({ region, zone }) => ({ region, zone, postalCode }))
  return settings.strictestPlace[call.callKind] ? [...places, ...place.candidates] : places
}

function judgeWindow({
  permitted,
  restrictedDay,
  opensAt,
}: Pick<LegalTime, 'permitted' | 'restrictedDay' | 'opensAt'>) {
  if (permitted) return { verdict: 'pass', reason: 'permitted' } as const
  return {
    verdict: 'deny',
    reason: restrictedDay === undefined ? 'outside-calling-hours' : 'restricted-day',
    opensAt: opensAt ?? Number.POSITIVE_INFINITY,
  } as const
}

/** An answer of a provider. */
function judgeLegalTime(legalTime: LegalTime): Judgment {
  const { status, placeSource: source, says, places } = legalTime
  if (status !== 'OK') return { verdict: 'deny', reason: statusReasons[status], says }
  const placed: readonly Said[] =
    source === undefined ? says : [...says, { code: 'place-by', params: { source } }]
  return { ...judgeWindow(legalTime), says: placed, places }
}

const statusReasons: Readonly<Record<Exclude<LegalTimeStatus, 'OK'>, ReasonCode>> = {
  INVALID_PHONE: 'invalid-number',
  INVALID_PROJECT: 'unknown-project',
  INVALID_DATE: 'check-unanswered',
  TOLL_FREE: 'toll-free',
  UNKNOWN_NXX: 'unknown-prefix',
}

function refuse(status: Exclude<LegalTimeStatus, 'OK'>, quote?: string): Judgment {
  const says = [{ code: 'hours-status', params: { status }, quote }] as const
  return { verdict: 'deny', reason: statusReasons[status], says }
}
