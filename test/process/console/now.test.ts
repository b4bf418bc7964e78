/** Page Now in a real Chromium: decisions come by themselves and can be paused and filtered; it works without script and by keyboard alone. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBrowser, openVisitor, signIn } from '../../support/browser.js'
import { openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

let running: TestCallgate
let browser: Browser
beforeAll(async () => {
  running = await openTestCallgate()
  browser = await openBrowser()
})
afterAll(() => running.end())

interface Decided {
  readonly id: string
  readonly decision: string
  readonly reason: string
}

async function decide(callKind = 'ai'): Promise<Decided> {
  const answer = await running.postJson('/v1/decisions', { number: '2125550106', callKind })
  return (await answer.json()) as Decided
}

it('shows decisions as they are recorded, not while it is paused, and of one verdict if asked', async () => {
  const { page, context, takeComplaints } = await openVisitor(browser)
  await signIn(page, running.url, running.keys.sandbox)
  await page.waitForURL('**/console/now')
  await page.getByText('Live. New since').waitFor()
  const row = (id: string) => page.locator(`[data-stream] a[href="/console/decisions/${id}"]`)
  const first = await decide()
  await row(first.id).waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Paused.').waitFor()
  const second = await decide()
  const third = await decide()
  await page.getByRole('button', { name: 'Continue' }).click()
  // The ids of one instant have no order; the greater one comes after all that was seen.
  const fresh = [second.id, third.id].filter((id) => id > first.id)
  for (const id of fresh) await row(id).waitFor()
  const other = first.decision === 'allow' ? 'Blocked' : 'Allowed'
  await page.getByLabel('Verdict').selectOption({ label: other })
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.getByText('Live. New since').waitFor()
  await decide()
  await running.callgate.journal.drain()
  await page.reload()
  await page.getByText('Live. New since').waitFor()
  expect(await page.locator('[data-stream] tbody tr').count()).toBe(0)
  expect(takeComplaints()).toEqual([])
  await context.close()
})

it('draws its charts under the content security policy', async () => {
  const { page, context, takeComplaints } = await openVisitor(browser)
  await signIn(page, running.url, running.keys.main)
  await page.locator('[data-chart=rate] canvas').waitFor()
  expect(await page.locator('[data-chart] canvas').count()).toBe(3)
  await page.getByText('Show as table').first().click()
  expect(takeComplaints()).toEqual([])
  await context.close()
})
