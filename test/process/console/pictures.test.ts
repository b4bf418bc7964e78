/**
 * The pictures of the console in the README, from data of the sandbox: `npm run pictures` makes them again. Here each is made
 * and compared with the one that is kept.
 */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import { LiveFigures } from '../../../src/observability/live-figures.js'
import { openBrowser, openVisitor, signIn } from '../../support/browser.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

const root = join(import.meta.dirname, '../../..')
const folder = join(root, 'docs/pictures')
const size = { width: 1280, height: 860 }

/** Fonts and versions of the browser differ a little; a page of another form differs by more. */
const mostDifferent = 6

let dataDir: string
let running: TestCallgate
let browser: Browser
let page: Page
const optedOut = '3035550100'
let blockedId = ''
let figures: LiveFigures

async function decide(number: string, callKind: string, key?: string): Promise<string> {
  const answer = await running.postJson('/v1/decisions', { number, callKind }, key)
  return ((await answer.json()) as { id: string }).id
}

beforeAll(async () => {
  vi.spyOn(LiveFigures.prototype, 'start').mockImplementation(function (this: LiveFigures) {
    figures = this
  })
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-pictures-'))
  await addLists()
  running = await openTestCallgate({ dataDir, at: mondayNoon - 3 * 3_600_000 })
  browser = await openBrowser()
  await running.postJson('/app/main/rpc/ebr', {
    ebrList: [{ phoneNumber: optedOut, type: 'P', dateOfLastContact: '11/20/2026' }],
  })
  await decide(optedOut, 'ai')
  running.clock.at += 40 * 60_000
  await running.postJson('/v1/opt-outs', { number: optedOut, said: 'Please stop calling me' })
  running.clock.at = mondayNoon
  blockedId = await decide(optedOut, 'ai')
  await running.callgate.journal.drain()
  const visitor = await openVisitor(browser)
  page = visitor.page
  await page.setViewportSize(size)
  await signIn(page, running.url, running.keys.sandbox)
})
afterAll(async () => {
  await running.end()
  vi.restoreAllMocks()
})

/** Enough for account main to call. */
async function addLists(): Promise<void> {
  const file = join(dataDir, 'numbers.txt')
  writeFileSync(file, '2127365001\n')
  const asOf = mondayNoon - 24 * 3_600_000
  const made = { files: [file], folder: join(dataDir, 'lists'), asOf }
  const clock = { now: () => asOf }
  await importList({ ...made, name: 'us-dnc', areaCodes: 'all', clock })
  await importList({ ...made, name: 'canada-dnc', areaCodes: 'all', clock })
  await importList({ ...made, name: 'litigators', clock })
}

/** A quarter of an hour of calls, in which the clock of the test moves by five seconds at a time. */
async function passQuarterOfHour(): Promise<void> {
  for (let step = 0; step < 180; step += 1) {
    const calls = Math.round(9 + 5 * Math.sin(step / 20) + (step % 3))
    const decided = Array.from({ length: calls }, (_, call) => {
      const number = String(2_127_365_000 + ((step * 7 + call * 3) % 400))
      return decide(number, call % 4 === 3 ? 'ai' : 'manual', running.keys.main)
    })
    await Promise.all(decided)
    running.clock.at += 5_000
    figures.addStep()
  }
  await running.callgate.journal.drain()
}

/** How far two pictures are apart: the mean difference of their brightness from 0 to 255, both made as small as a stamp. */
async function compare(first: Buffer, second: Buffer): Promise<number> {
  const [width, height] = [128, 86]
  const urls = [first, second].map((png) => `data:image/png;base64,${png.toString('base64')}`)
  const shadesOf = `async (url) => {
    const image = new Image()
    image.src = url
    await image.decode()
    const drawing = new OffscreenCanvas(${width}, ${height}).getContext('2d')
    drawing.drawImage(image, 0, 0, ${width}, ${height})
    return [...drawing.getImageData(0, 0, ${width}, ${height}).data]
  }`
  const [one = [], other = []] = await page.evaluate<number[][]>(
    `Promise.all(${JSON.stringify(urls)}.map(${shadesOf}))`,
  )
  return one.reduce((sum, shade, at) => sum + Math.abs(shade - (other[at] ?? 0)), 0) / one.length
}

async function keep(name: string): Promise<void> {
  const picture = await page.screenshot()
  const path = join(folder, `${name}.png`)
  if (process.env.PICTURES === 'write') {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path, picture)
  }
  await page.goto('about:blank')
  expect(await compare(picture, readFileSync(path))).toBeLessThan(mostDifferent)
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(`(docs/pictures/${name}.png)`)
}

it('Why', async () => {
  await page.goto(`${running.url}/console/decisions/${blockedId}`)
  await page.getByRole('heading', { name: 'Why this call was blocked' }).waitFor()
  await keep('why')
})

it('Number', async () => {
  await page.goto(`${running.url}/console/numbers`)
  await page.getByLabel('Number').fill(optedOut)
  await page.getByRole('button', { name: 'Show' }).click()
  await page.getByRole('heading', { name: 'Number (303) 555-0100' }).waitFor()
  await keep('number')
})

it('Now', async () => {
  await passQuarterOfHour()
  await page.context().clearCookies()
  await signIn(page, running.url, running.keys.main)
  await page.goto(`${running.url}/console/now`)
  await page.locator('.uplot').nth(2).waitFor()
  await keep('now')
})
