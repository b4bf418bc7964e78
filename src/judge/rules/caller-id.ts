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
export const callerIdRule: Rule = {
  judge(about) {
    const { call, now, stored } = about
    if (!needsRegister(call)) return undefined
    const shown = readCallerId(call.callerId)
    if (shown && 'problem' in shown) {
      const { problem } = shown
      const says = [{ code: 'caller-id-problem', params: { problem } }] as const
      return createDenial('caller-id-invalid', says, now)
    }
    const { own } = stored
    if (own === undefined) {
      const says = [{ code: 'caller-ids-unread' }] as const
      return createFinding({ verdict: 'unknown', reason: 'check-unanswered', says }, now)
    }
    if (own.barredBy !== undefined) {
      const { prefix, list } = own.barredBy
      const says = [{ code: 'caller-id-barred', params: { prefix, list } }] as const
      return createDenial('caller-id-do-not-originate', says, now)
    }
    if (isInForce(own, findProject(call))) return judgeOwn(about, { own, shown: shown?.number })
    // Only the law asks for presence where nothing is registered.
    const neighbor = shown && findNeighbor(shown.number, false, about)
    return neighbor?.byLaw ? createDenial('caller-id-neighbor', [neighbor.says], now) : undefined
  },
}

/** For an account and project that may use registered caller IDs only. */
function judgeOwn(
  about: Judged,
  { own, shown }: { readonly own: CallerIdRegister; readonly shown: string | undefined },
): Finding {
  const { call, number: called, now } = about
  const at = call.at ?? now
  const project = findProject(call)
  const isOfCall = (one: OwnNumber) => one.project === '' || one.project === project
  const rows = shown === undefined ? undefined : own.numbers.get(shown)?.filter(isOfCall)
  const valid = rows?.filter((one) => isValid(one, at)) ?? []
  const [first] = valid
  if (first) {
    const hasPresence = valid.some((one) => one.hasPresence)
    const neighbor = findNeighbor(first.number, hasPresence, about)
    if (neighbor?.isBlocked) return createDenial('caller-id-neighbor', [neighbor.says], now)
    const registered = { code: 'registered-caller-id' } as const
    const says = neighbor ? [registered, neighbor.says] : [registered]
    const judgment = { verdict: 'pass', reason: 'permitted', says } as const
    return {
      ...createFinding(judgment, now),
      holdsUntil: Math.max(...valid.map(({ until }) => until)),
    }
  }
  const usable = [...own.numbers.values()]
    .flat()
    .filter((one) => isOfCall(one) && isValid(one, at))
    .filter((one) => findNeighbor(one.number, one.hasPresence, about)?.isBlocked !== true)
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
  { call, law, settings, number: called, places, now }: Judged,
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

function isInForce({ numbers, projects }: CallerIdRegister, project: string | undefined): boolean {
  if (numbers.size === 0) return false
  return project === undefined || projects.has('') || projects.has(project)
}

const isValid = ({ from, until }: OwnNumber, at: Instant) => from <= at && at < until

function deny(
  {
    rows = [],
    isShown,
    project,
  }: {
    readonly rows: readonly OwnNumber[] | undefined
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
  const [last] = rows.toSorted((a, b) => b.until - a.until)
  if (!last) return create('caller-id-not-owned', { code: 'caller-id-unregistered' })
  return create('caller-id-expired', sayEnd(last, at))
}

function sayEnd({ from, until }: OwnNumber, at: Instant): Said {
  return until <= at
    ? { code: 'caller-id-ended', params: { at: formatInstant(until) } }
    : { code: 'caller-id-starts', params: { at: formatInstant(from) } }
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
