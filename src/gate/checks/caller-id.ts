/**
 * Whether the number that a call shows may be shown: 47 CFR 64.1601(e) and 16 CFR 310.4(a)(8) have telemarketers transmit a number,
 * which takes do-not-call requests; 47 U.S.C. 227(e) and 47 CFR 64.1604 forbid a misleading one.
 */
import { parseProjectCode } from '../../domain/caller.js'
import type { CallRequest, Finding } from '../../domain/decision.js'
import type { CallerIdRegister, OwnNumber } from '../../domain/mandate.js'
import { parseCallerId, parseDialString } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'

/** What telephone systems give in place of a number that is withheld. */
const withheld =
  /^\s*(?:(?:sips?:)?(?:anonymous|restricted|private|unavailable|unknown)(?:@[\w.-]*)?\s*)?$/i

/** The trunk of a PBX replaces the extension or the name of a telephone, and nobody says by what. */
function isMissing({ callerId, via }: CallRequest): boolean {
  if (callerId === undefined || withheld.test(callerId)) return true
  if (via !== 'asterisk') return false
  const { kind } = parseDialString(callerId)
  return kind !== 'nanp' && kind !== 'service-code'
}

/** Calls of a person that show nothing are not judged. */
export function needsRegister(request: CallRequest): boolean {
  return request.callKind !== 'manual' || !isMissing(request)
}

/**
 * The finding on what a call to `number` shows; `undefined` if there is nothing to object to and the account has no own numbers that it
 * could be one of. `own` is `undefined` if they could not be read.
 */
export function judgeCallerId(
  request: CallRequest,
  {
    number: called,
    own,
    now,
  }: {
    readonly number: string
    readonly own: CallerIdRegister | undefined
    readonly now: Instant
  },
): Finding | undefined {
  const { callerId = '' } = request
  const shown = isMissing(request) ? undefined : parseCallerId(callerId)
  if (shown && 'problem' in shown) {
    const detail = `what the call shows ${shown.problem}; show a number of your own that can be called back`
    return createFinding({ verdict: 'deny', reason: 'caller-id-invalid', detail }, now)
  }
  if (shown === undefined && request.callKind === 'manual') return undefined
  if (own === undefined) {
    const detail = 'the own numbers of the account could not be read'
    return createFinding({ verdict: 'unknown', reason: 'check-unanswered', detail }, now)
  }
  const project = findProject(request)
  if (!isInForce(own, project)) return undefined
  const at = request.at ?? now
  const isOfCall = (one: OwnNumber) => one.project === '' || one.project === project
  const rows = shown && own.numbers.get(shown.number)?.filter(isOfCall)
  const valid = rows?.find((one) => isValid(one, at))
  if (valid) {
    const judgment = { verdict: 'pass', reason: 'permitted', detail: 'an own number' } as const
    return { ...createFinding(judgment, now), holdsUntil: valid.until }
  }
  const usable = [...own.numbers.values()].flat().filter((one) => isOfCall(one) && isValid(one, at))
  return deny({ rows, isShown: shown !== undefined, project }, { called, usable, now, at })
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
