/** An opt-out ends every consent that was stored before it, whatever any clock said. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { openTwoAccounts } from '../support/two-accounts.js'

const number = '2127361000'
const sandboxNumber = '2125550106'
const saturday = Date.UTC(2026, 10, 21, 17)
const monday = Date.UTC(2026, 10, 23, 17)

let running: TestCallgate
beforeEach(async () => {
  running = (await openTwoAccounts()).running
})
afterEach(async () => await running.end())

async function restart(environment: Readonly<Record<string, string>> = {}) {
  await running.stop()
  const { dataDir, clock } = running
  running = await openTestCallgate({ dataDir, environment, at: clock.at })
}

async function consent(dateOfLastContact: string, phoneNumber = number, key = running.keys.main) {
  const ebrList = [{ phoneNumber, type: 'P', dateOfLastContact }]
  const answer = await running.postJson('/app/main/rpc/ebr', { ebrList }, key)
  expect(await answer.text()).toBe('{"success":true}')
}

async function pdnc(actionType: 'add' | 'remove', phoneList = number, key = running.keys.main) {
  const answer = await running.postJson('/app/main/rpc/pdnc', { actionType, phoneList }, key)
  expect(answer.status).toBe(200)
}

async function decide(dialed = number, key = running.keys.main) {
  const asked = { number: dialed, callKind: 'ai' }
  const answer = await running.postJson('/v1/decisions', asked, key)
  const { decision, reason } = (await answer.json()) as Record<string, string>
  return `${decision} ${reason}`
}

test('a clock that was set back before the opt-out makes no consent the newer one', async () => {
  await consent('2026-11-22')
  expect(await decide()).toBe('allow permitted')
  running.clock.at = saturday
  await pdnc('add')
  expect(await decide()).toMatch(/^block/)
  running.clock.at = monday
  expect(await decide()).toBe('block consent-revoked')
  await restart()
  expect(await decide()).toBe('block consent-revoked')
})

test('nor does a time of day that is later than the clock', async () => {
  await consent('2026-11-23T16:00:00Z')
  running.clock.at = saturday
  await pdnc('add')
  running.clock.at = monday
  expect(await decide()).toBe('block consent-revoked')
  await pdnc('remove')
  expect(await decide()).toMatch(/^block/)
})

test('a consent stored after the opt-out, and dated after it, lifts it', async () => {
  await pdnc('add')
  running.clock.at = monday + 86_400_000
  await consent('2026-11-24')
  expect(await decide()).toBe('allow permitted')
})

test('a sandbox whose clock stands keeps the same order', async () => {
  await restart({ CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z' })
  const key = running.keys.sandbox
  expect(await decide(sandboxNumber, key)).toBe('allow permitted')
  await consent('2026-11-23T16:59:59Z', sandboxNumber, key)
  await restart({ CALLGATE_SANDBOX_AT: '2026-11-20T17:00:00Z' })
  await pdnc('add', sandboxNumber, running.keys.sandbox)
  await restart({ CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z' })
  expect(await decide(sandboxNumber, running.keys.sandbox)).toBe('block consent-revoked')
})

test('a fixed consent of the sandbox, whose date moves with the clock, never outlives an opt-out', async () => {
  await pdnc('add', sandboxNumber, running.keys.sandbox)
  running.clock.at = monday + 90 * 86_400_000
  expect(await decide(sandboxNumber, running.keys.sandbox)).toBe('block consent-revoked')
})

test('a repeated add ends the consents given since, unless the account ignores it', async () => {
  await pdnc('add')
  running.clock.at = monday + 86_400_000
  await consent('2026-11-24')
  await running.callgate.accounts.set('main', { repeatedAdd: 'ignored' })
  await pdnc('add', `${number},2127361001`)
  expect(await decide()).toBe('allow permitted')
  await running.callgate.accounts.set('main', { repeatedAdd: 'ends-consent' })
  await pdnc('add')
  expect(await decide()).toBe('block consent-revoked')
})

test('a repeated add that is ignored changes nothing, of fixed entries neither', async () => {
  const stored = () => running.callgate.storage.db.selectFrom('internal_dnc').selectAll().execute()
  const key = running.keys.sandbox
  for (const account of ['main', 'sandbox']) {
    await running.callgate.accounts.set(account, { repeatedAdd: 'ignored' })
  }
  await pdnc('add')
  const before = await stored()
  running.clock.at = monday + 86_400_000
  await pdnc('add')
  await pdnc('add', '2125550104', key)
  expect(await stored()).toEqual(before)
  await pdnc('remove')
  await pdnc('add')
  expect(await stored()).toMatchObject([{ removed_at: null, opted_out_at: running.clock.at }])
})
