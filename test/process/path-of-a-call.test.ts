/**
 * How much code one decision runs through, counted by V8 over the built program. Prints the counts;
 * docs/architecture.md draws the path. Longer than the bounds means that a reader has one more file
 * to open for every call: shorten the path, or raise the bound and say why.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { environmentOf } from '../support/program.js'

interface PathCount {
  readonly decision: string
  readonly message: string
  readonly files: readonly string[]
  readonly functions: number
  readonly calls: number
}

/**
 * A flush ends with the order to bring the index and the tree up to date. The limits on how often are found by a function of their
 * own, which answers people too, and what the finding of one source rests on has one to write it. A cold decision also collects the facts of its record, and makes what a warm one finds made. Both ask whether calls are
 * paused, what must be said in them, and whether a law limits how often the person is called, what the call shows, whether too many calls were abandoned, and whether a law of a state asks for a consent, and count what calls get; what such a limit or a key counts
 * runs through more. What is said is put into words in the reply alone: 1 file and 2 functions of a warm one, 4 and 17 of a cold one, whose codes are
 * made as well. Each rule has a file and a function, and is asked for each call. A record has its facts, and what others said verbatim, in a part of its own.
 */
const bounds = {
  warm: { files: 49, functions: 151, calls: 253 },
  cold: { files: 80, functions: 324, calls: 708 },
}

it('a decision runs through few files and functions', async () => {
  const script = join(import.meta.dirname, '../support/path-of-a-call.mjs')
  const options = { env: environmentOf({}), timeout: 60_000 }
  const { stdout } = await promisify(execFile)(process.execPath, [script], options)
  const counted: Readonly<Record<keyof typeof bounds, PathCount>> = JSON.parse(stdout)
  const { warm, cold } = counted
  const count = ({ files, functions, calls }: PathCount) =>
    `${files.length} files, ${functions} functions, ${calls} calls`
  process.stdout.write(`warm: ${count(warm)}; cold: ${count(cold)}\n`)
  for (const which of ['warm', 'cold'] as const) {
    const { decision, message, files, functions, calls } = counted[which]
    expect([decision, message]).toEqual(['allow', 'every check passed'])
    expect(files.length, files.join('\n')).toBeLessThanOrEqual(bounds[which].files)
    expect(functions).toBeLessThanOrEqual(bounds[which].functions)
    expect(calls).toBeLessThanOrEqual(bounds[which].calls)
  }
})
