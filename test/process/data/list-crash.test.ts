/** Imports and rollbacks of a list are killed at random moments, by a process of their own. */
import { on, once } from 'node:events'
import { watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { startChild } from '../../../scripts/children.mjs'
import { openNumberList } from '../../../src/data/number-list/format/number-list.js'
import { rollBackList } from '../../../src/data/number-list/list-rollback.js'
import { findVersions } from '../../../src/data/number-list/list-version-files.js'
import { systemClock } from '../../../src/runtime/runtime.js'
import { listsFixture, numberLines } from '../../data/lists-fixture.js'
import { seededRandom } from '../../data/random-numbers.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { shortOrLong } from '../../support/long.js'

const folder = useTempFolder()
const { source, importing, lists, path, files } = listsFixture(folder)
const random = seededRandom(31)
const kills = shortOrLong(6, 15)

function compiled(file: string): string {
  return JSON.stringify(
    pathToFileURL(join(import.meta.dirname, '../../../dist/data/number-list', file)).href,
  )
}

/** Imports one file after another, applies changes and goes back, again and again. */
const worker = (sources: readonly string[], changes: string) => `
  import { importList } from ${compiled('import/list-import.js')}
  import { importChanges } from ${compiled('import/changes-import.js')}
  import { rollBackList } from ${compiled('list-rollback.js')}
  const clock = { now: () => Date.now() }
  const rest = { name: 'us-dnc', folder: ${JSON.stringify(lists())}, clock }
  process.stdout.write('ready')
  for (;;) {
    for (const path of ${JSON.stringify(sources)}) {
      await importList({ ...rest, files: [path], keepVersions: 2, allowShrink: true })
      await importChanges({ ...rest, files: [${JSON.stringify(changes)}], allowGap: true })
      await rollBackList({ ...rest, keep: 2 })
      await rollBackList({ ...rest, keep: 2 })
    }
  }
`

/** Kills the worker now at a random moment, now when something happens to the files of the lists. */
async function killed(sources: readonly string[], changes: string, nth: number): Promise<void> {
  const script = ['--input-type=module', '-e', worker(sources, changes)]
  const child = startChild(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(child, 'close')
  await Promise.race([once(child.stdout, 'data'), gone])
  await pause(random(300))
  if (nth % 3 === 0) await Promise.race([touched('us-dnc.cglist', 3 + random(9)), gone])
  if (nth % 3 === 1) await Promise.race([touched('.us-dnc.lock', 1 + random(9)), gone])
  child.kill('SIGKILL')
  await gone
  // It does not end by itself.
  expect(child.signalCode).toBe('SIGKILL')
}

async function touched(name: string, times: number): Promise<void> {
  const watching = watch(lists())
  let left = times
  for await (const [, of] of on(watching, 'change')) {
    if (of === name) left -= 1
    if (left === 0) break
  }
  watching.close()
}

it('a kill at any moment leaves a whole list in use, and versions to go back to', async () => {
  const sources = [3_000, 5_000].map((count) => source(`${count}.txt`, numberLines(0, count)))
  const changes = source('changes.txt', '2125559999,2026-11-18T09:00:00,A\n')
  await importing({ files: sources.slice(0, 1), clock: systemClock })
  const seen = new Set<number>()
  for (let nth = 0; nth < kills; nth += 1) {
    await killed(sources, changes, nth)
    const { size, version } = openNumberList(path())
    expect([3_000, 3_001, 5_000, 5_001]).toContain(size)
    seen.add(size)
    const [inUse, ...kept] = findVersions(lists(), 'us-dnc')
    expect(inUse).toMatchObject({ version, inUse: true })
    for (const one of kept) expect(openNumberList(one.path).size).toBe(one.size)
  }
  expect(seen.size).toBeGreaterThan(1)
  await importing({ files: sources.slice(1), clock: systemClock })
  await importing({ files: sources.slice(1), clock: systemClock })
  expect(files().filter((file) => !/^(?:versions\/)?us-dnc\./.test(file))).toEqual([])
  expect(files()).toHaveLength(3)
  const { to } = await rollBackList({
    folder: lists(),
    name: 'us-dnc',
    keep: 2,
    clock: systemClock,
  })
  expect(to.size).toBe(5_000)
})
