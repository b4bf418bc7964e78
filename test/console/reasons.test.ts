/** The law that a block rests on, as page Why names it. */
import { expect, it } from 'vitest'
import type { DecisionRecordBody } from '../../src/api/gate/decision-body.js'
import { findLaw } from '../../src/console/reasons.js'

const createBlock = (more: Partial<DecisionRecordBody>, facts?: object) =>
  ({
    ...{ reason: 'no-consent', callKind: 'ai', findings: [{ facts }] },
    ...more,
  }) as DecisionRecordBody

const newYork = { places: [{ region: 'NY', zone: 'America/New_York' }] }
const ontario = { places: [{ region: 'ON', zone: 'America/Toronto' }], country: 'CA' }

it.each([
  [
    createBlock({}, newYork),
    /^47 CFR 64\.1200\(a\)\(2\) and \(a\)\(3\) and 16 CFR 310\.4\(b\)\(1\)\(v\)/,
  ],
  [createBlock({ purpose: 'political' }, newYork), /^47 CFR 64\.1200\(a\)\(1\)\(iii\)/],
  [
    createBlock({ purpose: 'charity', callKind: 'autodialed' }, newYork),
    /prior express consent\.$/,
  ],
  [createBlock({ reason: 'consent-unproven' }, ontario), /^CRTC .* Part IV/],
  [createBlock({ reason: 'internal-dnc', callKind: 'manual' }, ontario), /^CRTC .* Part III/],
  [createBlock({ reason: 'consent-revoked', purpose: 'political' }, newYork), /\(a\)\(10\): /],
  [
    createBlock({ reason: 'consent-revoked', callKind: 'manual' }, newYork),
    /^47 CFR 64\.1200\(d\): /,
  ],
])('is that of the country, the kind of call and the purpose: %#', (decision, law) => {
  expect(findLaw(decision)).toMatch(law)
})

it.each([
  createBlock({}, { ...newYork, postal: ontario }),
  createBlock({}),
  createBlock({}, {}),
  createBlock({ callKind: 'autodialed' }, ontario),
  createBlock({ reason: 'internal-dnc', purpose: 'political' }, newYork),
  createBlock({ reason: 'overloaded' }, newYork),
])('is none where the country is open, or no law says it so: %#', (decision) => {
  expect(findLaw(decision)).toBeUndefined()
})
