import { describe, expect, it } from 'vitest'
import { checks, reasonCodes, reasons, undecidedReasons } from '../../src/domain/checks.js'
import { pickHigherRankedReason } from '../../src/domain/decision.js'

/** By rank: the order decides which of several reasons a decision has. */
const rank = [
  'not-recorded',
  'clock-behind',
  'clock-ahead',
  'not-current',
  'expired',
  'ai-paused',
  'key-paused',
  'key-kind',
  'key-project',
  'key-caller-id',
  'key-region',
  'key-concurrent',
  'key-attempts',
  'key-cool-down',
  'approval-needed',
  'permit-too-short',
  'invalid-request',
  'invalid-number',
  'foreign-number',
  'extension',
  'litigator',
  'consent-revoked',
  'internal-dnc',
  'national-dnc',
  'state-dnc',
  'wireless-state',
  'list-not-covering',
  'list-stale',
  'list-unreadable',
  'toll-free',
  'unknown-prefix',
  'no-consent',
  'consent-unproven',
  'reassigned',
  'disconnected',
  'not-permitted',
  'unknown-project',
  'purpose-not-allowed',
  'caller-id-invalid',
  'caller-id-do-not-originate',
  'caller-id-not-owned',
  'caller-id-expired',
  'caller-id-missing',
  'caller-id-neighbor',
  'restricted-day',
  'outside-calling-hours',
  'too-many-attempts',
  'abandonment-rate',
  'unknown-subject',
  'list-missing',
  'check-unanswered',
  'overloaded',
  'policy-allows',
  'service-code',
  'permitted',
] as const

describe('the list of reasons', () => {
  it('has them by rank', () => {
    expect(reasonCodes).toEqual(rank)
    for (const [index, one] of rank.entries()) {
      for (const other of rank.slice(index)) {
        expect(pickHigherRankedReason(one, other)).toBe(one)
        expect(pickHigherRankedReason(other, one)).toBe(one)
      }
    }
  })

  it('says which end with time, which say nothing about the call, and which allow', () => {
    const ofKind = (kind: string) => reasonCodes.filter((code) => reasons[code].kind === kind)
    expect(ofKind('time')).toEqual([
      'key-attempts',
      'key-cool-down',
      'restricted-day',
      'outside-calling-hours',
      'too-many-attempts',
      'abandonment-rate',
    ])
    expect([...undecidedReasons]).toEqual([
      'not-recorded',
      'clock-behind',
      'clock-ahead',
      'not-current',
      'expired',
      'check-unanswered',
      'overloaded',
    ])
    expect(ofKind('allow')).toEqual(['policy-allows', 'service-code', 'permitted'])
  })
})

describe('the list of checks', () => {
  it('names each in the settings', () => {
    const names = Object.entries(checks).map(([name, { setting }]) => [name, setting])
    expect(names).toEqual([
      ['litigator', 'litigator'],
      ['internal-dnc', 'internalDnc'],
      ['permission', 'permission'],
      ['calling-hours', 'callingHours'],
      ['attempts', 'attempts'],
      ['caller-id', 'callerId'],
      ['reassigned', 'reassigned'],
      ['abandonment', 'abandonment'],
    ])
  })
})
