/** The whole program over a provider: whose word counts for what. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getListsFolder } from '../../../src/app/data-folders.js'
import { refreshData } from '../../../src/commands/serve/data-watch.js'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import {
  findingOf,
  openRemoteCallgate,
  type RemoteCallgate,
  sourcesOf,
  vendorConsent,
  withRemoteCallgate,
} from '../../support/remote-callgate.js'
import { callKinds, sandboxLines } from '../../support/sandbox-lines.js'
import { mondayNoon } from '../../support/test-callgate.js'
import { instant } from '../../support/test-clock.js'

let remote: RemoteCallgate

beforeAll(async () => {
  remote = await openRemoteCallgate()
})
afterAll(() => remote.end())

describe('the lines of the sandbox table at a vendor that knows them, for a real account', () => {
  const cases = sandboxLines.flatMap(({ line, reasons }) =>
    callKinds.map(
      (callKind, index) => [`212-555-${line}`, callKind, reasons[index] ?? ''] as const,
    ),
  )
  it.each(cases)('%s %s: %s', async (number, callKind, reason) => {
    const decision = await remote.decide(number, { callKind })
    expect(decision).toMatchObject({
      decision: reason === 'permitted' ? 'allow' : 'block',
      reason,
      accountId: 'main',
      degraded: [],
      whatIf: false,
    })
    expect(decision.findings.map(({ verdict }) => verdict)).not.toContain('unknown')
    // The vendor's judgement alone, its list of entries, and what is kept here beside it.
    const { permission, litigator, 'internal-dnc': internalDnc } = sourcesOf(decision)
    expect([permission, litigator]).toEqual(['acme', 'acme'])
    expect(internalDnc).toMatch(/^acme(, embedded)?$/)
  })

  it('asks the vendor for no number twice while the answers are good', async () => {
    const before = remote.vendor.requests().length
    await remote.decide('212-555-0100', { callKind: 'autodialed' })
    await remote.decide('(212) 555-0100')
    expect(remote.vendor.requests()).toHaveLength(before)
  })
})

describe('calls to one number at once', () => {
  it('are one request of each kind', async () => {
    const environment = { CALLGATE_GATE_DEADLINE_MS: '5000' }
    await withRemoteCallgate({ environment }, async ({ decide, vendor }) => {
      const calls = Array.from({ length: 50 }, (_, index) =>
        decide('2127361000', { callKind: callKinds[index % 3] }),
      )
      const reasons = (await Promise.all(calls)).map(({ reason }) => reason)
      expect(new Set(reasons)).toEqual(new Set(['permitted', 'no-consent']))
      for (const counts of Object.values(vendor.counts())) {
        expect(counts).toMatchObject({ requests: 1, numbers: 1 })
      }
    })
  })
})

describe('the sandbox account', () => {
  it('is answered in process: the vendor hears nothing of it', async () => {
    const before = remote.vendor.requests().length
    const call = { number: '3125550100', callKind: 'manual' }
    const response = await remote.postJson('/v1/decisions', call, remote.keys.sandbox)
    const decision = (await response.json()) as DecisionDocument
    expect(decision).toMatchObject({ accountId: 'sandbox', decision: 'allow' })
    expect([...new Set(Object.values(sourcesOf(decision)))]).toEqual(['embedded'])
    expect(remote.vendor.requests()).toHaveLength(before)
  })
})

describe('an opt-out recorded here', () => {
  it.each([
    ['a clean landline', '3125550100', 'manual'],
    ['a number with a permission record at the vendor', '3125550106', 'ai'],
    ['a permission newer than an entry of the vendor', '3125550112', 'ai'],
  ])('blocks the very next call, and its removal allows the next: %s', async (...row) => {
    const [, number, callKind] = row
    const ask = () => remote.decide(number, { callKind })
    expect((await ask()).reason).toBe('permitted')
    await remote.ownList('add', number)
    const blocked = await ask()
    expect(blocked.reason).toBe('internal-dnc')
    expect(findingOf(blocked, 'internal-dnc')).toMatchObject({
      verdict: 'deny',
      source: 'embedded',
    })
    await remote.ownList('remove', number)
    expect((await ask()).reason).toBe('permitted')
  })

  it('of one number leaves the others and their kept answers alone', async () => {
    await remote.decide('3125550107')
    const before = remote.vendor.requests().length
    await remote.ownList('add', '3125550108')
    expect((await remote.decide('3125550107')).reason).toBe('permitted')
    expect(remote.vendor.requests()).toHaveLength(before)
  })

  it('of the sandbox account is none of another account', async () => {
    const path = '/app/main/rpc/pdnc?phoneList=3125550109&actionType=add'
    expect((await remote.get(path, remote.keys.sandbox)).status).toBe(200)
    expect((await remote.decide('3125550109')).reason).toBe('permitted')
  })
})

describe('a litigator list imported here', () => {
  it('blocks whom the vendor does not name', async () => {
    const number = '3035550106'
    expect((await remote.decide(number)).reason).toBe('permitted')
    const file = join(remote.dataDir, 'litigators.txt')
    writeFileSync(file, `${number}\n`)
    const folder = getListsFolder(remote.callgate.settings)
    await importList({
      name: 'litigators',
      files: [file],
      folder,
      asOf: mondayNoon,
      clock: { now: () => mondayNoon },
    })
    await refreshData(remote.callgate)
    const decision = await remote.decide(number)
    expect(decision.reason).toBe('litigator')
    expect(findingOf(decision, 'litigator').source).toBe('embedded')
    expect((await remote.decide('3035550107')).reason).toBe('permitted')
    expect((await remote.decide('3035550105')).reason).toBe('litigator')
  })
})

describe('the law as this callgate knows it', () => {
  const opened = (at: string, work: (remote: RemoteCallgate) => Promise<void>) =>
    withRemoteCallgate({ at: instant(at) }, work)

  it.each([
    ['manual', 'permitted', 'pass'],
    ['autodialed', 'outside-calling-hours', 'deny'],
    ['ai', 'outside-calling-hours', 'deny'],
  ])('Indiana at 8.30, when no recorded voice may call: %s: %s', async (...row) => {
    const [callKind, reason, verdict] = row
    const number = '3177361000'
    await opened('2026-11-23T13:30:00Z', async (early) => {
      await vendorConsent(early.vendor, number, '11/20/2026')
      const decided = await early.decide(number, { callKind })
      expect(decided.reason).toBe(reason)
      expect(findingOf(decided, 'permission')).toMatchObject({ verdict: 'pass', source: 'acme' })
      expect(findingOf(decided, 'calling-hours')).toMatchObject({
        verdict,
        source: verdict === 'deny' ? 'embedded' : 'acme, embedded',
        detail: expect.stringContaining('Indiana'),
      })
    })
  })

  it.each([
    ['no postal code', undefined, 'manual', 'permitted', 'acme, embedded'],
    ['one where it is day', '90210', 'ai', 'permitted', 'acme, embedded'],
    ['one where it is night', '10001', 'manual', 'outside-calling-hours', 'embedded'],
    ['one where it is night', '10001', 'ai', 'outside-calling-hours', 'embedded'],
  ])('a Californian number in its evening, %s (%s), %s: %s', async (...row) => {
    const [, postalCode, callKind, reason, source] = row
    const number = '2137361000'
    await opened('2026-11-24T03:30:00Z', async (evening) => {
      await vendorConsent(evening.vendor, number, '11/20/2026')
      const decided = await evening.decide(number, { callKind, postalCode })
      expect(decided.reason).toBe(reason)
      expect(findingOf(decided, 'calling-hours').source).toBe(source)
    })
  })

  it('is not widened by a postal code that the provider was not told', async () => {
    await opened('2026-11-24T03:30:00Z', async (night) => {
      const decided = await night.decide('2127361000', { postalCode: '90210' })
      expect(decided.reason).toBe('outside-calling-hours')
      expect(findingOf(decided, 'calling-hours').source).toBe('acme')
    })
  })
})

describe('what a provider cannot be asked', () => {
  it.each([
    ['another instant', { at: '2026-11-23T17:00:00Z' }, ['permission']],
    ['a campaign without a project', { campaignId: 'C' }, ['internal-dnc', 'calling-hours']],
  ])('%s leaves a check unknown, which blocks', async (_name, more, unknown) => {
    const decided = await remote.decide('4045550106', more)
    expect(decided).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
    const found = decided.findings.filter(({ verdict }) => verdict === 'unknown')
    expect(found.map(({ check }) => check)).toEqual(expect.arrayContaining(unknown))
    expect(found[0]?.source).toContain('acme')
  })

  it('emergency calls pass, and nobody is asked', async () => {
    const before = remote.vendor.requests().length
    expect(await remote.decide('911')).toMatchObject({ decision: 'allow', reason: 'service-code' })
    expect(remote.vendor.requests()).toHaveLength(before)
  })
})

describe('the end of what a provider permits', () => {
  it('is the end of the calling window, and nothing is kept past it', async () => {
    await withRemoteCallgate({ at: instant('2026-11-24T01:59:30Z') }, async (evening) => {
      expect(await evening.decide('2125550106')).toMatchObject({
        decision: 'allow',
        validUntil: '2026-11-24T02:00:00Z',
      })
      const before = evening.vendor.requests().length
      evening.clock.at = instant('2026-11-24T02:00:00Z')
      // The vendor's clock stands, and what it says of half a minute ago is not believed.
      expect((await evening.decide('2125550106')).decision).toBe('block')
      expect(evening.vendor.requests().length).toBeGreaterThan(before)
    })
  })

  it('is asked about again when the age of the answer is over', async () => {
    await remote.decide('5035550106')
    const before = remote.vendor.requests().length
    remote.clock.at = mondayNoon + 301_000
    expect((await remote.decide('5035550106')).reason).toBe('permitted')
    expect(remote.vendor.requests().length).toBeGreaterThan(before)
    remote.clock.at = mondayNoon
  })
})
