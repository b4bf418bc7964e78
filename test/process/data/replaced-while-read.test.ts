/** A prepared file that another process replaces while it is read, as on a folder that nodes share. */
import { once } from 'node:events'
import {
  closeSync,
  copyFileSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { startChild } from '../../../scripts/children.mjs'
import {
  openNumberList,
  openNumberListInBackground,
} from '../../../src/data/number-list/format/number-list.js'
import { NumberListBuilder } from '../../../src/data/number-list/format/number-list-builder.js'
import { openListStore } from '../../../src/data/number-list/list-store.js'
import {
  importBlocks,
  importNumbering,
} from '../../../src/data/numbering/import/numbering-import.js'
import { openNumberingPlan } from '../../../src/data/numbering/numbering-plan.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { fixedClock } from '../../../src/domain/time/clock.js'
import { blocksText } from '../../data/sample-blocks.js'
import { nanpaText } from '../../data/sample-feeds.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { yearStart } from '../../data/zone-clocks.js'

const temp = useTempFolder()

/** Another process overwrites the file where it lies: so much of `bytes`, then it may go on. */
function overwriteInPlace(path: string, bytes: Buffer, length = bytes.length): void {
  const file = openSync(path, 'r+')
  writeSync(file, bytes, 0, length, 0)
  if (length === bytes.length) ftruncateSync(file, length)
  closeSync(file)
}

describe('a list', () => {
  let lists = ''
  let path = ''
  /** Two lists of the name, and their versions. */
  let files: readonly [string, string]
  let versions: readonly [string, string]

  /** Some 3 MB, so that reading it takes several pieces. */
  async function makeList(name: string, areaCode: number): Promise<string> {
    const builder = new NumberListBuilder()
    for (let prefix = 0; prefix < 2400; prefix += 1) {
      for (let line = 0; line < 640; line += 1) {
        builder.addDigits((areaCode + Math.floor(prefix / 800)) * 1000 + 200 + (prefix % 800), line)
      }
    }
    const file = temp.file(name)
    await builder.write(file, {
      name: 'us-dnc',
      feed: 'list',
      previous: null,
      coverage: 'all',
      sources: [],
      asOf: yearStart,
      importedAt: yearStart,
    })
    return file
  }

  beforeEach(async () => {
    lists = temp.file('lists')
    mkdirSync(lists)
    path = join(lists, 'us-dnc.cglist')
    files = [await makeList('one', 212), await makeList('two', 302)]
    versions = [openNumberList(files[0]).version, openNumberList(files[1]).version]
    copyFileSync(files[0], path)
  })

  it('is read whole, whenever a new file is put in its place', async () => {
    const found = new Set<string>()
    for (let turns = 0; turns < 12; turns += 1) {
      copyFileSync(files[0], path)
      const aside = temp.file('aside')
      copyFileSync(files[1], aside)
      const reading = openNumberListInBackground(path)
      for (let turn = 0; turn < turns; turn += 1) await setImmediate()
      renameSync(aside, path)
      const { version } = await reading
      expect(versions).toContain(version)
      found.add(version)
    }
    expect(found).toContain(versions[0])
  })

  it('of a store is one or the other, while another process goes on replacing it', async () => {
    const store = openListStore({ folder: lists })
    const script = `
      const { copyFileSync, renameSync } = require('node:fs')
      const [one, two, aside, path] = process.argv.slice(1)
      for (let at = 0; at < 150; at += 1) {
        copyFileSync(at % 2 ? one : two, aside)
        renameSync(aside, path)
      }`
    const args = ['-e', script, ...files, temp.file('aside'), path]
    const other = startChild(process.execPath, args, { stdio: 'ignore' })
    let isOver = false
    const ended = once(other, 'exit').then(([code]) => {
      isOver = true
      return code as number
    })
    let changes = 0
    while (!isOver) {
      // A look that finds nothing new ends without a turn of the event loop.
      await setImmediate()
      if (await store.refreshInBackground()) changes += 1
      expect(store.problems()).toEqual([])
      expect(versions).toContain(store.get('us-dnc')?.version)
    }
    expect(await ended).toBe(0)
    expect(changes).toBeGreaterThan(0)
    await store.refreshInBackground()
    expect(store.get('us-dnc')?.version).toBe(versions[0])
  })

  it('that is half overwritten is refused, the one before stays, and is read again when whole', async () => {
    const store = openListStore({ folder: lists })
    const bytes = readFileSync(files[1])
    overwriteInPlace(path, bytes, Math.floor(bytes.length / 2))
    await store.refreshInBackground()
    expect(store.get('us-dnc')?.version).toBe(versions[0])
    expect(store.problems()).toMatchObject([{ name: 'us-dnc', olderInUse: true }])
    overwriteInPlace(path, bytes)
    await store.refreshInBackground()
    expect(store.get('us-dnc')?.version).toBe(versions[1])
    expect(store.problems()).toEqual([])
  })
})

describe('prefixes and blocks', () => {
  const clock = fixedClock(yearStart)

  async function importUs(folder: string, company: string, ocn: string): Promise<void> {
    const nanpa = temp.write('co.txt', nanpaText([['FL', '850-550', ocn, company, 'PENSACOLA']]))
    await importNumbering({ nanpa, cnac: undefined, folder, clock })
    const file = temp.write('blocks.csv', blocksText([{ block: '8505501', ocn, company }]))
    await importBlocks({ file, folder, clock })
  }

  it.each([
    ['numbering-us.cg', '8505500345'],
    ['blocks-us.cg', '8505501345'],
  ])('%s half overwritten is refused, and read again when whole', async (name, number) => {
    const [one, two] = [temp.file('one'), temp.file('two')]
    await importUs(one, 'EXAMPLE TEL CO', 'ZZ02')
    await importUs(two, 'ANOTHER TEL CO', 'ZZ03')
    const plan = openNumberingPlan({ folder: one, unknownPrefix: 'strict' })
    const company = () => {
      const facts = plan.lookup(toPhoneNumber(number))
      return facts.status === 'ok' ? facts.carrier?.company : facts.status
    }
    const bytes = readFileSync(join(two, name))
    overwriteInPlace(join(one, name), bytes, bytes.length - 20)
    expect(await plan.reloadIfChanged()).toBe(true)
    expect(plan.problems()[0]?.detail).toMatch(/is damaged or truncated/)
    expect(company()).toBe('EXAMPLE TEL CO')
    overwriteInPlace(join(one, name), bytes)
    expect(await plan.reloadIfChanged()).toBe(true)
    expect(company()).toBe('ANOTHER TEL CO')
    expect(plan.problems()).toEqual([])
  })
})
