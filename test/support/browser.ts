/** A real Chromium, and what every page of the console must hold in it. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core'
import { expect } from 'vitest'
import { closeAtEnd } from './close-at-end.js'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Closed after the test file's last test. */
export async function openBrowser(): Promise<Browser> {
  if (!existsSync(executablePath)) {
    throw new Error(
      `${executablePath} is missing; apt-get install chromium fonts-dejavu-core, or set CHROMIUM`,
    )
  }
  const browser = await chromium.launch({ executablePath })
  closeAtEnd(() => browser.close())
  return browser
}

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  /** What the browser complained about since the last call: errors of scripts, and of the content security policy. */
  takeComplaints(): readonly string[]
}

export interface VisitorOptions {
  readonly width?: number
  readonly dark?: boolean
  readonly script?: boolean
}

export async function openVisitor(
  browser: Browser,
  { width = 1280, dark = false, script = true }: VisitorOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
    javaScriptEnabled: script,
  })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    // A refusal is shown on a page with a status of its own.
    const isStatus = /^Failed to load resource: .* status of 4\d\d/.test(message.text())
    if (message.type() === 'error' && !isStatus) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return { context, page, takeComplaints: () => complaints.splice(0) }
}

export async function signIn(page: Page, url: string, key: string): Promise<void> {
  await page.goto(`${url}/console/sign-in`)
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((address) => !address.pathname.endsWith('/sign-in'))
}

const maxTabs = 60

/** By keyboard alone; also on a page without script. */
export async function tabTo(target: Locator): Promise<void> {
  const page = target.page()
  const focused = target.and(page.locator(':focus'))
  for (let presses = 0; presses < maxTabs; presses += 1) {
    await page.keyboard.press('Tab')
    if ((await focused.count()) > 0) return
  }
  throw new Error(`the Tab key does not reach ${target}`)
}

/** Rules of WCAG 2.2 AA that a program can check, no part outside the window, and no complaint of the browser. */
export async function expectSound(visitor: Visitor): Promise<void> {
  const { page } = visitor
  await page.evaluate(axe)
  const violations = await page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as { axe: typeof import('axe-core') }
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
    const found = await checker.run({ runOnly: tags })
    return found.violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`,
    )
  })
  expect(violations, page.url()).toEqual([])
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
  expect(overflow, `${page.url()} is wider than its window`).toBeLessThanOrEqual(0)
  expect(visitor.takeComplaints(), page.url()).toEqual([])
}
