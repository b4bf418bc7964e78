/**
 * May this call be placed? Judges from facts alone: it reads no clock, asks nothing and remembers nothing. What must be known before it can
 * say is its need; the caller answers it and asks again.
 */
import { checkNames, countedChecks } from '../domain/checks.js'
import type { AnswerFailure } from '../domain/compliance.js'
import {
  type CallPurpose,
  type CallRequest,
  decide,
  type Finding,
  type Policy,
  type Ruling,
  telemarketing,
  toShadowPolicy,
} from '../domain/decision.js'
import type { ReassignedStatus } from '../domain/lookups.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import type { Instant, LocalDay } from '../domain/time/clock.js'
import type { Sources } from './facts.js'
import { judgeNumber, judgeNumberOnce, type NumberMemo } from './judge-number.js'
import type { JudgeSettings, StoredFacts } from './judged.js'
import type { Law } from './law.js'
import type { NumberCall } from './number-call.js'
import { findPlaces } from './places.js'
import {
  findLimits,
  findNextAllowedAt,
  judgeAttempt,
  type Ledger,
  type LimitsOfCall,
} from './rules/attempts.js'
import { keyOfCallRule } from './rules/key.js'
import { pausesRule } from './rules/pauses.js'
import { addReassigned, type Basis, findBasis } from './rules/reassigned.js'
import { judgeStored } from './rules/stored.js'

/** The law of a day: the calling rules, and the hours that they give with the days and emergencies that an operator has entered. */
export interface LawInForce {
  readonly rules: Law
  readonly windows: NumberCall['windows']
}

/** A call to a number of the North American plan. */
export interface Call {
  readonly request: CallRequest
  readonly number: PhoneNumber
  /** Absent if nobody said what the call is for. */
  readonly stated: CallPurpose | undefined
}

/** One reading of two clocks. */
export interface Times {
  /** By the machine's clock, by which what is stored ages. */
  readonly now: Instant
  /** By the account's; that of the sandbox may be fixed. */
  readonly accountNow: Instant
}

/** Plain JSON. Each later part is asked only if a ruling without it needs it. */
export interface Facts extends Partial<Sources> {
  readonly times: Times
  /** Absent if there is nothing. */
  readonly stored?: StoredFacts | undefined
  readonly reassigned?: AskedReassigned | undefined
  /** `not-asked` for calls that are no attempts. */
  readonly ledger?: Ledger | 'not-asked' | undefined
}

/** What the sources say of the number, and of what they were asked. */
export interface AskedReassigned extends ReassignedStatus {
  readonly since?: LocalDay | undefined
  readonly basis: Basis['basis']
}

/** What must be known before the ruling is final. Each kind is answered at most once. */
export type Need =
  | { readonly is: 'look-ups' }
  /** Whether the number was reassigned since a day; without one, it is not known since when. */
  | ({ readonly is: 'reassigned' } & Pick<AskedReassigned, 'since' | 'basis'>)
  /** To count the call, or only to read what its limits count. */
  | { readonly is: 'count'; readonly how: 'reserve' | 'read'; readonly limits: LimitsOfCall }

export interface Concluded {
  readonly needs?: undefined
  readonly findings: readonly Finding[]
  readonly ruling: Ruling
}

export type JudgedCall = { readonly needs: Need } | Concluded

/** `memo` is of these facts, this law and these settings. */
export function judge(
  law: LawInForce,
  settings: JudgeSettings,
  call: Call,
  facts: Facts,
  memo?: NumberMemo,
): JudgedCall {
  const { request } = call
  const { times, own, provider, stored = {}, ledger } = facts
  const refused = request.mandate && keyOfCallRule.judge({ call: request, now: times.now })
  // Whatever else may be said about the call, this blocks it, and nothing is looked up for a key that may not ask.
  if (refused)
    return conclude([refused], choosePolicy(settings, request, undefined), request, times)
  if (own === undefined) return { needs: { is: 'look-ups' } }
  const about = describeCall(law, settings, call, { times, sources: { own, provider } })
  const { findings: ofNumber, row } = judgeNumberOnce(about, memo)
  const basis = findBasis(ofNumber, about, row?.row)
  if (basis && facts.reassigned === undefined) {
    return { needs: { is: 'reassigned', since: basis.since, basis: basis.basis } }
  }
  const checked =
    basis && facts.reassigned ? addReassigned(ofNumber, facts.reassigned, basis, about) : ofNumber
  const policy = choosePolicy(settings, request, stored.pauses)
  const found = judgeStored(
    policy.reassigned.mode === 'shadow' ? checked.map((one) => one.inShadow ?? one) : checked,
    {
      law: law.rules,
      settings,
      call: request,
      number: call.number,
      purpose: about.purpose.purpose,
      places: findPlaces(checked),
      stored,
      now: times.now,
    },
  )
  const ruling = rule(found, policy, request, times)
  const limits = findLimits(
    request,
    { number: call.number, findings: found, ruling },
    { rules: { settings, law: law.rules }, policy, purpose: about.purpose.purpose, now: times.now },
  )
  const openLater = { about, facts, policy }
  if (limits === undefined || ledger === 'not-asked') {
    return { findings: found, ruling: findNext(found, ruling, openLater) }
  }
  if (ledger === undefined) {
    const isAttempt = ruling.decision === 'allow' && request.at === undefined
    return { needs: { is: 'count', how: isAttempt ? 'reserve' : 'read', limits } }
  }
  const findings = addCounted(found, judgeAttempt(ledger, limits, times.now))
  return { findings, ruling: findNext(findings, rule(findings, policy, request, times), openLater) }
}

/** Of a call to an extension or abroad, of which pauses alone are judged; `undefined` if none is in force. */
export function judgePaused(
  { rules: law }: LawInForce,
  settings: JudgeSettings,
  request: CallRequest,
  { times, stored = {} }: Facts,
): Concluded | undefined {
  const paused = pausesRule.judge({ call: request, number: '', law, stored, now: times.now })
  if (paused === undefined) return undefined
  return conclude([paused], choosePolicy(settings, request, undefined), request, times)
}

/** What the rules about the number of a call judge; `at` is another instant than that of the call. */
export function describeCall(
  { rules: law, windows }: LawInForce,
  settings: JudgeSettings,
  { request, number, stated }: Call,
  {
    times,
    sources,
    at = request.at ?? times.accountNow,
  }: { readonly times: Times; readonly sources: Sources; readonly at?: Instant },
): NumberCall {
  return {
    law,
    windows,
    settings,
    call: request,
    number,
    stated,
    purpose: stated ? law.purposes.find(stated) : telemarketing,
    at,
    now: times.accountNow,
    sources,
  }
}

function conclude(
  findings: readonly Finding[],
  policy: Policy,
  request: CallRequest,
  times: Times,
): Concluded {
  return { findings, ruling: rule(findings, policy, request, times) }
}

/**
 * By the later of the instant that is judged and now: an exception to policy that has ended at either of them does not
 * apply.
 */
function rule(
  findings: readonly Finding[],
  policy: Policy,
  request: CallRequest,
  { now, accountNow }: Times,
): Ruling {
  return decide(findings, policy, Math.max(now, request.at ?? accountNow))
}

function choosePolicy(
  { policy, shadow: { accounts, trunks } }: Pick<JudgeSettings, 'policy' | 'shadow'>,
  { accountId, trunk }: Pick<CallRequest, 'accountId' | 'trunk'>,
  pauses: StoredFacts['pauses'],
): Policy {
  const isShadowed = accounts.includes(accountId) || (trunk !== undefined && trunks.includes(trunk))
  if (isShadowed) return toShadowPolicy(policy)
  if (pauses === undefined || pauses === 'unread') return policy
  const shadowed = checkNames.filter((check) =>
    pauses.some(({ subject }) => subject === `check:${check}:${accountId}`),
  )
  return shadowed.length === 0 ? policy : toShadowPolicy(policy, shadowed)
}

/** What is counted for a key comes first, in the place of what its limits say otherwise; the rest last. */
function addCounted(found: readonly Finding[], counted: readonly Finding[]): readonly Finding[] {
  const ofKey = counted.filter(({ check }) => check === 'mandate')
  const others = ofKey.length > 0 ? found.slice(1) : found
  return [...ofKey, ...others, ...counted.filter(({ check }) => check !== 'mandate')]
}

/**
 * When what is counted and the rules about the number must all permit the call, these judge the same facts at the instant at which the last one
 * opens.
 */
function findNext(
  found: readonly Finding[],
  ruling: Ruling,
  {
    about,
    facts,
    policy,
  }: { readonly about: NumberCall; readonly facts: Facts; readonly policy: Policy },
): Ruling {
  const isByCount = found.some(
    ({ check, verdict }) => verdict !== 'pass' && countedChecks.has(check),
  )
  if (!isByCount || ruling.nextAllowedAt === undefined) return ruling
  const nextAllowedAt = findNextAllowedAt(ruling.nextAllowedAt, (at) =>
    judgeAt(
      { ...about, at, sources: withoutHours(about.sources) },
      facts.reassigned ?? notAsked,
      policy,
    ),
  )
  return { ...ruling, nextAllowedAt }
}

/** A provider does not say how its hours and its row will be later. */
function withoutHours({ own, provider }: Sources): Sources {
  if (provider === undefined) return { own }
  return { own, provider: { ...provider, legalTime: laterUnknown, scrub: laterUnknown } }
}

const laterUnknown: AnswerFailure = {
  ok: false,
  reason: 'not-askable',
  says: [{ code: 'not-askable' }],
  source: 'gate',
}

/** How the rules about the number alone rule at the instant. */
function judgeAt(about: NumberCall, reassigned: ReassignedStatus, policy: Policy): Ruling {
  const { findings, row } = judgeNumber(about)
  const basis = findBasis(findings, about, row?.row)
  const all = basis ? addReassigned(findings, reassigned, basis, about) : findings
  return decide(all, policy, Math.max(about.at, about.call.at ?? about.at))
}

const notAsked: ReassignedStatus = {
  result: 'unreachable',
  source: 'reassigned',
}
