/** What test files leave open, seen in runs of vitest of their own. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { runChild } from '../../scripts/children.mjs'

const root = join(import.meta.dirname, '../..')
let folder: string

beforeEach(() => {
  // In the project, so that its modules are found.
  mkdirSync(join(root, 'var'), { recursive: true })
  folder = mkdtempSync(join(root, 'var/left-open-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function runTests(body: string) {
  const setup = JSON.stringify(join(root, 'test/support/left-open.ts'))
  writeFileSync(
    join(folder, 'vitest.config.mjs'),
    `export default { test: { setupFiles: [${setup}], retry: 1, include: ['*.test.mjs'] } }`,
  )
  writeFileSync(
    join(folder, 'one.test.mjs'),
    `import { expect, it } from 'vitest'
    import { livingChildren, startChild } from '../../scripts/children.mjs'
    const start = () => startChild('sleep', ['600'])
    let tries = 0
    ${body}`,
  )
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const { code, out, err } = await runChild(process.execPath, [vitest, 'run', '--root', folder])
  return { code, text: out + err }
}

it('fails a file whose tests pass and leave a process running', async () => {
  const { code, text } = await runTests("it('starts one', () => void start())")
  expect(text).toContain('the tests of this file left open: ProcessWrap')
  expect(code).toBe(1)
})

it('passes a test at its second try, without the process that the first one left', async () => {
  const { code, text } = await runTests(`
    it('starts one in the first try', async () => {
      if (tries++ === 0) {
        start()
        expect.fail('the first try')
      }
      await expect.poll(() => livingChildren().size).toBe(0)
    })`)
  expect(text).toContain('1 passed')
  expect(code).toBe(0)
})
