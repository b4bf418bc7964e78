import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { startThread, type ThreadWork } from '../../src/runtime/thread.js'

/** Replies to each request with one more. */
const file = join(tmpdir(), `callgate-thread-${process.pid}.mjs`)
writeFileSync(
  file,
  `import { parentPort } from 'node:worker_threads'
parentPort.on('message', (request) => parentPort.postMessage({ ok: true, reply: request + 1 }))
`,
)
afterAll(() => rmSync(file))

const create = () => ({ handle: (request: number) => request + 1, close: () => undefined })

it.each([
  ['a thread', pathToFileURL(file).href],
  ['a thread that runs inline', 'file:///work.ts'],
])('%s is not started again by a request after it was terminated', async (_, module) => {
  const work: ThreadWork<undefined, number, number> = { module, create }
  const thread = startThread(work, undefined)
  expect(await thread.ask(1)).toBe(2)
  await thread.terminate()
  await expect(thread.ask(1)).rejects.toThrow('the thread has ended')
  const unused = startThread(work, undefined)
  await unused.terminate()
  await expect(unused.ask(1)).rejects.toThrow('the thread has ended')
})
