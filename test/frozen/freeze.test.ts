/**
 * Writes the file of frozen calls that is not there yet, once: `FROZEN=<folder> npx vitest run --project first test/frozen/freeze.test.ts`. Worlds that have ended are kept
 * in the folder, so that it can be interrupted, and several processes may share the work (`FROZEN_PART=1/4`). `FROZEN_PART=all`
 * puts together what is there.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'vitest'
import { makeMoreWorlds, makeWorlds } from './make/worlds.js'
import { runWorld } from './run-world.js'
import { type Frozen, frozenFiles, isWritten, writeFrozen } from './store.js'

const { FROZEN: folder = '', FROZEN_PART: part = '1/1' } = process.env

it.runIf(folder !== '')('freezes', { timeout: 7_200_000 }, async () => {
  mkdirSync(folder, { recursive: true })
  const fileOf = (name: string) => join(folder, `${name}.json`)
  const unwritten = frozenFiles.find((file) => !isWritten(file))
  if (unwritten === undefined) throw new Error('each file of frozen calls is written once')
  const worlds = [...(unwritten === 'calls.jsonl.br' ? makeWorlds(1) : makeMoreWorlds())]
  const [nth = 1, of = 1] = part.split('/').map(Number)
  if (part === 'all') {
    const ended = worlds.map(({ name }) => fileOf(name)).filter((file) => existsSync(file))
    const frozen = ended.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Frozen)
    writeFrozen(unwritten, frozen)
    return
  }
  for (const [index, world] of worlds.entries()) {
    const file = fileOf(world.name)
    if (index % of !== nth - 1 || existsSync(file)) continue
    writeFileSync(`${file}.part`, JSON.stringify({ world, result: await runWorld(world) }))
    renameSync(`${file}.part`, file)
  }
})
