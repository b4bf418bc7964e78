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
import type { CallWithFacts, Judged, JudgeSettings, LimitsOfCall, Rule } from './judged.js'
import type { Law } from './law.js'
import { createFailed } from './make-finding.js'
import { findLimits, findNextAllowedAt } from './rules/attempts.js'
import { pausesRule } from './rules/pauses.js'
import { permissionRule } from './rules/permission.js'
import { findBasis, reassignedRule } from './rules/reassigned.js'

/** The law of a day: the calling rules, and the hours that they give with the days and emergencies that an operator has entered. */
export interface LawInForce {
  readonly rules: Law
  readonly windows: Judged['windows']
}

/** A call to a number of the North American plan. */
export interface Call {
  readonly request: CallRequest
  readonly number: PhoneNumber
  /** Absent if nobody said what the call is for. */
  readonly stated: CallPurpose | undefined
}

/** What the judge must know before the ruling is final. Each kind is answered at most once. */
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

/** `memo` must belong to these facts, this law and these settings. */
export function judge(
  law: LawInForce,
  settings: JudgeSettings,
  call: Call,
  facts: Facts,
  memo?: NumberMemo,
): Judgment {
  const { own, provider } = facts
  if (call.request.mandate) {
    const refused = firstRule.judge({ call: call.request, times: facts.times })
    // Nothing is looked up for a key that is not allowed to make this call.
    if (refused) return concludeBy(refused, firstRule, settings, call.request, facts)
  }
  if (own === undefined) return needsLookUps
  const about = describe(law, settings, call, facts, { own, provider })
  const { derived, findings: ofNumber } = judgeNumber(about, memo)
  // Safe to change: nobody else has it yet. Copying an object of this size takes as long as a rule.
  const judged: Judged = Object.assign(about, { derived })
  const basis = facts.reassigned === undefined ? findBasis(judged) : undefined
  if (basis) return { needs: { is: 'reassigned', since: basis.since, basis: basis.basis } }
  const findings: Finding[] = []
  const notJudged: string[] = [firstRule.id]
  for (const rule of rulesOfCall) {
    add(findings, ofNumber.get(rule.id) ?? judgeBy(rule, judged), notJudged, rule)
  }
  const ruling = ruleOn(findings, judged)
  const limits = findLimits(judged, findings, ruling)
  if (limits === undefined) {
    notJudged.push(...countedIds)
    return { findings, ruling: findNext(findings, ruling, judged), notJudged }
  }
  if (facts.ledger === undefined) {
    const isAttempt = ruling.decision === 'allow' && call.request.at === undefined
    return { needs: { is: 'count', how: isAttempt ? 'reserve' : 'read', limits } }
  }
  const counted = { ...judged, limits }
  for (const rule of countedRules) add(findings, judgeBy(rule, counted), notJudged, rule)
  return { findings, ruling: findNext(findings, ruleOn(findings, judged), judged), notJudged }
}

const needsLookUps: Judgment = { needs: { is: 'look-ups' } }

const countedIds = countedRules.map(({ id }) => id)

function judgeBy(rule: Rule, about: Judged): Finding | undefined {
  try {
    return rule.judge(about)
  } catch (cause) {
    return createFailed(rule.check, about, cause)
  }
}

function add(
  findings: Finding[],
  found: Finding | undefined,
  notJudged: string[],
  { id, replaces }: Rule,
): void {
  if (found === undefined) {
    notJudged.push(id)
    return
  }
  const at = replaces ? findings.findIndex(({ check }) => check === found.check) : -1
  if (at === -1) findings.push(found)
  else findings[at] = found
}

/** Only pauses apply to calls to extensions and foreign numbers; `undefined` if none is in force. */
export function judgePaused(
  { rules: law }: LawInForce,
  settings: JudgeSettings,
  call: CallRequest,
  facts: Facts,
): Concluded | undefined {
  const { times, stored = nothing } = facts
  const paused = pausesRule.judge({ call, number: '', law, times, stored })
  return paused && concludeBy(paused, pausesRule, settings, call, facts)
}

function concludeBy(
  finding: Finding,
  by: Rule,
  settings: JudgeSettings,
  call: CallRequest,
  { times }: Facts,
): Concluded {
  const policy = choosePolicy(settings, call, undefined)
  const notJudged = allRules.flatMap(({ id }) => (id === by.id ? [] : [id]))
  return { findings: [finding], ruling: ruleOn([finding], { policy, call, times }), notJudged }
}

function describe(
  { rules: law, windows }: LawInForce,
  settings: JudgeSettings,
  { request: call, number, stated }: Call,
  { times, stored = nothing, reassigned, ledger }: Facts,
  sources: Sources,
): CallWithFacts {
  return {
    law,
    windows,
    settings,
    policy: choosePolicy(settings, call, stored.pauses),
    call,
    number,
    stated,
    purpose: stated ? law.purposes.find(stated) : telemarketing,
    times,
    at: call.at ?? times.accountNow,
    sources,
    stored,
    reassigned,
    ledger,
  }
}

const nothing: StoredFacts = {}

/** See {@link findOpenQuestions}. */
export function listOpenQuestions(
  law: LawInForce,
  settings: JudgeSettings,
  call: Call,
  facts: Facts & Pick<Sources, 'own'>,
): ReadonlySet<keyof ProviderAnswers> {
  return findOpenQuestions(describe(law, settings, call, facts, { own: facts.own }))
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
 * If counts and the number's rules must both permit the call, applies these rules to the same facts at the instant when the last count has
 * room.
 */
function findNext(found: readonly Finding[], ruling: Ruling, about: Judged): Ruling {
  const isByCount = found.some(
    ({ check, verdict }) => verdict !== 'pass' && countedChecks.has(check),
  )
  if (!isByCount || ruling.nextAllowedAt === undefined) return ruling
  const nextAllowedAt = findNextAllowedAt(ruling.nextAllowedAt, (at) => ruleAt(about, at))
  return { ...ruling, nextAllowedAt }
}

/** The ruling of the number's rules at another instant, from the same facts. */
function ruleAt(about: Judged, at: Instant): Ruling {
  const { policy, call, reassigned = notAsked, sources } = about
  const then = { ...about, at, reassigned, sources: withoutHours(sources) }
  const { derived, findings } = judgeNumber(then, undefined)
  const judged = { ...then, derived }
  const more = [permissionRule, reassignedRule].flatMap((rule) => judgeBy(rule, judged) ?? [])
  return decide([...findings.values(), ...more], policy, Math.max(at, call.at ?? at))
}

/** A provider does not say what its hours and its row will be later. */
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
