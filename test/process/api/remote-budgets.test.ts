/** Budgets of accounts in front of a fake vendor, which counts what it was really asked. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { getListsFolder } from '../../../src/app/data-folders.js'
import { registerReport } from '../../../src/commands/report.js'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import type { FakeVendor } from '../../../src/fake-vendor/fake-vendor.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import {
  findingOf,
  openRemoteCallgate,
  type RemoteCallgate,
  vendorList,
  withRemoteCallgate,
} from '../../support/remote-callgate.js'
import { runCommand } from '../../support/run-command.js'
import { mondayNoon, openTestCallgate } from '../../support/test-callgate.js'
import { shareLists } from '../../support/two-accounts.js'

const numberAt = (index: number) => String(2_127_360_000 + index)

/** Numbers, not requests. */
function askedOf(vendor: FakeVendor): number {
  return Object.values(vendor.counts()).reduce((sum, { numbers }) => sum + numbers, 0)
}

async function openAccount(remote: RemoteCallgate, id: string): Promise<string> {
  const { accounts, keys } = remote.callgate
  await accounts.ensure({ id, kind: 'real', name: id })
  await shareLists(remote.callgate, id)
  return (await keys.create({ accountId: id, role: 'Administrator', label: 'test' })).key
}

async function decideWith(
  remote: Pick<RemoteCallgate, 'postJson'>,
  key: string,
  number: string,
): Promise<DecisionDocument> {
  const response = await remote.postJson('/v1/decisions', { number, callKind: 'manual' }, key)
  return (await response.json()) as DecisionDocument
}

/** A call asks four questions, so this is two calls. */
const twoCalls = { BUDGET_NUMBERS_PER_DAY: '8' }

describe('a budget of two calls', () => {
  it('ends one account and no other', async () => {
    await withRemoteCallgate({ provider: twoCalls }, async (remote) => {
      const { vendor } = remote
      const acme = await openAccount(remote, 'acme')
      for (const index of [1, 2]) {
        expect(await remote.decide(numberAt(index))).toMatchObject({ decision: 'allow' })
      }
      expect(askedOf(vendor)).toBe(8)
      const refused = await remote.decide(numberAt(3))
      expect(refused).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
      expect(findingOf(refused, 'litigator').says).toEqual([
        {
          code: 'budget-spent',
          quote:
            'account main may ask acme no more on 2026-11-23 (UTC): its budget of 8 numbers ' +
            '(source.provider.budget.numbersPerDay) is used up, and renewed at 2026-11-24T00:00:00Z',
        },
      ])
      expect(askedOf(vendor)).toBe(8)
      // What is cached still serves, and the other account has a budget of its own.
      expect(await remote.decide(numberAt(1))).toMatchObject({ decision: 'allow' })
      expect(await decideWith(remote, acme, numberAt(3))).toMatchObject({ decision: 'allow' })
      expect(askedOf(vendor)).toBe(12)

      // The first reading may take longer than the metrics wait for it.
      await expect.poll(() => remote.metrics()).toContain('callgate_provider_budget_used{')
      const metrics = await remote.metrics()
      const labels = (account: string) => `{source="acme",account="${account}",unit="numbers"}`
      expect(metrics).toContain(`callgate_provider_budget_used${labels('main')} 8`)
      expect(metrics).toContain(`callgate_provider_budget_limit${labels('acme')} 8`)
      expect(metrics).toContain(`callgate_provider_budget_state${labels('main')} 2`)
      const lines = remote.logLines.filter((line) => line.includes('has used up its budget'))
      expect(lines).toHaveLength(1)
    })
  })

  it('is used up also after a restart, until midnight', async () => {
    const remote = await openRemoteCallgate({ provider: twoCalls })
    const { vendor, dataDir } = remote
    for (const index of [1, 2]) await remote.decide(numberAt(index))
    await remote.stop()
    const environment = environmentOf(vendor)
    const restarted = await openTestCallgate({ dataDir, environment })
    const { main } = restarted.keys
    expect(await decideWith(restarted, main, numberAt(1))).toMatchObject({ decision: 'block' })
    expect(askedOf(vendor)).toBe(8)
    restarted.clock.at += 24 * 3_600_000
    await decideWith(restarted, main, numberAt(1))
    expect(askedOf(vendor)).toBe(12)
    await restarted.stop()
    await vendor.close()
    rmSync(dataDir, { recursive: true, force: true })
  })

  it('is in the report', async () => {
    await withRemoteCallgate({ provider: twoCalls }, async (remote) => {
      await openAccount(remote, 'acme')
      for (const index of [1, 2, 3]) await remote.decide(numberAt(index))
      const more = [
        'source:',
        '  kind: remote',
        '  provider:',
        `    { name: acme, baseUrl: '${remote.vendor.url}', loginId: x, budget: { numbersPerDay: 8 } }`,
        `lookups: { baseUrl: '${remote.vendor.url}', loginId: x }`,
      ].join('\n')
      const settings = { dataDir: remote.dataDir, more }
      const run = (...args: string[]) =>
        runCommand(registerReport, ['report', 'budgets', ...args], settings)
      const day = ['--day', '2026-11-23']
      expect((await run(...day)).out).toMatch(/2026-11-23 +acme +main +8 +8 +numbers +spent/)
      const json = JSON.parse((await run(...day, '--account', 'main', '--json')).out)
      expect(json).toEqual([
        {
          day: '2026-11-23',
          provider: 'acme',
          account: 'main',
          unit: 'numbers',
          used: 8,
          limit: 8,
          setting: 'source.provider.budget.numbersPerDay',
          currency: 'USD',
          state: 'spent',
        },
      ])
      expect((await run(...day, '--account', 'acme')).out).toContain('no account with a budget')
      expect((await run('--day', '2026-13-01')).err).toContain("--day '2026-13-01': must be a date")
    })
  })
})

/** Those of the restarted program. */
function environmentOf(vendor: FakeVendor): Readonly<Record<string, string>> {
  return {
    CALLGATE_SOURCE_KIND: 'remote',
    CALLGATE_SOURCE_PROVIDER_NAME: 'acme',
    CALLGATE_SOURCE_PROVIDER_BASE_URL: vendor.url,
    CALLGATE_SOURCE_PROVIDER_LOGIN_ID: vendor.loginId,
    CALLGATE_SOURCE_PROVIDER_BUDGET_NUMBERS_PER_DAY: '8',
  }
}

describe('at the end of a budget', () => {
  it('lists of this callgate do not answer in the place of the provider', async () => {
    await withRemoteCallgate({ provider: twoCalls }, async (remote) => {
      const { callgate, dataDir, vendor } = remote
      const folder = getListsFolder(callgate.settings)
      for (const name of ['us-dnc', 'litigators']) {
        const file = join(dataDir, `${name}.txt`)
        writeFileSync(file, '2127361002\n')
        const clock = { now: () => mondayNoon }
        await importList({ name, files: [file], folder, asOf: mondayNoon, clock })
      }
      callgate.data.lists.refresh()
      callgate.changes.everythingChanged()
      await vendorList(vendor, 'add', numberAt(3))
      for (const index of [1, 2]) await remote.decide(numberAt(index))
      const asked = askedOf(vendor)
      const decision = await remote.decide(numberAt(3))
      expect(decision).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
      for (const check of ['permission', 'internal-dnc', 'litigator', 'calling-hours']) {
        expect(findingOf(decision, check)).toMatchObject({ verdict: 'unknown', source: 'acme' })
      }
      expect(askedOf(vendor)).toBe(asked)
    })
  })

  it('a second provider is asked', async () => {
    await withRemoteCallgate({ provider: twoCalls }, async (first) => {
      const environment = {
        CALLGATE_SOURCE_SECOND_PROVIDER_BASE_URL: first.vendor.url,
        CALLGATE_SOURCE_SECOND_PROVIDER_LOGIN_ID: first.vendor.loginId,
      }
      await withRemoteCallgate({ provider: twoCalls, environment }, async (remote) => {
        for (const index of [1, 2, 3]) {
          expect(await remote.decide(numberAt(index))).toMatchObject({ decision: 'allow' })
        }
        expect([askedOf(remote.vendor), askedOf(first.vendor)]).toEqual([8, 4])
      })
    })
  })
})

describe('warming', () => {
  it('stops at the warning share, and calls have the rest', async () => {
    const provider = { BUDGET_NUMBERS_PER_DAY: '100', BUDGET_WARN_AT_PERCENT: '60' }
    await withRemoteCallgate({ provider }, async (remote) => {
      const numbers = Array.from({ length: 50 }, (_, index) => numberAt(index))
      const response = await remote.postJson('/v1/warm', { numbers }, remote.keys.main)
      const { id } = (await response.json()) as { readonly id: string }
      const state = async () => {
        const progress = await remote.get(`/v1/warm/${id}`, remote.keys.main)
        return ((await progress.json()) as { readonly state: string }).state
      }
      await expect.poll(state, { interval: 20 }).not.toBe('asking')
      expect(askedOf(remote.vendor)).toBe(60)
      for (let index = 100; index < 110; index += 1) {
        expect(await remote.decide(numberAt(index))).toMatchObject({ decision: 'allow' })
      }
      expect(askedOf(remote.vendor)).toBe(100)
      expect(await remote.decide(numberAt(111))).toMatchObject({ decision: 'block' })
      expect(askedOf(remote.vendor)).toBe(100)
    })
  })
})
