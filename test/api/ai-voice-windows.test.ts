/** An account's setting that the AI flag keep the hours of recorded voices, seen in its rows. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  // In Maine recorded voices may call until 17:00; it is 18:00 there.
  running = await openTestCallgate({ at: Date.UTC(2026, 10, 23, 23) })
})
afterAll(() => running.end())

const withPermission = '2075550106'

/** Of a key that was not used before, since what is known of one is kept for a second. */
async function lastFlags(count: number): Promise<readonly unknown[]> {
  const sender = { accountId: 'sandbox', role: 'Agent', label: '' } as const
  const { key } = await running.callgate.keys.create(sender)
  const phoneList = Array.from({ length: count }, () => withPermission).join(',')
  const asked = { phoneList, version: 8, output: 'json' }
  const answer = await running.postJson('/app/main/rpc/scrub', asked, key)
  const rows = (await answer.json()) as readonly Record<string, unknown>[]
  const last = rows.at(-1) ?? {}
  return ['NonATDS', 'ATDS', 'AI'].map((kind) => last[`IsCallAllowed${kind}`])
}

test('a scrub follows it, a long one too', async () => {
  await running.callgate.accounts.set('sandbox', { numbersPerScrub: 20_000 })
  expect(await lastFlags(1)).toEqual(['1', '1', '1'])
  await running.callgate.accounts.set('sandbox', { aiKeepsVoiceWindows: true })
  expect(await lastFlags(1)).toEqual(['1', '1', '0'])
  expect(await lastFlags(10_001)).toEqual(['1', '1', '0'])
})
