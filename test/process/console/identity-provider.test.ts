/** Signing in at an identity provider in a real Chromium. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectSound, openBrowser, openVisitor } from '../../support/browser.js'
import {
  clientSecret,
  oidcEnvironment,
  openIdentityProvider,
  type TestIdentityProvider,
} from '../../support/identity-provider.js'
import { openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-oidc-'))
const secretFile = join(folder, 'client-secret')
writeFileSync(secretFile, clientSecret, { mode: 0o600 })

let provider: TestIdentityProvider
let running: TestCallgate
let browser: Browser
beforeAll(async () => {
  provider = await openIdentityProvider()
  running = await openTestCallgate({ environment: oidcEnvironment(provider.issuer, secretFile) })
  browser = await openBrowser()
})
afterAll(async () => {
  await running.end()
  rmSync(folder, { recursive: true, force: true })
})

it.each([
  { width: 1280, script: false },
  { width: 320, dark: true },
])('signs in, adds an opt-out and signs out: %o', async (options) => {
  provider.claims = { groups: 'comply', email: `<b>jane</b>${'.long'.repeat(20)}@example.com` }
  const visitor = await openVisitor(browser, options)
  const { page, context } = visitor
  const check = () => (options.script === false ? undefined : expectSound(visitor))
  await page.goto(`${running.url}/console/sign-in`)
  await check()
  await page.getByRole('link', { name: 'Sign in with Example ID' }).press('Enter')
  await page.getByText(`${String(provider.claims.email)}, officer`).waitFor()
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
  provider.claims = { groups: ['<script>'.repeat(30)] }
  const visitor = await openVisitor(browser, { width: 320 })
  await visitor.page.goto(`${running.url}/console/sign-in`)
  await visitor.page.getByRole('link', { name: 'Sign in with Example ID' }).click()
  await visitor.page.getByRole('alert').getByText("the claim 'groups' has").waitFor()
  await expectSound(visitor)
  await visitor.context.close()
})
