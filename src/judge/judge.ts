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
import type { PhoneNumber } from '../domain/phone-number.js'
import type { Instant } from '../domain/time/clock.js'
import { allRules, countedRules, firstRule, rules as rulesOfCall } from './all-rules.js'
import type {
  AskedReassigned,
  Facts,
  ProviderAnswers,
  RestsOn,
  Sources,
  StoredFacts,
} from './facts.js'
import { findOpenQuestions, judgeNumber, type NumberMemo } from './judge-number.js'
import type {
  CallWithFacts,
  Judged,
  JudgedCall,
  JudgeSettings,
  LimitsOfCall,
  Rule,
} from './judged.js'
import type { Law } from './law.js'
import { guard } from './make-finding.js'
import { findLimits, findNextAllowedAt } from './rules/attempts.js'
import { pausesRule } from './rules/pauses.js'
import { permissionRule } from './rules/permission.js'
import { findBasis, reassignedRule } from './rules/reassigned.js'

/** The law of a day: the calling rules, and the hours that they give with the days and emergencies that an operator has entered. */
export interface LawInForce {
  readonly rules: Law
  readonly windows: JudgedCall['windows']
}

/** A call to a number of the North American plan. */
export interface Call {
  readonly request: CallRequest
  readonly number: PhoneNumber
  /** Absent if nobody said what the call is for. */
  readonly stated: CallPurpose | undefined
}

/** What must be known before the ruling is final. Each kind is answered at most once. */
export type Need =
  | { readonly is: 'look-ups' }
  /** Whether the number was reassigned since a day. */
  | ({ readonly is: 'reassigned' } & RestsOn)
  /** To count the call, or only to read what its limits count. */
  | { readonly is: 'count'; readonly how: 'reserve' | 'read'; readonly limits: LimitsOfCall }

export interface Concluded {
  readonly needs?: undefined
  readonly findings: readonly Finding[]
  readonly ruling: Ruling
  /** The ids of the rules that had nothing to judge. */
  readonly notJudged: readonly string[]
}

export type Judgment = { readonly needs: Need } | Concluded

/** `memo` is of these facts, this law and these settings. */
export function judge(
  law: LawInForce,
  settings: JudgeSettings,
  call: Call,
  facts: Facts,
  memo?: NumberMemo,
): Judgment {
  const asked = describe(law, settings, call, facts)
  const refused = firstRule.judge(asked)
  // Whatever else may be said about the call, this blocks it, and nothing is looked up for a key that may not ask.
  if (refused) return concludeBy(refused, firstRule, asked)
  const { own, provider } = facts
  if (own === undefined) return { needs: { is: 'look-ups' } }
  const sources = { own, provider }
  const about = withFacts({ ...asked, number: call.number }, facts, sources)
  const { derived, findings: ofNumber } = judgeNumber(about, memo)
  const judged: Judged = { ...about, derived }
  const basis = facts.reassigned === undefined ? findBasis(judged) : undefined
  if (basis) return { needs: { is: 'reassigned', since: basis.since, basis: basis.basis } }
  const notJudged: string[] = [firstRule.id]
  let findings: readonly Finding[] = []
  for (const rule of rulesOfCall) {
    const found = ofNumber.get(rule.id) ?? judgeBy(rule, judged)
    if (found) findings = add(findings, found)
    else notJudged.push(rule.id)
  }
  const ruling = ruleOn(findings, judged)
  const limits = findLimits(judged, findings, ruling)
  if (limits && facts.ledger === undefined) {
    const isAttempt = ruling.decision === 'allow' && call.request.at === undefined
    return { needs: { is: 'count', how: isAttempt ? 'reserve' : 'read', limits } }
  }
  const counted: Judged = { ...judged, limits }
  let all = findings
  for (const rule of countedRules) {
    const found = limits && judgeBy(rule, counted)
    if (found) all = add(all, found)
    else notJudged.push(rule.id)
  }
  const last = all === findings ? ruling : ruleOn(all, judged)
  return { findings: all, ruling: findNext(all, last, judged), notJudged }
}

function judgeBy(rule: Rule, about: Judged): Finding | undefined {
  // A rule that fails has something to judge.
  let nothing = false
  const found = guard(rule.check, about, () => {
    const finding = rule.judge(about)
    nothing = finding === undefined
    return finding as Finding
  })
  return nothing ? undefined : found
}

/** In the place of an earlier one of the same name, such as that of a key that has reached its limit. */
function add(findings: readonly Finding[], found: Finding): readonly Finding[] {
  const at = findings.findIndex(({ check }) => check === found.check)
  return at === -1 ? [...findings, found] : findings.with(at, found)
}

/** Of a call to an extension or abroad, of which pauses alone are judged; `undefined` if none is in force. */
export function judgePaused(
  law: LawInForce,
  settings: JudgeSettings,
  request: CallRequest,
  facts: Facts,
): Concluded | undefined {
  const asked = describe(law, settings, { request, number: '', stated: undefined }, facts)
  const paused = pausesRule.judge({ ...asked, stored: facts.stored ?? {} })
  return paused && concludeBy(paused, pausesRule, asked)
}

function concludeBy(finding: Finding, by: Rule, asked: JudgedCall): Concluded {
  const policy = choosePolicy(asked.settings, asked.call, undefined)
  const notJudged = allRules.flatMap(({ id }) => (id === by.id ? [] : [id]))
  return { findings: [finding], ruling: ruleOn([finding], { ...asked, policy }), notJudged }
}

function describe(
  { rules: law, windows }: LawInForce,
  settings: JudgeSettings,
  { request, number, stated }: Omit<Call, 'number'> & Pick<JudgedCall, 'number'>,
  { times }: Pick<Facts, 'times'>,
): JudgedCall {
  return {
    law,
    windows,
    settings,
    call: request,
    number,
    stated,
    purpose: stated ? law.purposes.find(stated) : telemarketing,
    times,
    at: request.at ?? times.accountNow,
  }
}

function withFacts(
  asked: JudgedCall & Pick<Call, 'number'>,
  { stored = {}, reassigned, ledger }: Facts,
  sources: Sources,
): CallWithFacts {
  const { law, windows, settings, call, number, stated, purpose, times, at } = asked
  const policy = choosePolicy(settings, call, stored.pauses)
  // Every field is named: a spread is slow.
  return {
    law,
    windows,
    settings,
    policy,
    call,
    number,
    stated,
    purpose,
    times,
    at,
    sources,
    stored,
    reassigned,
    ledger,
  }
}

/** See {@link findOpenQuestions}. */
export function listOpenQuestions(
  law: LawInForce,
  settings: JudgeSettings,
  call: Call,
  facts: Facts & Pick<Sources, 'own'>,
): ReadonlySet<keyof ProviderAnswers> {
  const asked = describe(law, settings, call, facts)
  return findOpenQuestions(withFacts({ ...asked, number: call.number }, facts, { own: facts.own }))
}

/**
 * By the later of the instant that is judged and now: an exception to policy that has ended at either of them does not
 * apply.
 */
function ruleOn(
  findings: readonly Finding[],
  { policy, call, times }: Pick<Judged, 'policy' | 'call' | 'times'>,
): Ruling {
  return decide(findings, policy, Math.max(times.now, call.at ?? times.accountNow))
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

/**
 * When what is counted and the rules about the number must all permit the call, these judge the same facts at the instant at which the last one
 * opens.
 */
function findNext(found: readonly Finding[], ruling: Ruling, about: Judged): Ruling {
  const isByCount = found.some(
    ({ check, verdict }) => verdict !== 'pass' && countedChecks.has(check),
  )
  if (!isByCount || ruling.nextAllowedAt === undefined) return ruling
  const nextAllowedAt = findNextAllowedAt(ruling.nextAllowedAt, (at) => ruleAt(about, at))
  return { ...ruling, nextAllowedAt }
}

/** How the rules about the number alone rule at another instant, by the same facts. */
function ruleAt(about: Judged, at: Instant): Ruling {
  const { policy, call, reassigned = notAsked, sources } = about
  const then = { ...about, at, reassigned, sources: withoutHours(sources) }
  const { derived, findings } = judgeNumber(then, undefined)
  const judged = { ...then, derived }
  const more = [permissionRule, reassignedRule].flatMap((rule) => judgeBy(rule, judged) ?? [])
  return decide([...findings.values(), ...more], policy, Math.max(at, call.at ?? at))
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

const notAsked: AskedReassigned = { result: 'unreachable', source: 'reassigned', basis: 'consent' }
