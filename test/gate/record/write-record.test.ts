/** The text of a decision, which is put together by hand, is the one that JSON gives of its members. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { reasonCodes } from '../../../src/domain/checks.js'
import {
  type CallRequest,
  callKinds,
  checkNames,
  type Decision,
  type Finding,
  type PolicyEffect,
  policyEffects,
} from '../../../src/domain/decision.js'
import type { ListVersion } from '../../../src/domain/number-set.js'
import { describeSaid, type Said } from '../../../src/domain/words/words.js'
import {
  describeFinding,
  describeWhy,
  toReply,
} from '../../../src/gate/record/describe-decision.js'
import { readRecord } from '../../../src/gate/record/read-record.js'
import { encodeReply, replyTo, writeDecision } from '../../../src/gate/record/write-record.js'
import type { Facts } from '../../../src/judge/facts.js'
import { bodyOf } from '../../support/journal.js'
import { knownFacts } from '../../support/own-facts.js'
import { anyText, holds } from '../../unit/properties-support.js'

const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined })
const instant = fc.oneof(
  fc.integer({ min: -2_200_000_000_000, max: 7_200_000_000_000 }),
  fc.integer({ min: -2_200_000_000, max: 7_200_000_000 }).map((second) => second * 1000),
)
const endless = fc.oneof(instant, fc.constant(Number.POSITIVE_INFINITY))

const anyList: fc.Arbitrary<ListVersion> = fc.record({
  name: anyText,
  version: anyText,
  asOf: instant,
})

const place = { region: anyText, name: anyText, zone: anyText, day: fc.constant('2026-11-23') }
const said: fc.Arbitrary<Said> = fc.oneof(
  fc.record({ code: fc.constant('no-litigator'), quote: maybe(anyText), source: maybe(anyText) }),
  fc.record({ code: fc.constant('invalid-fact'), quote: anyText }),
  fc.record({
    code: fc.constant('local-day'),
    params: fc.record(place),
    source: maybe(anyText),
  }),
  fc.record({
    code: fc.constant('consent-kinds'),
    params: fc.record({ kinds: fc.array(anyText, { maxLength: 2 }) }),
  }),
  fc.record({
    code: fc.constant('on-internal-list-since'),
    params: fc.record({ since: anyText }),
  }),
)
const anySays: fc.Arbitrary<readonly Said[]> = fc.array(said, { maxLength: 3 })

const sourceFinding = fc.record({
  check: fc.constantFrom(...checkNames),
  verdict: fc.constantFrom('pass', 'deny', 'unknown'),
  reason: fc.constantFrom(...reasonCodes),
  says: anySays,
  source: anyText,
  asOf: instant,
  holdsUntil: fc.oneof(endless, fc.constant(Number.NEGATIVE_INFINITY)),
  opensAt: maybe(endless),
  isRequestError: maybe(fc.boolean()),
  notRenewed: maybe(anySays),
  lists: maybe(fc.array(anyList, { maxLength: 3 })),
  unmetLaws: maybe(fc.array(anyText, { minLength: 1, maxLength: 2 })),
}) satisfies fc.Arbitrary<Finding>

const anyFinding: fc.Arbitrary<Finding> = fc
  .tuple(
    sourceFinding,
    maybe(sourceFinding),
    maybe(fc.array(sourceFinding, { minLength: 1, maxLength: 3 })),
  )
  .map(([finding, reassigned, parts]) => ({ ...finding, reassigned, parts }))

const anyEffect: fc.Arbitrary<PolicyEffect> = fc.record({
  check: fc.constantFrom(...checkNames),
  effect: fc.constantFrom(...policyEffects),
  because: maybe(anyText),
  until: maybe(endless),
})

const anyCall: fc.Arbitrary<CallRequest> = fc.record({
  accountId: anyText,
  keyId: maybe(anyText),
  dialed: anyText,
  callKind: fc.constantFrom(...callKinds),
  projectId: maybe(anyText),
  campaignId: maybe(anyText),
  postalCode: maybe(anyText),
  callerId: maybe(anyText),
  reference: maybe(anyText),
  at: maybe(instant),
  channel: maybe(fc.record({ server: anyText, id: anyText })),
  via: fc.constantFrom('http', 'predial', 'asterisk', 'check'),
})

const isByRate = ({ findings, effects }: Decision) =>
  findings.some(({ reason }) => reason === 'abandonment-rate') &&
  !effects.some(({ check, effect }) => check === 'abandonment' && effect === 'shadowed')

const anyDecision: fc.Arbitrary<Decision> = fc.record({
  id: fc.stringMatching(/^[a-z0-9]{1,29}$/),
  accountId: anyText,
  request: anyCall,
  number: anyText,
  decision: fc.constantFrom('allow', 'block'),
  reason: fc.constantFrom(...reasonCodes),
  effects: fc.array(anyEffect, { maxLength: 3 }),
  findings: fc.array(anyFinding, { maxLength: 4 }),
  holdsUntil: endless,
  nextAllowedAt: maybe(endless),
  decidedAt: instant,
  judgedAt: instant,
  accountTime: instant,
  says: maybe(anySays),
  validUntil: instant,
  rules: fc.stringMatching(/^[0-9a-f]{12}$/),
  facts: maybe(
    fc.record({
      own: maybe(fc.constantFrom(knownFacts(), knownFacts({ postalCode: '10001' }))),
      stored: maybe(fc.constantFrom({}, { pauses: 'unread' })),
      ledger: maybe(fc.constantFrom('not-asked', { failure: 'no database' })),
    }),
  ),
})

/** The slow and obvious way: an instant as `Date` writes it. */
const iso = (at: number | undefined) =>
  at === undefined || !Number.isFinite(at)
    ? undefined
    : new Date(at).toISOString().replace('.000Z', 'Z')

/** The members in their order. The message and what policy let pass have tests of their own. */
function expectedText(decision: Decision, form: 'record' | 'reply'): string {
  const { request, effects, says } = decision
  const { message, degraded } = replyTo(decision)
  const isReply = form === 'reply'
  const document = {
    id: decision.id,
    decision: decision.decision,
    reason: decision.reason,
    message: isReply ? message : undefined,
    detail: isReply && says ? describeSaid(says) : undefined,
    number: decision.number,
    dial: decision.decision === 'allow' ? decision.number : undefined,
    callKind: request.callKind,
    decidedAt: iso(decision.decidedAt),
    judgedAt: iso(decision.judgedAt),
    validUntil: iso(decision.validUntil),
    nextAllowedAt: iso(decision.nextAllowedAt),
    nextAllowedAtLatest: (decision.nextAllowedAt !== undefined && isByRate(decision)) || undefined,
    whatIf: request.at !== undefined,
    degraded,
    says,
    policy:
      effects.length === 0
        ? undefined
        : effects.map((one) => ({
            check: one.check,
            effect: one.effect,
            because: isReply ? describeWhy(one, decision.findings) : one.because,
            until: iso(one.until),
          })),
    findings: decision.findings.map((finding) => expectedFinding(finding, decision, isReply)),
    accountId: decision.accountId,
    keyId: request.keyId,
    via: request.via,
    channel: request.channel,
    projectId: request.projectId,
    campaignId: request.campaignId,
    callerId: request.callerId,
    rules: decision.rules,
    recordVersion: 1,
    dialed: request.dialed,
    postalCode: request.postalCode,
    reference: request.reference,
    facts: isReply ? undefined : expectedFacts(decision),
  }
  const text = JSON.stringify(document)
  return isReply ? text : bodyOf(JSON.parse(text))
}

function expectedFacts({ facts, request, accountTime, decidedAt }: Decision): object | undefined {
  const { own, stored, ledger } = { ...facts } as Partial<Facts>
  const isOther = request.at !== undefined && accountTime !== decidedAt
  const expected = {
    own,
    stored: stored?.pauses && stored,
    ledger,
    accountNow: isOther ? accountTime : undefined,
  }
  return JSON.stringify(expected) === '{}' ? undefined : expected
}

function expectedFinding(
  finding: Finding,
  times: Pick<Decision, 'accountTime' | 'judgedAt'>,
  isReply: boolean,
): object {
  const { accountTime, judgedAt } = times
  const { lists, parts, reassigned, notRenewed } = finding
  const isFar = finding.holdsUntil >= judgedAt + 86_400_000
  const basis = {
    requestError: finding.isRequestError || undefined,
    holdsUntil: isFar ? undefined : iso(finding.holdsUntil),
    unmetLaws: finding.unmetLaws,
    reassigned: reassigned && expectedFinding(reassigned, times, isReply),
  }
  return {
    check: finding.check,
    verdict: finding.verdict,
    reason: finding.reason,
    detail: isReply ? describeFinding(finding) : undefined,
    says: finding.says,
    source: finding.source,
    ageMs: Math.max(0, accountTime - finding.asOf),
    ...(isReply && notRenewed && { stale: true, staleReason: describeSaid(notRenewed) }),
    notRenewed,
    opensAt: iso(finding.opensAt),
    lists:
      lists === undefined || lists.length === 0
        ? undefined
        : lists.map(({ name, version, asOf }) => ({ name, version, asOf: iso(asOf) })),
    ...(parts ? { parts: parts.map((part) => expectedFinding(part, times, isReply)) } : basis),
  }
}

describe('the text of a decision', () => {
  it('is that of its members, whatever they hold', () => {
    holds(
      fc.property(anyDecision, (decision) => {
        expect(writeDecision(decision)).toBe(expectedText(decision, 'record'))
        expect(encodeReply(decision)).toBe(expectedText(decision, 'reply'))
      }),
      2_000,
    )
  })

  it('is that of each decision also when its findings are those of an earlier one', () => {
    holds(
      fc.property(anyDecision, anyDecision, (earlier, decision) => {
        const { findings } = earlier
        const later = { ...decision, findings }
        expect(encodeReply(earlier)).toBe(expectedText(earlier, 'reply'))
        expect(encodeReply(later)).toBe(expectedText(later, 'reply'))
        expect(writeDecision(earlier)).toBe(expectedText(earlier, 'record'))
        expect(writeDecision(later)).toBe(expectedText(later, 'record'))
      }),
      500,
    )
  })

  it('as a reply is what its record gives in words', () => {
    holds(
      fc.property(anyDecision, (decision) => {
        const record = readRecord('decision', { body: writeDecision(decision) })
        const read: unknown = JSON.parse(JSON.stringify(toReply(record)))
        expect(read).toEqual(JSON.parse(encodeReply(decision)))
      }),
      500,
    )
  })
})
