/**
 * Whether the number that a call shows may be shown: 47 CFR 64.1601(e) and 16 CFR 310.4(a)(8) have telemarketers transmit a number,
 * which takes do-not-call requests; 47 U.S.C. 227(e) and 47 CFR 64.1604 forbid a misleading one.
 */
import { parseProjectCode } from '../../domain/caller.js'
import type { CallRequest, Finding } from '../../domain/decision.js'
import type { CallerIdRegister, OwnNumber } from '../../domain/mandate.js'
import { readCallerId } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import type { OwnCallerIds } from '../facts.js'
import type { Judged, Rule } from '../judged.js'

/** Calls of a person that show nothing are not judged. */
export function needsRegister(request: CallRequest): boolean {
  return request.callKind !== 'manual' || readCallerId(request.callerId) !== undefined
}

/** What a call shows, as ten digits; `undefined` if it shows nothing, or no number that may be shown. */
export function findShown(request: CallRequest): string | undefined {
  const shown = readCallerId(request.callerId)
  return shown && 'number' in shown ? shown.number : undefined
}

/** Nothing to judge if nothing is wrong with the caller ID, and the account has registered none that it could be one of. */
export const callerIdRule = {
  id: 'caller-id',
  check: 'caller-id',
  judge(about: Judged) {
    const { call, times, stored } = about
    const { now } = times
    if (!needsRegister(call)) return undefined
    const shown = readCallerId(call.callerId)
    if (shown && 'problem' in shown) {
      const { problem } = shown
      const says = [{ code: 'caller-id-problem', params: { problem } }] as const
      return createDenial('caller-id-invalid', says, now)
    }
    const { callerIds: own = noneRegistered } = stored
    if (own === 'unread') {
      const says = [{ code: 'caller-ids-unread' }] as const
      return createFinding({ verdict: 'unknown', reason: 'check-unanswered', says }, now)
    }
    if (own.barredBy !== undefined) {
      const { prefix, list } = own.barredBy
      const says = [{ code: 'caller-id-barred', params: { prefix, list } }] as const
      return createDenial('caller-id-do-not-originate', says, now)
    }
    if (own.mustBeOwn) return judgeOwn(about, own, shown?.number)
    // Only the law asks for presence where nothing is registered.
    const neighbor = shown && findNeighbor(shown.number, false, about)
    return neighbor?.byLaw ? createDenial('caller-id-neighbor', [neighbor.says], now) : undefined
  },
} as const satisfies Rule

const noneRegistered: OwnCallerIds = { mustBeOwn: false, numbers: [] }

/** Selects what {@link callerIdRule} needs from the register; `undefined` if there is nothing. */
export function selectCallerIds(
  { numbers, projects, barredBy }: CallerIdRegister,
  {
    call,
    number: called,
    now,
  }: { readonly call: CallRequest; readonly number: string; readonly now: Instant },
): OwnCallerIds | undefined {
  const project = findProject(call)
  const mustBeOwn =
    numbers.size > 0 && (project === undefined || projects.has('') || projects.has(project))
  if (!mustBeOwn) return barredBy && { ...noneRegistered, barredBy }
  const isOfCall = (one: OwnNumber) => one.project === '' || one.project === project
  const shown = findShown(call)
  const rows = (shown === undefined ? undefined : numbers.get(shown))?.filter(isOfCall) ?? []
  const at = call.at ?? now
  if (rows.some((one) => isValid(one, at))) return { mustBeOwn, numbers: rows, barredBy }
  const usable = [...numbers.values()].flat().filter((one) => isOfCall(one) && isValid(one, at))
  const isNear = ({ number }: OwnNumber) => number.startsWith(called.slice(0, 3))
  const near = usable.filter(isNear).slice(0, maxAdvised)
  const far = usable.filter((one) => !isNear(one)).slice(0, maxAdvised)
  return { mustBeOwn, numbers: [...rows, ...near, ...far], barredBy }
}

/** An account can have thousands; a message suggests one that does not share the called number's prefix. */
const maxAdvised = 10

/** For an account and project that may use registered caller IDs only. */
function judgeOwn(about: Judged, { numbers }: OwnCallerIds, shown: string | undefined): Finding {
  const { call, number: called, times } = about
  const { now } = times
  const at = call.at ?? now
  const rows = numbers.filter(({ number }) => number === shown)
  const valid = rows.filter((one) => isValid(one, at))
  const [first] = valid
  if (first) {
    const hasPresence = valid.some((one) => one.hasPresence)
    const neighbor = findNeighbor(first.number, hasPresence, about)
    if (neighbor?.isBlocked) return createDenial('caller-id-neighbor', [neighbor.says], now)
    const registered = { code: 'registered-caller-id' } as const
    const says = neighbor ? [registered, neighbor.says] : [registered]
    const judgment = { verdict: 'pass', reason: 'permitted', says } as const
    return { ...createFinding(judgment, now), holdsUntil: Math.max(...valid.map(endOf)) }
  }
  const usable = numbers.filter(
    (one) =>
      isValid(one, at) && findNeighbor(one.number, one.hasPresence, about)?.isBlocked !== true,
  )
  const project = findProject(call)
  return deny({ rows, isShown: shown !== undefined, project }, { called, usable, now, at })
}

interface Neighbor {
  readonly byLaw: boolean
  readonly isBlocked: boolean
  readonly says: Said
}

/** Why a number that is shown may be taken for one of a neighbor of the person called; `undefined` if it may not. */
function findNeighbor(
  shown: string,
  hasPresence: boolean,
  { call, law, settings, number: called, derived: { places }, times: { now } }: Judged,
): Neighbor | undefined {
  if (hasPresence) return undefined
  const citation = law.callerIds.findPresenceLaw(shown, { number: called, places }, call.at ?? now)
  if (citation !== undefined) {
    const says = { code: 'neighbor-by-law', params: { citation } } as const
    return { byLaw: true, isBlocked: true, says }
  }
  const { neighborCallerId, neighborPrefix } = settings
  const digits = neighborPrefix === 'area-code' ? 3 : 6
  if (neighborCallerId === 'off' || shown.slice(0, digits) !== called.slice(0, digits)) {
    return undefined
  }
  const says = { code: `neighbor-by-${neighborPrefix}` } as const
  return { byLaw: false, isBlocked: neighborCallerId === 'block', says }
}

/** `undefined` if only the campaign is named, which belongs to a project that is not known here. */
function findProject({ accountId, projectId = '', campaignId = '' }: CallRequest) {
  const named = parseProjectCode(accountId, projectId)
  return named ?? (campaignId.trim() === '' ? accountId : undefined)
}

const endOf = ({ until = Number.POSITIVE_INFINITY }: OwnNumber) => until

const isValid = (own: OwnNumber, at: Instant) =>
  (own.from === undefined || own.from <= at) && at < endOf(own)

function deny(
  {
    rows,
    isShown,
    project,
  }: {
    readonly rows: readonly OwnNumber[]
    readonly isShown: boolean
    readonly project: string | undefined
  },
  {
    called,
    usable,
    now,
    at,
  }: {
    readonly called: string
    readonly usable: readonly OwnNumber[]
    readonly now: Instant
    readonly at: Instant
  },
): Finding {
  const areaCode = called.slice(0, 3)
  const suggested = usable.find((one) => one.number.startsWith(areaCode)) ?? usable[0]
  const advice: readonly Said[] = [
    suggested
      ? { code: 'caller-id-to-show', params: { number: suggested.number } }
      : { code: 'no-caller-id-to-show' },
    ...(project === undefined ? [{ code: 'name-the-project' } as const] : []),
  ]
  const create = (reason: Finding['reason'], said: Said) =>
    createDenial(reason, [said, ...advice], now)
  if (!isShown) return create('caller-id-missing', { code: 'caller-id-missing' })
  const [last] = rows.toSorted((a, b) => (endOf(a) === endOf(b) ? 0 : endOf(b) - endOf(a)))
  if (!last) return create('caller-id-not-owned', { code: 'caller-id-unregistered' })
  return create('caller-id-expired', sayEnd(last, at))
}

function sayEnd({ from, until }: OwnNumber, at: Instant): Said {
  return until !== undefined && until <= at
    ? { code: 'caller-id-ended', params: { at: formatInstant(until) } }
    : { code: 'caller-id-starts', params: { at: formatInstant(from ?? at) } }
}

function createDenial(reason: Finding['reason'], says: readonly Said[], asOf: Instant): Finding {
  return createFinding({ verdict: 'deny', reason, says }, asOf)
}

function createFinding(
  judgment: Pick<Finding, 'verdict' | 'reason' | 'says'>,
  asOf: Instant,
): Finding {
  const holdsUntil = Number.POSITIVE_INFINITY
  return { check: 'caller-id', source: 'caller-ids', asOf, holdsUntil, ...judgment }
}
