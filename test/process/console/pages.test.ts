/** Every page in a real Chromium: wide and narrow, light and dark, by keyboard, and without script. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectSound, openBrowser, openVisitor, signIn } from '../../support/browser.js'
import { openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

let running: TestCallgate
let browser: Browser
let decisionId: string
beforeAll(async () => {
  running = await openTestCallgate()
  browser = await openBrowser()
  const decided = await running.postJson('/v1/decisions', { number: '2125550100', callKind: 'ai' })
  decisionId = ((await decided.json()) as { id: string }).id
  await running.callgate.journal.drain()
})
afterAll(() => running.end())

const listPages = () => [
  '/search',
  `/decisions/${decisionId}`,
  '/rules',
  '/rules?region=PA&kind=ai&date=2026-12-25&compareDate=2025-09-01',
]

describe.each([
  { width: 1280, dark: false },
  { width: 1280, dark: true },
  { width: 320, dark: false },
  { width: 320, dark: true },
])('at $width px, dark: $dark', (options) => {
  it('has no page with a finding', async () => {
    const visitor = await openVisitor(browser, options)
    await visitor.page.goto(`${running.url}/console/sign-in`)
    await expectSound(visitor)
    await signIn(visitor.page, running.url, running.keys.sandbox)
    for (const path of listPages()) {
      await visitor.page.goto(`${running.url}/console${path}`)
      await expectSound(visitor)
    }
    await visitor.context.close()
  })
})

it('finds a call without script and says why it was blocked', async () => {
  const { page, context } = await openVisitor(browser, { script: false })
  await signIn(page, running.url, running.keys.sandbox)
  await page.goto(`${running.url}/console/search`)
  await page.getByLabel('Number').fill('(212) 555-0100')
  await page.getByRole('button', { name: 'Search' }).click()
  expect(page.url()).not.toContain('2125550100')
  await page.getByRole('row').nth(1).getByRole('link').click()
  await page.getByRole('heading', { name: 'Why this call was blocked' }).waitFor()
  await context.close()
})
