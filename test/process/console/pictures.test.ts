/**
 * The pictures of the console in the README, from data of the sandbox: `npm run pictures` makes them again. Here each is made
 * and compared with the one that is kept.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBrowser, openVisitor, signIn } from '../../support/browser.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

const root = join(import.meta.dirname, '../../..')
const folder = join(root, 'docs/pictures')
const size = { width: 1280, height: 860 }

/** Fonts and versions of the browser differ a little; a page of another form differs by more. */
const mostDifferent = 6

let running: TestCallgate
let browser: Browser
let page: Page
const optedOut = '3035550100'
let blockedId = ''

async function decide(number: string, callKind: string): Promise<string> {
  const answer = await running.postJson('/v1/decisions', { number, callKind })
  return ((await answer.json()) as { id: string }).id
}

beforeAll(async () => {
  running = await openTestCallgate({ at: mondayNoon - 3 * 3_600_000 })
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
afterAll(() => running.end())

/** How far two pictures are apart: the mean difference of their brightness from 0 to 255, both made as small as a stamp. */
function compare(first: Buffer, second: Buffer): Promise<number> {
  const stamp = { width: 128, height: 86 }
  return page.evaluate(
    async ({ urls, width, height }) => {
      const shades = await Promise.all(
        urls.map(async (url) => {
          const image = new Image()
          image.src = url
          await image.decode()
          const drawing = new OffscreenCanvas(width, height).getContext('2d')
          drawing?.drawImage(image, 0, 0, width, height)
          return [...(drawing?.getImageData(0, 0, width, height).data ?? [])]
        }),
      )
      const [one = [], other = []] = shades
      return (
        one.reduce((sum, shade, at) => sum + Math.abs(shade - (other[at] ?? 0)), 0) / one.length
      )
    },
    {
      urls: [first, second].map((png) => `data:image/png;base64,${png.toString('base64')}`),
      ...stamp,
    },
  )
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
