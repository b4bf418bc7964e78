/** Signing in at a certified identity provider in a real Chromium, through its own pages. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  expectSound,
  openBrowser,
  openVisitor,
  type Visitor,
  type VisitorOptions,
} from '../../support/browser.js'
import { type CertifiedProvider, openCertifiedProvider } from '../../support/certified-provider.js'
import { clientSecret, oidcEnvironment } from '../../support/identity-provider.js'
import { openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-oidc-'))
const secretFile = join(folder, 'client-secret')
writeFileSync(secretFile, clientSecret, { mode: 0o600 })

let provider: CertifiedProvider
let running: TestCallgate
let browser: Browser
beforeAll(async () => {
  provider = await openCertifiedProvider()
  running = await openTestCallgate({ environment: oidcEnvironment(provider.issuer, secretFile) })
  provider.start(running.url)
  browser = await openBrowser()
})
afterAll(async () => {
  await running.end()
  rmSync(folder, { recursive: true, force: true })
})

/** Without the font that the pages of the provider load from elsewhere. */
async function openGuest(options?: VisitorOptions): Promise<Visitor> {
  const visitor = await openVisitor(browser, options)
  await visitor.context.route(/^https:/, (route) => route.fulfill({ contentType: 'text/css' }))
  return visitor
}

async function leaveForProvider(page: Page): Promise<void> {
  await page.goto(`${running.url}/console/sign-in`)
  await page.getByRole('link', { name: 'Sign in with Example ID' }).press('Enter')
  await page.waitForURL(`${provider.issuer}/**`)
}

/** On the pages of the provider: the login, and that callgate may know who it is. */
async function logIn(page: Page, login: string): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill(login)
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

it.each([
  { width: 1280, script: false },
  { width: 320, dark: true },
])('signs in, adds an opt-out and signs out: %o', async (options) => {
  const email = `<b>jane</b>${'.long'.repeat(20)}@example.com`
  provider.people.set('jane', { groups: ['see', 'comply'], email, email_verified: true })
  const visitor = await openGuest(options)
  const { page, context } = visitor
  const check = () => (options.script === false ? undefined : expectSound(visitor))
  await page.goto(`${running.url}/console/sign-in`)
  await check()
  const asked = page.waitForRequest((request) =>
    request.url().startsWith(`${provider.issuer}/auth?`),
  )
  await leaveForProvider(page)
  expect(new URL((await asked).url()).searchParams.get('code_challenge_method')).toBe('S256')
  await logIn(page, 'jane')
  await page.getByText(`${email}, officer`).waitFor()
  await check()
  await page.goto(`${running.url}/console/opt-outs`)
  await page.getByLabel('Number').fill('2125550180')
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('status').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('API key').waitFor()
  await page.goto(`${running.url}/console/opt-outs`)
  expect(page.url()).toBe(`${running.url}/console/sign-in`)
  await context.close()
})

it('shows who has no role what was looked for', async () => {
  provider.people.set('john', { groups: ['<script>'.repeat(30)] })
  const visitor = await openGuest({ width: 320 })
  await leaveForProvider(visitor.page)
  await logIn(visitor.page, 'john')
  await visitor.page.getByRole('alert').getByText("the claim 'groups' has").waitFor()
  await expectSound(visitor)
  await visitor.context.close()
})

it('says that the login was refused, and begins no session', async () => {
  const visitor = await openGuest()
  const { page, context } = visitor
  await leaveForProvider(page)
  await page.getByRole('link', { name: 'Cancel' }).click()
  await page.getByRole('alert').getByText('Example ID did not sign you in').waitFor()
  expect(await page.getByRole('alert').textContent()).toContain('End-User aborted interaction')
  expect((await context.cookies()).map(({ name }) => name)).not.toContain('callgate-session')
  await expectSound(visitor)
  await page.goto(`${running.url}/console/opt-outs`)
  expect(page.url()).toBe(`${running.url}/console/sign-in`)
  await context.close()
})
