/** Builds a decision from its ruling, for live and for replayed calls. */
import type { CallRequest, Decision, StatedPurpose } from '../domain/decision.js'
import type { Times } from '../judge/facts.js'
import type { Law } from '../judge/law.js'
import { findRegionDays } from '../judge/places.js'
import type { GateSettings } from './gate-deps.js'
import type { CallRuling } from './pre-check-ruling.js'

interface RuledCall {
  readonly id: string
  readonly request: CallRequest
  readonly purpose: StatedPurpose | undefined
  /** Version of the calling rules. */
  readonly rules: string
}

interface RuledBy {
  readonly times: Times
  readonly settings: Pick<GateSettings, 'allowValidMs' | 'blockValidMs'>
  readonly law: Pick<Law, 'listDisclosures'>
}

export function createDecision(
  { id, request, purpose, rules }: RuledCall,
  { number, ruling, findings, facts, memo, says, counted }: CallRuling,
  { times, settings, law }: RuledBy,
): Decision {
  const { now: decidedAt, accountNow: accountTime } = times
  const { callKind, at: judgedAt = accountTime } = request
  const disclosures =
    ruling.reason === 'permitted'
      ? law.listDisclosures({ callKind, purpose: purpose?.purpose }, judgedAt, () =>
          findRegionDays(findings, judgedAt),
        )
      : undefined
  const maxValidMs = ruling.decision === 'allow' ? settings.allowValidMs : settings.blockValidMs
  // One literal: building an object of this size from parts is many times slower.
  return {
    id,
    accountId: request.accountId,
    request,
    number,
    findings,
    facts,
    memo,
    decidedAt,
    judgedAt,
    accountTime,
    purpose,
    counted,
    disclosures,
    says,
    rules,
    validUntil: Math.max(judgedAt, Math.min(judgedAt + maxValidMs, ruling.holdsUntil)),
    encoded: undefined,
    seq: undefined,
    decision: ruling.decision,
    reason: ruling.reason,
    effects: ruling.effects,
    holdsUntil: ruling.holdsUntil,
    nextAllowedAt: ruling.nextAllowedAt,
  }
}
