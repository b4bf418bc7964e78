/** The console without a browser: who may see what, what a browser may send, and what a page holds. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openConsoleClient } from '../support/console-client.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

it('leads from the root to the sign-in page', async () => {
  const root = await fetch(`${running.url}/`, { redirect: 'manual' })
  expect(root.headers.get('location')).toBe('/console')
  const start = await fetch(`${running.url}/console`)
  expect(start.url).toBe(`${running.url}/console/sign-in`)
  expect(await start.text()).toContain('API key')
})

it('shows why a call was decided as it was', async () => {
  const decided = await running.postJson('/v1/decisions', { number: '2125550100', callKind: 'ai' })
  const { id } = (await decided.json()) as { id: string }
  const client = await openConsoleClient(running, running.keys.sandbox)
  const page = await client.get(`/console/decisions/${id}`)
  expect(page.text).toContain('Why this call was blocked')
})
