/** Imports are killed at random moments, again and again, by a process of their own. */
import { on, once } from 'node:events'
import { existsSync, readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { startChild } from '../../../scripts/children.mjs'
import {
  type FactFeedName,
  type FactRowOf,
  factFeeds,
  resolveFactFilePath,
} from '../../../src/data/facts/fact-feeds.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import {
  type FactFile,
  openFactFile,
  verifyFactFile,
} from '../../../src/storage/facts/fact-file.js'
import type { FactFileSchema, FactRow } from '../../../src/storage/facts/fact-file-schema.js'
import { factImports } from '../../data/facts-fixture.js'
import { seededRandom } from '../../data/random-numbers.js'
import { ftcText } from '../../data/sample-feeds.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { shortOrLong } from '../../support/long.js'

const folder = useTempFolder()
const imports = factImports(folder)
const random = seededRandom(21)

/** The compiled importer, one file after another; says the place of each that was imported. */
const importer = (feed: FactFeedName, files: readonly string[]) => `
  import { factFeeds } from ${JSON.stringify(compiled('data/facts/fact-feeds.js'))}
  import { importFacts } from ${JSON.stringify(compiled('data/facts/fact-import.js'))}
  import { systemClock } from ${JSON.stringify(compiled('runtime/runtime.js'))}
  const files = ${JSON.stringify(files)}
  const rest = { feed: factFeeds['${feed}'], folder: ${JSON.stringify(imports.facts)}, clock: systemClock }
  for (const [nth, path] of files.entries()) {
    await importFacts({ ...rest, files: [path] })
    process.stdout.write(nth + ' ')
  }
`

function compiled(path: string): string {
  return pathToFileURL(join(import.meta.dirname, '../../../dist', path)).href
}

/**
 * Kills an importer after its first file: now at a random moment, now when something happens to the
 * file in use. Gives how many files it said it had imported.
 */
async function killed(feed: FactFeedName, files: readonly string[], nth: number): Promise<number> {
  const script = ['--input-type=module', '-e', importer(feed, files)]
  const child = startChild(process.execPath, script, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (bytes: Buffer) => {
    said += bytes.toString()
  })
  const gone = once(child, 'close')
  await once(child.stdout, 'data')
  await (nth % 2 === 0 ? pause(random(400)) : touched(`${feed}.sqlite`))
  child.kill('SIGKILL')
  await gone
  return said.split(' ').filter((word) => /^\d+$/.test(word)).length
}

/** Until something is done to a file of the folder. */
async function touched(name: string): Promise<void> {
  const watching = watch(imports.facts)
  for await (const [, of] of on(watching, 'change')) if (of === name) break
  watching.close()
}

function open<Name extends FactFeedName>(feed: Name): FactFile<FactRowOf<Name>> {
  const shape: FactFileSchema<FactRow> = factFeeds[feed].shape
  return openFactFile(resolveFactFilePath(imports.facts, feed), shape) as FactFile<FactRowOf<Name>>
}

describe('an import that is killed', () => {
  it('leaves the old file or the new one whole', async () => {
    const numbers = Array.from({ length: 8_000 }, () => String(3_002_000_000 + random(8e6)))
    const size = new Set(numbers).size
    const files = ['R', 'B'].map((kind) =>
      imports.write(`${kind}.csv`, numbers.map((number) => `${number},${kind}\n`).join('')),
    )
    const [residential = '', business = ''] = files
    await imports.load('res-or-business', [residential])
    const found = { R: 0, B: 0, U: 0 }
    const kills = shortOrLong(6, 20)
    for (let nth = 0; nth < kills; nth += 1) {
      await killed('res-or-business', new Array(200).fill([business, residential]).flat(), nth)
      verifyFactFile(resolveFactFilePath(imports.facts, 'res-or-business'), size)
      const file = open('res-or-business')
      const kinds = new Set(numbers.map((number) => file.findRows(toPhoneNumber(number))[0]?.kind))
      file.close()
      expect(kinds.size).toBe(1)
      for (const kind of kinds) found[kind ?? 'U'] += 1
    }
    expect([found.R + found.B, found.U]).toEqual([kills, 0])
    await imports.load('res-or-business', [business])
    expect(readdirSync(imports.facts).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  it('loses no complaint of an import that ended well', async () => {
    const perDay = 1500
    const numbersOf = (nth: number) =>
      Array.from({ length: perDay }, (_, line) => String(3_002_000_000 + nth * 10_000 + line))
    const dates = Array.from({ length: 100 }, (_, nth) =>
      new Date(Date.UTC(2026, 0, 1 + nth)).toISOString().slice(0, 10),
    )
    const files = dates.map((date, nth) => {
      const rows = numbersOf(nth).map((number) => `${number},${date} 09:00:00,,,,,Other,N`)
      return imports.write(`${date}.csv`, ftcText(rows))
    })
    let done = 0
    for (let nth = 0; nth < shortOrLong(6, 15); nth += 1) {
      done = Math.min(90, done + (await killed('ftc-complaints', files.slice(done), nth)))
      if (!existsSync(resolveFactFilePath(imports.facts, 'ftc-complaints'))) continue
      const file = open('ftc-complaints')
      const acknowledged = Array.from({ length: done }, (_, of) => numbersOf(of)).flat()
      const lost = acknowledged.filter(
        (number) => file.findRows(toPhoneNumber(number)).length !== 1,
      )
      const { entries } = file.info
      file.close()
      expect(lost).toEqual([])
      // That of the last day may be there though nobody was told.
      expect([done * perDay, (done + 1) * perDay]).toContain(entries)
      verifyFactFile(resolveFactFilePath(imports.facts, 'ftc-complaints'), entries)
    }
    expect(done).toBeGreaterThan(0)
  })
})
