/** Whether `/readyz` says so when no real call can be allowed, and why for each account. */

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { getListsFolder } from '../../../src/app/data-folders.js'
import { refreshData } from '../../../src/commands/serve/data-watch.js'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import { serverAuthor } from '../../../src/domain/caller.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import {
  mondayNoon,
  openTestCallgate,
  type TestCallgate,
  type TestCallgateOptions,
} from '../../support/test-callgate.js'
import { shareLists } from '../../support/two-accounts.js'

const dayMs = 86_400_000
let running: TestCallgate

afterEach(async () => {
  await running.end()
})

async function start(environment: TestCallgateOptions['environment'] = {}): Promise<void> {
  running = await openTestCallgate({ environment })
}

async function importNumbers(name: string): Promise<void> {
  const file = join(running.dataDir, 'numbers.txt')
  writeFileSync(file, '2127360001\n')
  const { settings, runtime } = running.callgate
  const made = { name, files: [file], folder: getListsFolder(settings), asOf: mondayNoon }
  await importList({ ...made, areaCodes: 'all', clock: runtime.clock })
  await refreshData(running.callgate)
}

async function call(number: string, more: object = {}, key = running.keys.main): Promise<string> {
  const body = { number, callKind: 'manual', ...more }
  const response = await running.postJson('/v1/decisions', body, key)
  const { decision, reason } = (await response.json()) as DecisionDocument
  return `${decision} ${reason}`
}

/** A moment later: what was read a second ago is read again. */
async function calls(): Promise<string> {
  let seen = ''
  await expect
    .poll(
      async () => {
        const [before, now] = [seen, await readiness()]
        seen = now
        return before === now
      },
      { interval: 1_100, timeout: 15_000 },
    )
    .toBe(true)
  return seen
}

async function readiness(): Promise<string> {
  const response = await running.get('/readyz')
  const { checks } = (await response.json()) as {
    checks: readonly { name: string; ready: boolean; detail: string }[]
  }
  const found = checks.find(({ name }) => name === 'calls')
  expect(response.status === 200).toBe(found?.ready)
  return `${response.status} ${found?.detail}`
}

const notImported =
  'us-dnc is not imported (callgate import us-dnc), canada-dnc is not imported ' +
  '(callgate import canada-dnc), litigators is not imported (callgate import litigators)'

describe('whether real calls can be allowed', () => {
  it('is told of a fresh install, which stays ready until it is asked about a real call', async () => {
    await start()
    expect(await calls()).toBe(
      `200 main: every call would be blocked, but the account has made no calls yet: ${notImported}`,
    )
    expect(await call('2125550100', {}, running.keys.sandbox)).toBe('allow permitted')
    expect(await call('2127360002', { at: '2026-11-23T17:00:00Z' })).toMatch(/^block/)
    expect(await calls()).toContain('200 ')
    expect(await call('2127360002')).toBe('block list-not-covering')
    expect(await calls()).toBe(`503 main: every call is blocked: ${notImported}`)
  })

  it('follows the lists: too few, enough for one country, too old, removed', async () => {
    await start()
    await importNumbers('us-dnc')
    expect(await call('2127360002')).toBe('block list-missing')
    expect(await calls()).toContain('503 main: every call is blocked: canada-dnc is not imported')
    await importNumbers('litigators')
    expect(await call('2127360002')).toBe('allow permitted')
    expect(await calls()).toBe(
      '200 main: every CA call is blocked: canada-dnc is not imported (callgate import canada-dnc)',
    )
    running.clock.at += 40 * dayMs
    expect(await call('2127360002')).toBe('block list-stale')
    expect(await calls()).toContain(
      '503 main: every call is blocked: us-dnc has been too old since 2026-12-24T17:00:00.001Z',
    )
    running.clock.at -= 40 * dayMs
    await running.callgate.changeHead.acceptClock(serverAuthor)
    await running.callgate.changeHead.refresh()
    await importNumbers('canada-dnc')
    expect(await calls()).toBe('200 main: no country is blocked')
    rmSync(join(getListsFolder(running.callgate.settings), 'litigators.cglist'))
    await refreshData(running.callgate)
    expect(await call('2127360002')).toBe('block list-unreadable')
    expect(running.callgate.data.lists.problems()).toHaveLength(1)
  })

  it('asks for no list of a check that the account has in shadow', async () => {
    await start()
    expect(await call('2127360002')).toMatch(/^block list-/)
    const { pauses } = running.callgate
    for (const check of ['permission', 'litigator'] as const) {
      const subject = `check:${check}:main` as const
      await pauses.pause({ subject, because: 'beside another dialer', pausedBy: 'a test' })
    }
    await expect.poll(() => call('2127360002')).toBe('allow permitted')
    await expect.poll(calls).toBe('200 main: no country is blocked')
  })

  it('is told for each account, and one that is blocked takes nothing from the others', async () => {
    await start()
    for (const name of ['us-dnc', 'litigators']) await importNumbers(name)
    const { accounts, keys, projects, storage } = running.callgate
    await accounts.ensure({ id: 'acme', kind: 'real', name: 'Acme' })
    await shareLists(running.callgate, 'acme')
    const { key } = await keys.create({ accountId: 'acme', role: 'Agent', label: 'a' })
    const expired = { ftc_status: 'expired' } as const
    await storage.db.updateTable('projects').set(expired).where('code', '=', 'acme').execute()
    projects.clearCache()
    expect(await call('2127360002', {}, key)).toBe('block list-not-covering')
    const canada = 'canada-dnc is not imported (callgate import canada-dnc)'
    const canadaOfAcme =
      'acme/canada-dnc is not imported (callgate import canada-dnc --account acme)'
    const ofMain = (verb: string) => `main: every CA call ${verb}: ${canada}`
    const ofAcme =
      `acme: every call is blocked: ${canadaOfAcme}, the federal subscription of every active project ` +
      'has failed or expired (callgate projects ftc-validation)'
    expect(await calls()).toBe(
      `503 ${ofAcme}; ${ofMain('would be blocked, but the account has made no calls yet')}`,
    )
    expect(await call('2127360002')).toBe('allow permitted')
    expect(await calls()).toBe(`200 ${ofAcme}; ${ofMain('is blocked')}`)
  })

  it('knows that strict numbering blocks what is not imported', async () => {
    await start({ CALLGATE_NUMBERING_UNKNOWN_PREFIX: 'strict' })
    for (const name of ['us-dnc', 'canada-dnc', 'litigators']) await importNumbers(name)
    expect(await call('2127360002')).toBe('block unknown-prefix')
    expect(await calls()).toContain(
      '503 main: every call is blocked: numbering.unknownPrefix is strict',
    )
  })

  it('counts the account of an Asterisk as in use', async () => {
    await start({
      CALLGATE_ASTERISK_URL: 'http://127.0.0.1:1',
      CALLGATE_ASTERISK_USERNAME: 'a',
      CALLGATE_ASTERISK_PASSWORD: 'b',
    })
    expect(await calls()).toBe(`503 main: every call is blocked: ${notImported}`)
  })

  it('is told when every call fails of an account that calls one country alone', async () => {
    await start()
    for (const name of ['us-dnc', 'litigators']) await importNumbers(name)
    const order = { because: 'no calls there', pausedBy: 'test' }
    await running.callgate.pauses.pause({ subject: 'country:CA:main', ...order })
    expect(await call('2127360002')).toBe('allow permitted')
    running.clock.at -= 60_000
    expect(await call('2127360002')).toBe('block clock-behind')
    expect(await calls()).toContain(
      '503 main: every call is blocked: the latest calls got clock-behind',
    )
  })

  it('is told by the accounts that call anywhere, not by one that calls nowhere', async () => {
    await start()
    const { accounts, keys, pauses } = running.callgate
    await accounts.ensure({ id: 'acme', kind: 'real', name: 'Acme' })
    const { key } = await keys.create({ accountId: 'acme', role: 'Agent', label: 'a' })
    for (const country of ['US', 'CA'] as const) {
      const subject = `country:${country}:acme` as const
      await pauses.pause({ subject, because: 'it has ended', pausedBy: 'test' })
    }
    expect(await call('2127360002', {}, key)).toMatch(/^block/)
    expect(await call('2127360002')).toBe('block list-not-covering')
    expect(await calls()).toMatch(
      /^503 acme: the account calls no country; main: every call is blocked/,
    )
  })

  it('knows what policy lets pass', async () => {
    await start({
      CALLGATE_POLICY_PERMISSION_MODE: 'shadow',
      CALLGATE_POLICY_LITIGATOR_ON_UNKNOWN: 'allow',
      CALLGATE_POLICY_LITIGATOR_REASON: 'test',
      CALLGATE_POLICY_LITIGATOR_UNTIL: '2026-12-01T00:00:00Z',
    })
    expect(await call('2127360002')).toBe('allow permitted')
    expect(await calls()).toBe('200 main: no country is blocked')
  })
})
