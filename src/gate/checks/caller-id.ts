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
import type { GateSettings } from '../gate-deps.js'

/** Calls of a person that show nothing are not judged. */
export function needsRegister(request: CallRequest): boolean {
  return request.callKind !== 'manual' || readCallerId(request.callerId) !== undefined
}

/** What a call shows, as ten digits; `undefined` if it shows nothing, or no number that may be shown. */
export function findShown(request: CallRequest): string | undefined {
  const shown = readCallerId(request.callerId)
  return shown && 'number' in shown ? shown.number : undefined
}

/** What is known besides the request. */
interface CallerIdFacts {
  /** The number that is called. */
  readonly number: string
  /** `undefined` if the own numbers could not be read. */
  readonly own: CallerIdRegister | undefined
  readonly now: Instant
  readonly settings: Pick<GateSettings, 'neighborCallerId' | 'neighborPrefix'>
  /** The citation of the law by which a number may be shown only with presence where it is. */
  readonly findPresenceLaw: (shown: string) => string | undefined
}

/**
 * The finding on what a call shows; `undefined` if there is nothing to object to and the account has no own numbers that it
 * could be one of.
 */
export function judgeCallerId(request: CallRequest, facts: CallerIdFacts): Finding | undefined {
  const { own, now } = facts
  const shown = readCallerId(request.callerId)
  if (shown && 'problem' in shown) {
    const detail = `what the call shows ${shown.problem}; show a number of your own that can be called back`
    return createFinding({ verdict: 'deny', reason: 'caller-id-invalid', detail }, now)
  }
  if (shown === undefined && request.callKind === 'manual') return undefined
  if (own === undefined) {
    const detail = 'the own numbers of the account could not be read'
    return createFinding({ verdict: 'unknown', reason: 'check-unanswered', detail }, now)
  }
  if (own.barredBy !== undefined) {
    const detail = `what the call shows is on a do-not-originate list (${own.barredBy})`
    return createFinding({ verdict: 'deny', reason: 'caller-id-do-not-originate', detail }, now)
  }
  const project = findProject(request)
  if (isInForce(own, project)) return judgeOwn(request, facts, { own, shown: shown?.number })
  // Only the law asks for presence where nothing is registered.
  const neighbor = shown && findNeighbor(shown.number, false, facts)
  return neighbor?.byLaw ? createFinding(toDenial(neighbor), now) : undefined
}

/** Of an account and project whose calls may show own numbers alone. */
function judgeOwn(
  request: CallRequest,
  facts: CallerIdFacts,
  { own, shown }: { readonly own: CallerIdRegister; readonly shown: string | undefined },
): Finding {
  const { now } = facts
  const at = request.at ?? now
  const project = findProject(request)
  const isOfCall = (one: OwnNumber) => one.project === '' || one.project === project
  const rows = shown === undefined ? undefined : own.numbers.get(shown)?.filter(isOfCall)
  const valid = rows?.filter((one) => isValid(one, at)) ?? []
  const [first] = valid
  if (first) {
    const hasPresence = valid.some((one) => one.hasPresence)
    const neighbor = findNeighbor(first.number, hasPresence, facts)
    if (neighbor?.isBlocked) return createFinding(toDenial(neighbor), now)
    const detail = neighbor ? `an own number; ${neighbor.detail}` : 'an own number'
    const judgment = { verdict: 'pass', reason: 'permitted', detail } as const
    return {
      ...createFinding(judgment, now),
      holdsUntil: Math.max(...valid.map(({ until }) => until)),
    }
  }
  const usable = [...own.numbers.values()]
    .flat()
    .filter((one) => isOfCall(one) && isValid(one, at))
    .filter((one) => findNeighbor(one.number, one.hasPresence, facts)?.isBlocked !== true)
  const { number: called } = facts
  return deny({ rows, isShown: shown !== undefined, project }, { called, usable, now, at })
}

interface Neighbor {
  readonly byLaw: boolean
  readonly isBlocked: boolean
  readonly detail: string
}

/** Why a number that is shown may be taken for one of a neighbor of the person called; `undefined` if it may not. */
function findNeighbor(
  shown: string,
  hasPresence: boolean,
  {
    number: called,
    settings: { neighborCallerId, neighborPrefix },
    findPresenceLaw,
  }: Pick<CallerIdFacts, 'number' | 'settings' | 'findPresenceLaw'>,
): Neighbor | undefined {
  if (hasPresence) return undefined
  const law = findPresenceLaw(shown)
  const advice = 'show another, or add its presence to the register'
  if (law !== undefined) {
    const detail = `it is of the region of the person called, and no presence there is recorded (${law}); ${advice}`
    return { byLaw: true, isBlocked: true, detail }
  }
  const digits = neighborPrefix === 'area-code' ? 3 : 6
  if (neighborCallerId === 'off' || shown.slice(0, digits) !== called.slice(0, digits)) {
    return undefined
  }
  const what = neighborPrefix === 'area-code' ? 'area code' : 'area code and exchange'
  const detail = `it has the ${what} of the person called, and no presence there is recorded (gate.neighborCallerId); ${advice}`
  return { byLaw: false, isBlocked: neighborCallerId === 'block', detail }
}

const toDenial = ({ detail }: Neighbor) =>
  ({ verdict: 'deny', reason: 'caller-id-neighbor', detail }) as const

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
  const advice = suggested
    ? `; ${suggested.number} may be shown`
    : '; the account has no own number that may be shown in this call now'
  const hint = project === undefined ? ' (name the project of the call, not only the campaign)' : ''
  const create = (reason: Finding['reason'], text: string) =>
    createFinding({ verdict: 'deny', reason, detail: text + advice + hint }, now)
  if (!isShown) return create('caller-id-missing', 'the call shows no caller ID')
  const [last] = rows.toSorted((a, b) => b.until - a.until)
  if (!last) return create('caller-id-not-owned', 'what the call shows is not an own number')
  const text = last.until <= at ? `ended ${formatInstant(last.until)}` : describeStart(last)
  return create('caller-id-expired', `what the call shows ${text}`)
}

const describeStart = ({ from }: OwnNumber) => `may be shown from ${formatInstant(from)} on`

function createFinding(
  judgment: Pick<Finding, 'verdict' | 'reason' | 'detail'>,
  asOf: Instant,
): Finding {
  const holdsUntil = Number.POSITIVE_INFINITY
  return { check: 'caller-id', source: 'caller-ids', asOf, holdsUntil, ...judgment }
}
