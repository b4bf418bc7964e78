/** A record that cannot act is stored with a warning, and what an opt-out ended says so. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Role } from '../../src/domain/caller.js'
import type { TestCallgate } from '../support/test-callgate.js'
import { openTwoAccounts } from '../support/two-accounts.js'

const number = '2127361000'
const monday = Date.UTC(2026, 10, 23, 17)
const day = 86_400_000

let running: TestCallgate
beforeEach(async () => {
  running = (await openTwoAccounts()).running
})
afterEach(async () => await running.end())

const keyOf = async (role: Role) =>
  (await running.callgate.keys.create({ accountId: 'main', role, label: '' })).key

interface Wire {
  readonly phoneNumber?: string
  readonly type?: string
  readonly dateOfLastContact: string
}

/** The header; the body is always the published one. */
async function ebr(records: readonly Wire[], more: { key?: string; keepBetter?: number } = {}) {
  const ebrList = records.map((record) => ({ phoneNumber: number, type: 'P', ...record }))
  const body = { ebrList, keepBetterEBR: more.keepBetter ?? 0 }
  const answer = await running.postJson('/app/main/rpc/ebr', body, more.key ?? running.keys.main)
  expect([answer.status, await answer.text()]).toEqual([200, '{"success":true}'])
  return answer.headers.get('x-callgate-warning')
}

async function pdnc(actionType: 'add' | 'remove') {
  const body = { actionType, phoneList: number }
  await running.postJson('/app/main/rpc/pdnc', body, running.keys.main)
}

async function decide() {
  const asked = { number, callKind: 'ai' }
  const answer = await running.postJson('/v1/decisions', asked, running.keys.main)
  return (await answer.json()) as {
    readonly decision: string
    readonly reason: string
    readonly message: string
    readonly findings: readonly { readonly check: string; readonly detail: string }[]
  }
}

async function scrub() {
  const query = `phoneList=${number}&version=8&output=json`
  const answer = await running.get(`/app/main/rpc/scrub?${query}`, running.keys.main)
  const [row] = (await answer.json()) as Record<string, string>[]
  return { row, warning: answer.headers.get('x-callgate-warning') }
}

describe('ebr warns of a record without effect', () => {
  test('but not of one with effect', async () => {
    expect(await ebr([{ dateOfLastContact: '2026-11-20' }])).toBeNull()
    await pdnc('add')
    running.clock.at = monday + day
    expect(await ebr([{ dateOfLastContact: '2026-11-24' }])).toBeNull()
    expect((await decide()).decision).toBe('allow')
  })

  test('not newer than an opt-out in force', async () => {
    await pdnc('add')
    running.clock.at = monday + day
    expect(await ebr([{ dateOfLastContact: '2026-11-23' }])).toBe(
      `${number}: the opt-out of 2026-11-23 ended the permission record on file`,
    )
  })

  test('older than an opt-out that was taken off the list since', async () => {
    await pdnc('add')
    await pdnc('remove')
    running.clock.at = monday + day
    expect(await ebr([{ dateOfLastContact: '2026-11-20' }])).toContain('ended the permission')
  })

  test('a sale, while the number is on the list', async () => {
    await pdnc('add')
    running.clock.at = monday + day
    expect(await ebr([{ type: 'S', dateOfLastContact: '2026-11-24' }])).toBe(
      `${number}: the sale record does not override the opt-out: only a permission record (type P) does`,
    )
  })

  test('expired, or of a kind that its state does not honor', async () => {
    expect(await ebr([{ type: 'S', dateOfLastContact: '2024-01-15' }])).toBe(
      `${number}: the sale record has no effect: it expired on 2025-07-15`,
    )
    expect(await ebr([{ type: 'T', dateOfLastContact: '2026-11-20' }])).toContain(
      'the trial record has no effect: the state of the number does not honor this type',
    )
  })

  test('one that loses to a better one, or to a later one of the same request', async () => {
    await ebr([{ dateOfLastContact: '2026-11-20' }])
    const sale = { type: 'S', dateOfLastContact: '2026-11-21' }
    expect(await ebr([sale], { keepBetter: 1 })).toBe(
      `${number}: the sale record is not in force: the existing permission record remains in force`,
    )
    expect(await ebr([sale, { dateOfLastContact: '2026-11-21' }])).toContain('sale record is not')
  })

  test('five of many, and how many more', async () => {
    const records = Array.from({ length: 300 }, (_, index) => ({
      phoneNumber: `212736${1000 + index}`,
      type: 'S',
      dateOfLastContact: '2020-01-01',
    }))
    const parts = (await ebr(records))?.split(' | ') ?? []
    expect(parts).toHaveLength(6)
    expect(parts[5]).toBe('and 295 more')
  })
})

describe('a record of an Agent', () => {
  const newer = { dateOfLastContact: '2026-11-24' }

  test('does not override an opt-out, and says so', async () => {
    await pdnc('add')
    running.clock.at = monday + day
    const key = await keyOf('Agent')
    const text =
      'the permission record on file was stored with a key that may not lift opt-outs, or only a second person may, so ' +
      'the opt-out of 2026-11-23 still applies'
    expect(await ebr([newer], { key })).toBe(`${number}: ${text}`)
    const { decision, reason, message } = await decide()
    expect([decision, reason]).toEqual(['block', 'internal-dnc'])
    expect(message).toContain(text)
  })

  test('overrides one while the account lets Agents remove numbers; changing the setting later affects no stored record', async () => {
    await pdnc('add')
    running.clock.at = monday + day
    const key = await keyOf('Agent')
    const { accounts } = running.callgate
    await accounts.set('main', { agentsMayRemove: true })
    expect(await ebr([newer], { key })).toBeNull()
    await accounts.set('main', { agentsMayRemove: false })
    expect((await decide()).decision).toBe('allow')
    await ebr([newer], { key })
    await accounts.set('main', { agentsMayRemove: true })
    expect((await decide()).decision).toBe('block')
  })

  test.each<Role>(['Supervisor', 'Administrator'])('unlike one of a %s', async (role) => {
    await pdnc('add')
    running.clock.at = monday + day
    expect(await ebr([newer], { key: await keyOf(role) })).toBeNull()
    expect((await decide()).decision).toBe('allow')
  })
})

describe('a record ended by an opt-out is reported as such', () => {
  test('in scrub and decision, while the number is on the list', async () => {
    await ebr([{ dateOfLastContact: '2026-11-20' }])
    running.clock.at = monday + 1000
    await pdnc('add')
    const text = 'the opt-out of 2026-11-23 ended the permission record on file'
    const { row, warning } = await scrub()
    expect(row).toMatchObject({ ResultCode: 'P', EBRType: 'P', EBRExpiresOn: '2026-11-23' })
    expect(warning).toContain(`${number}: ${text}`)
    const { reason, message } = await decide()
    expect(reason).toBe('consent-revoked')
    expect(message).toContain(text)
  })

  test('and after it was taken off', async () => {
    await ebr([{ dateOfLastContact: '2026-11-20' }])
    running.clock.at = monday + 1000
    await pdnc('add')
    await pdnc('remove')
    const text = 'the opt-out of 2026-11-23 ended the permission record on file'
    const { row, warning } = await scrub()
    expect(row).toMatchObject({ EBRType: 'P', EBRExpiresOn: '2026-11-23', IsCallAllowedAI: '0' })
    expect(warning).toContain(text)
    const { reason, message } = await decide()
    expect(reason).toBe('consent-revoked')
    expect(message).toContain(text)
    expect(message).not.toContain('expired')
  })
})

test('opt-outs and records name the key that stored them', async () => {
  const made = await running.callgate.keys.create({
    accountId: 'main',
    role: 'Administrator',
    label: '',
  })
  await ebr([{ dateOfLastContact: '2026-11-20' }], { key: made.key })
  const body = { actionType: 'add', phoneList: number }
  await running.postJson('/app/main/rpc/pdnc', body, made.key)
  const { db } = running.callgate.storage
  const rows = [
    ...(await db.selectFrom('ebr_records').select('key_id').execute()),
    ...(await db.selectFrom('internal_dnc').select('key_id').execute()),
  ]
  expect(rows).toEqual([{ key_id: made.id }, { key_id: made.id }])
  const listed = await running.get(`/app/main/rpc/ebr?phoneList=${number}`, running.keys.main)
  expect(await listed.json()).toMatchObject([{ recordedBy: made.id }])
})
