/** Page Now in a real Chromium: decisions come by themselves and can be paused and filtered; it works without script and by keyboard alone. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectSound, openBrowser, openVisitor, signIn, tabTo } from '../../support/browser.js'
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

it('shows figures and the last decisions without script, and filters them', async () => {
  const { id, decision } = await decide()
  await running.callgate.journal.drain()
  const { page, context } = await openVisitor(browser, { script: false })
  await signIn(page, running.url, running.keys.sandbox)
  const link = page.locator(`[data-stream] a[href="/console/decisions/${id}"]`)
  await link.waitFor()
  expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0)
  const other = decision === 'allow' ? 'Blocked' : 'Allowed'
  await page.getByLabel('Verdict').selectOption({ label: other })
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.waitForURL('**/console/now?decision=*')
  expect(await link.count()).toBe(0)
  await context.close()

  const operator = await openVisitor(browser, { script: false })
  await signIn(operator.page, running.url, running.keys.main)
  await operator.page.getByText('Show as table').first().click()
  const table = operator.page.getByRole('table', { name: 'Decisions a second' })
  // A step is five seconds long.
  while (!(await table.isVisible())) {
    await operator.page.reload()
    await operator.page.getByText('Show as table').first().click()
  }
  expect(await table.getByRole('row').count()).toBeGreaterThan(1)
  await operator.context.close()
})

it('is filtered and paused by keyboard alone', async () => {
  const { page, context } = await openVisitor(browser)
  await signIn(page, running.url, running.keys.sandbox)
  await tabTo(page.locator('[name=decision]'))
  await page.keyboard.type('Blocked')
  await tabTo(page.getByRole('button', { name: 'Show' }))
  await page.keyboard.press('Enter')
  await page.waitForURL('**/console/now?decision=block')
  await page.getByText('Live. New since').waitFor()
  await tabTo(page.getByRole('button', { name: 'Pause' }))
  await page.keyboard.press('Enter')
  await page.getByText('Paused.').waitFor()
  await page.keyboard.press('Enter')
  await page.getByText('Live. New since').waitFor()
  await context.close()
})

it('shows what a stream sends as text, whatever it is', async () => {
  const { page, context, takeComplaints } = await openVisitor(browser, { width: 320 })
  const hostile = '"><img src=x onerror=alert(1)><script>alert(1)</script>'
  const names = ['id', 'decidedAt', 'decision', 'number', 'reason', 'message', 'callKind']
  const entries = [...names, 'projectId', 'via'].map((name) => [name, `${name} ${hostile}`])
  const data = JSON.stringify(Object.fromEntries(entries))
  const sent = { contentType: 'text/event-stream', body: `event: decision\ndata: ${data}\n\n` }
  await page.route('**/console/now/stream*', (route) => route.fulfill(sent))
  await signIn(page, running.url, running.keys.sandbox)
  const row = page.locator('[data-stream] tbody tr').first()
  await row.getByText(`message ${hostile}`).waitFor()
  const text = (await row.textContent()) ?? ''
  for (const name of ['decidedAt', 'number', 'reason', 'message', 'callKind', 'projectId'])
    expect(text).toContain(`${name} ${hostile}`)
  expect(await page.locator('[data-stream] img, [data-stream] script').count()).toBe(0)
  await page.unroute('**/console/now/stream*')
  await expectSound({ page, context, takeComplaints })
  await context.close()
})
