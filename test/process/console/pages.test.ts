/** Every page in a real Chromium: wide and narrow, light and dark, by keyboard, and without script. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page as Tab } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getListsFolder } from '../../../src/app/data-folders.js'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import { systemClock } from '../../../src/runtime/runtime.js'
import {
  expectSound,
  openBrowser,
  openVisitor,
  signIn,
  tabTo,
  type Visitor,
  type VisitorOptions,
} from '../../support/browser.js'
import { type ConsoleData, fillConsole } from '../../support/console-data.js'
import { shortOrLong } from '../../support/long.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

let running: TestCallgate
let browser: Browser
let data: ConsoleData
beforeAll(async () => {
  const environment = { CALLGATE_TWO_PEOPLE_FOR: '["remove-opt-outs"]' }
  running = await openTestCallgate({ environment })
  browser = await openBrowser()
  await addList(running)
  const hours = { monFri: '09:00-19:00', sat: '10:00-14:00', sun: 'none' }
  await running.callgate.projects.setHours({ accountId: 'main', code: 'main' }, 'FL', hours)
  const of = { accountId: 'sandbox', key: running.keys.sandbox, prefix: '21255501' }
  data = await fillConsole(running, { ...of, text })
})
afterAll(() => running.end())

/** One is long, and looks like markup. */
function text(field: string, _maxLength: number, kind?: 'word' | 'address'): string {
  if (field === 'bundle') return `Claim ${'4711 '.repeat(60)}<b>"x"</b>`
  return kind === 'address' ? `https://example.com/${field}` : `${field}-1`
}

const listPages = () => [
  '/now',
  '/now?decision=block',
  '/search',
  `/decisions/${data.decisionId}`,
  '/numbers',
  '/opt-outs',
  '/opt-outs/many',
  '/opt-outs/end',
  '/opt-outs/unclear',
  '/consents',
  '/consents/many',
  '/consents/end',
  '/approvals',
  `/approvals/${data.approvalId}`,
  ...['/caller-ids', '/caller-ids?ended=true', '/caller-ids/new', '/caller-ids/many'],
  '/evidence',
  `/evidence/${data.bundleId}`,
  '/changes',
  `/changes/${data.changeId}`,
  ...['/keys', '/keys/new', '/keys/pauses/ai%3Asandbox'],
  ...['', '/change', '/revoke'].map((end) => `/keys/${data.agent.id}${end}`),
  ...['/attempts', '/attempts/new'],
  '/audit',
  '/rules',
  '/rules?region=PA&kind=ai&date=2026-12-25&compareDate=2025-09-01',
]

let keysMade = 0

/** Of account main. */
const operatorPages = [
  '/now',
  '/lists',
  '/lists/us-dnc',
  '/status',
  '/projects',
  '/projects/main?weekOf=FL',
]

/** Two versions, so that one is kept. */
async function addList({ callgate, dataDir }: TestCallgate): Promise<void> {
  const folder = getListsFolder(callgate.settings)
  const file = join(dataDir, 'numbers.txt')
  for (const numbers of ['2127365001\n', '2127365001\n2127365002\n']) {
    writeFileSync(file, numbers)
    const made = { name: 'us-dnc', files: [file], folder, asOf: mondayNoon, clock: systemClock }
    await importList({ ...made, areaCodes: 'all' })
  }
}

/** Pages that only a form leads to. */
async function openByForm({ page }: Visitor, check: () => Promise<void>): Promise<void> {
  await page.goto(`${running.url}/console/numbers`)
  await page.getByLabel('Number').fill('2125550100')
  await page.getByRole('button', { name: 'Show' }).click()
  await page.getByRole('heading', { name: 'Number (212) 555-0100' }).waitFor()
  await check()
  await page.goto(`${running.url}/console/attempts/new`)
  await page.getByLabel('Number').fill('3055550107')
  await page.getByLabel('When').fill('2026-11-23T16:30')
  await page.getByLabel('Reference').fill('cdr-1')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('heading', { name: 'Attempts: (305) 555-0107' }).waitFor()
  await check()
  await page.goto(`${running.url}/console/opt-outs/many`)
  await page.getByLabel('Numbers').fill('2125550120\n2125550121\nno number 1')
  await page.getByRole('button', { name: 'Look at them' }).click()
  await page.getByRole('button', { name: 'Add 2 opt-outs' }).waitFor()
  await check()
  await page.goto(`${running.url}/console/caller-ids/many`)
  await page.getByLabel('Rows').fill('number,owner,proof\n2125550170,Acme,x\n911,Acme,x')
  await page.getByRole('button', { name: 'Look at them' }).click()
  await page.getByRole('button', { name: 'Add 1 number' }).waitFor()
  await check()
  await page.goto(`${running.url}/console/caller-ids`)
  await page.getByRole('link', { name: 'End', exact: true }).first().click()
  await page.getByRole('button', { name: 'End it' }).waitFor()
  await check()
  keysMade += 1
  await page.goto(`${running.url}/console/keys/new`)
  await page.getByLabel('Label').fill(`key ${keysMade}`)
  await page.getByLabel('Most calls in an hour').fill('many')
  await page.getByRole('button', { name: 'Make the key' }).click()
  await page.getByRole('alert').waitFor()
  await check()
  await page.getByLabel('decide:').check()
  await page.getByLabel('AI call').check()
  await page.getByLabel('Most calls in an hour').fill('60')
  await page.getByRole('button', { name: 'Make the key' }).click()
  await page.getByRole('heading', { name: 'The key is shown this once' }).waitFor()
  await check()
  await page.goto(`${running.url}/console/consents`)
  await page.getByLabel('Number').fill('12')
  await page.getByLabel('Given (UTC)').fill('2026-11-20T10:00')
  await page.getByLabel('Seller').fill('Example')
  await page.getByLabel('Wording').fill('I agree')
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('alert').waitFor()
  await check()
}

const looks = [
  { width: 1280, dark: true },
  { width: 320, dark: false },
  { width: 1280, dark: false },
  { width: 320, dark: true },
]

it.each(looks)('lets people in without a finding at $width px, dark: $dark', async (options) => {
  const visitor = await openVisitor(browser, options)
  for (const path of ['/sign-in', '/try', '/try/2125550106']) {
    await visitor.page.goto(`${running.url}/console${path}`)
    await expectSound(visitor)
  }
  await visitor.context.close()
})

// No style depends on both the width and the colors, and the walk sees every page narrow and light.
describe.each(looks.slice(0, shortOrLong(1, 4)))('at $width px, dark: $dark', (options) => {
  it('has no page with a finding', async () => {
    const visitor = await openVisitor(browser, options)
    await signIn(visitor.page, running.url, running.keys.sandbox)
    for (const path of listPages()) {
      await visitor.page.goto(`${running.url}/console${path}`)
      await expectSound(visitor)
    }
    await openByForm(visitor, () => expectSound(visitor))
    await visitor.context.close()
  })

  it('has no page of the operator with a finding', async () => {
    const visitor = await openVisitor(browser, options)
    await signIn(visitor.page, running.url, running.keys.main)
    for (const path of operatorPages) {
      await visitor.page.goto(`${running.url}/console${path}`)
      await expectSound(visitor)
    }
    await visitor.context.close()
  })
})

it.each([
  { width: 1280, dark: true },
  { width: 320, dark: false },
])('describes the API without a finding at $width px, dark: $dark', async (options) => {
  const visitor = await openVisitor(browser, options)
  await visitor.page.goto(`${running.url}/docs`)
  const isNarrow = await visitor.page.evaluate('document.documentElement.scrollWidth <= innerWidth')
  expect(isNarrow).toBe(true)
  // All of its thousands of cells take half a minute.
  const first = shortOrLong(1, Number.MAX_SAFE_INTEGER)
  await visitor.page.evaluate(
    `document.querySelectorAll('article:nth-of-type(n+${first + 1}), nav li li:nth-of-type(n+9)').forEach((one) => one.remove())`,
  )
  await expectSound(visitor)
  await visitor.context.close()
})

/** Each page with its own account. */
async function forEachPage(
  options: VisitorOptions,
  look: (page: Tab, name: string) => Promise<void>,
): Promise<void> {
  const paths = { sandbox: listPages(), main: operatorPages }
  for (const account of ['sandbox', 'main'] as const) {
    const { page, context } = await openVisitor(browser, options)
    await signIn(page, running.url, running.keys[account])
    for (const path of paths[account]) {
      await page.goto(`${running.url}/console${path}`)
      await look(page, `${account} ${path}`)
    }
    await context.close()
  }
}

it('is reached by keyboard in every part, in the order of the page, with a focus that is seen', async () => {
  await forEachPage({}, async (page, name) => {
    const expected = await page.evaluate<readonly string[]>(watchFocus)
    expect(expected.length, name).toBeGreaterThan(5)
    for (let presses = 0; presses < 10 * expected.length; presses += 1) {
      await page.keyboard.press('Tab')
      if (await page.evaluate<boolean>('focused.isRound')) break
    }
    expect(await page.evaluate('focused.names'), name).toEqual(expected)
    expect(await page.evaluate('focused.unseen'), name).toEqual([])
  })
})

/** Notes what gets the focus, once each; its value names all that should. Of a group of choices, one does. */
const watchFocus = `(() => {
  const isShown = (one) => one.checkVisibility({ visibilityProperty: true })
  const isFirstOfGroup = (one) => one.type !== 'radio' ||
    (document.querySelector('[name="' + one.name + '"]:checked') ?? document.querySelector('[name="' + one.name + '"]')) === one
  const all = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
    .filter((one) => isShown(one) && !one.disabled && isFirstOfGroup(one))
  const nameOf = (one) => all.indexOf(one) + ' ' + one.localName + ' ' + (one.name || one.textContent.trim().slice(0, 30))
  globalThis.focused = { names: [], unseen: [], isRound: false }
  addEventListener('focusin', ({ target }) => {
    const name = nameOf(target)
    if (focused.names.length > 1 && name === focused.names[0]) focused.isRound = true
    if (focused.isRound || focused.names.at(-1) === name) return
    focused.names.push(name)
    const { outlineStyle, outlineWidth } = getComputedStyle(target)
    if (outlineStyle === 'none' || outlineWidth === '0px') focused.unseen.push(name)
  })
  return all.map(nameOf)
})()`

it('shows and asks for the same on every page without script', async () => {
  const withScript = new Map<string, readonly string[]>()
  await forEachPage({}, async (page, name) => {
    withScript.set(name, await page.evaluate<readonly string[]>(listParts))
  })
  await forEachPage({ script: false }, async (page, name) => {
    const parts = await page.evaluate<readonly string[]>(listParts)
    expect(parts.length, name).toBeGreaterThan(5)
    const lacking = withScript.get(name)?.filter((part) => !parts.includes(part))
    expect(lacking, name).toEqual([])
  })
})

/** Headings, links, fields and rows that are shown, whichever decisions are the last; a chart and the button that pauses it need a script. */
const listParts = `[...document.querySelectorAll('h1, h2, h3, a[href], input:not([type=hidden]), select, textarea, button[type=submit], button:not([type]), tr')]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }))
  .map((one) => one.localName + ' ' + (one.getAttribute('href')?.replace(/[0-9a-z]{29}/, 'ID') ?? one.name ?? one.cells?.length ?? one.textContent))`

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

it('adds calls of another system without script, and says when the number may be called again', async () => {
  const { page, context } = await openVisitor(browser, { script: false })
  await signIn(page, running.url, running.keys.sandbox)
  for (const ref of ['a', 'b', 'c']) {
    await page.goto(`${running.url}/console/attempts/new`)
    await page.getByLabel('Number').fill('(305) 555-0108')
    await page.getByLabel('When').fill('2026-11-23T16:00')
    await page.getByLabel('Reference').fill(ref)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('status').filter({ hasText: 'Counted: a call' }).waitFor()
  }
  await page.getByText('may be called again from 2026-11-24 16:00:00 UTC').waitFor()
  expect(page.url()).not.toContain('5550108')
  await context.close()
})

it('adds a call of another system by keyboard alone, and reads a refusal first', async () => {
  const { page, context } = await openVisitor(browser)
  await signIn(page, running.url, running.keys.sandbox)
  await page.goto(`${running.url}/console/attempts/new`)
  await tabTo(page.locator('[name=number]'))
  await page.keyboard.type('305')
  await tabTo(page.locator('[name=at]'))
  await page.keyboard.type('11232026')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.type('0400PM')
  await tabTo(page.locator('[name=ref]'))
  await page.keyboard.type('by-keyboard')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  expect(await page.evaluate('document.activeElement.className')).toBe('refusal')
  await tabTo(page.locator('[name=number]'))
  await page.keyboard.press('Control+A')
  await page.keyboard.type('305-555-0109')
  await page.keyboard.press('Enter')
  await page.getByRole('status').filter({ hasText: 'a call to (305) 555-0109' }).waitFor()
  await page.getByText('2026-11-23 16:00:00 UTC').waitFor()
  await context.close()
})

it('goes back to an earlier list by keyboard alone', async () => {
  const { page, context } = await openVisitor(browser)
  await signIn(page, running.url, running.keys.main)
  await page.goto(`${running.url}/console/lists/us-dnc`)
  await tabTo(page.locator('[name=version]'))
  await tabTo(page.locator('[name=reason]'))
  await page.keyboard.type('the file was cut short')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('is in use again').waitFor()
  await context.close()
})

it('shows the week of a state without script', async () => {
  const { page, context } = await openVisitor(browser, { script: false })
  await signIn(page, running.url, running.keys.sandbox)
  await page.goto(`${running.url}/console/rules`)
  await page.getByLabel('State or province').selectOption('Florida')
  await page.getByLabel('Kind of call').selectOption('AI call')
  await page.getByRole('button', { name: 'Show' }).click()
  await page.getByRole('heading', { name: 'Florida, US: the week of' }).waitFor()
  expect(await page.locator('svg.bar').count()).toBe(7)
  await context.close()
})

it('adds an opt-out by keyboard alone, and reads a refusal first', async () => {
  const { page, context } = await openVisitor(browser)
  await signIn(page, running.url, running.keys.sandbox)
  await page.goto(`${running.url}/console/opt-outs`)
  await tabTo(page.locator('[name=number]'))
  await page.keyboard.type('12')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  expect(await page.evaluate('document.activeElement.className')).toBe('refusal')
  await tabTo(page.locator('[name=number]'))
  await page.keyboard.press('Control+A')
  await page.keyboard.type('2125550140')
  await page.keyboard.press('Enter')
  await page.getByRole('status').waitFor()
  expect(await page.getByRole('status').textContent()).toContain('has opted out')
  await context.close()
})

it('makes a key without script, and shows it once', async () => {
  const { page, context } = await openVisitor(browser, { script: false })
  await signIn(page, running.url, running.keys.main)
  await page.goto(`${running.url}/console/keys`)
  await page.getByRole('link', { name: 'Make a key' }).click()
  await page.getByLabel('Label').fill('without script')
  await page.getByLabel('decide:').check()
  await page.getByLabel('records:').check()
  await page.getByLabel('AI call').check()
  await page.getByRole('button', { name: 'Make the key' }).click()
  const key = (await page.locator('code.secret').textContent()) ?? ''
  const made = await running.callgate.authenticate(key, 'login-id')
  expect([...(made?.limits.rights ?? [])]).toEqual(['decide', 'records'])
  // Loading the page again sends the form again, which makes no second key.
  await page.reload()
  expect(await page.getByRole('alert').textContent()).toContain('without script')
  const labels = (await running.callgate.keys.list('main')).map(({ label }) => label)
  expect(labels.filter((label) => label === 'without script')).toHaveLength(1)
  await context.close()
})

it('adds and ends a caller ID without script', async () => {
  const { page, context } = await openVisitor(browser, { script: false })
  await signIn(page, running.url, running.keys.main)
  await page.goto(`${running.url}/console/caller-ids`)
  await page.getByRole('link', { name: 'Add one' }).click()
  await page.getByLabel('Number').fill('(212) 555-0160')
  await page.getByLabel('Owner').fill('Acme')
  await page.getByLabel('Proof').fill('invoice 9')
  await page.getByLabel('Until (UTC)').fill('2028-01-01T00:00')
  await page.getByRole('button', { name: 'Add' }).click()
  expect(await page.getByRole('status').textContent()).toContain('Calls may show (212) 555-0160.')
  await page.getByRole('row', { name: '(212) 555-0160' }).getByRole('link', { name: 'End' }).click()
  await page.getByLabel('Why').fill('the office is closed')
  await page.getByRole('button', { name: 'End it' }).click()
  expect(await page.getByRole('status').textContent()).toContain('No call may show')
  await context.close()
})

it('adds a caller ID by keyboard alone, and reads a refusal first', async () => {
  const { page, context } = await openVisitor(browser)
  await signIn(page, running.url, running.keys.main)
  await page.goto(`${running.url}/console/caller-ids/new`)
  const fill = async (name: string, text: string) => {
    await tabTo(page.locator(`[name=${name}]`))
    await page.keyboard.press('Control+A')
    await page.keyboard.type(text)
  }
  await fill('number', '911')
  await fill('owner', 'Acme')
  await fill('proof', 'invoice 9')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  expect(await page.evaluate('document.activeElement.className')).toBe('refusal')
  await fill('number', '2125550161')
  await page.keyboard.press('Enter')
  await page.getByRole('status').waitFor()
  expect(await page.getByRole('status').textContent()).toContain('Calls may show (212) 555-0161.')
  await context.close()
})

it('approves a call by keyboard alone', async () => {
  const { page, context } = await openVisitor(browser)
  await signIn(page, running.url, running.keys.sandbox)
  await page.goto(`${running.url}/console/approvals/${data.approvalId}`)
  await tabTo(page.locator('[name=note]'))
  await page.keyboard.type('He asked for it')
  await tabTo(page.locator('[value=approve]'))
  await page.keyboard.press('Enter')
  await page.getByRole('status').waitFor()
  expect(await page.getByRole('status').textContent()).toContain('Approved: the AI call')
  await context.close()
})

it('asks for a change without script, and another one approves it by keyboard alone', async () => {
  const asking = await openVisitor(browser, { script: false })
  await signIn(asking.page, running.url, data.officer.key)
  await asking.page.goto(`${running.url}/console/opt-outs/end`)
  await asking.page.getByLabel('Numbers').fill('2125550160\n2125550161')
  await asking.page.getByLabel('Why').fill('They asked in writing')
  await asking.page.getByRole('button', { name: 'End' }).click()
  const said = (await asking.page.getByRole('status').textContent()) ?? ''
  expect(said).toContain('Not done yet: ending 2 opt-outs')
  const path = `/console/changes/${/\bch-[0-9a-f]{20}\b/.exec(said)?.[0]}`
  await asking.page.goto(running.url + path)
  await asking.page.getByText('It waits for another person').waitFor()
  await asking.context.close()

  const { page, context } = await openVisitor(browser)
  await signIn(page, running.url, running.keys.sandbox)
  await page.goto(running.url + path)
  await tabTo(page.locator('#reason'))
  await page.keyboard.type('I have read both letters')
  await tabTo(page.locator('[value=approve]'))
  await page.keyboard.press('Enter')
  await page.getByRole('status').waitFor()
  expect(await page.getByRole('status').textContent()).toContain('Approved and done: ending 2')
  await context.close()
})

it('imports a file of opt-outs without script', async () => {
  const { page, context } = await openVisitor(browser, { script: false })
  await signIn(page, running.url, running.keys.sandbox)
  await page.goto(`${running.url}/console/opt-outs/many`)
  const buffer = Buffer.from('name;phone\nAnn;(212) 555-0151\nBob;12\n')
  await page
    .getByLabel('Or a file')
    .setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer })
  await page.getByRole('button', { name: 'Look at them' }).click()
  await page.getByRole('button', { name: 'Add 1 opt-out' }).click()
  expect(await page.getByRole('status').textContent()).toContain('Added: 1 number.')
  await context.close()
})

it('asks for evidence by keyboard alone, and downloads it without script', async () => {
  const { page, context } = await openVisitor(browser, { script: false })
  // A bundle has what is signed.
  const isSigned = async () => (await running.get(`/v1/decisions/${data.decisionId}/proof`)).status
  await expect.poll(isSigned, { interval: 200 }).toBe(200)
  await signIn(page, running.url, running.keys.sandbox)
  await page.goto(`${running.url}/console/evidence`)
  await tabTo(page.locator('[name=number]'))
  await page.keyboard.type('(212) 555-0100')
  await tabTo(page.locator('[name=reason]'))
  await page.keyboard.type('A letter of 11/20')
  await page.keyboard.press('Enter')
  await page
    .getByRole('status')
    .getByText('The bundle was asked for; its state is below.')
    .waitFor()
  const download = page.getByRole('link', { name: 'Download evidence-' })
  await expect
    .poll(
      async () => {
        const again = page.getByRole('link', { name: 'Look again' })
        if (await again.count()) await again.click()
        return await download.count()
      },
      { timeout: 60_000 },
    )
    .toBe(1)
  const [file] = await Promise.all([page.waitForEvent('download'), download.click()])
  expect(
    readFileSync(await file.path())
      .subarray(0, 2)
      .toString(),
  ).toBe('PK')
  await context.close()
})
