import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { afterEach, describe, expect, it } from 'vitest'
import { resolveFactFilePath } from '../../../src/data/facts/fact-feeds.js'
import { type FactStore, openFactStore } from '../../../src/data/facts/fact-store.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { DataFileError } from '../../../src/errors.js'
import { at, factImports } from '../../data/facts-fixture.js'
import { seededRandom } from '../../data/random-numbers.js'
import { useTempFolder } from '../../data/temp-folder.js'

const folder = useTempFolder()
const imports = factImports(folder)
const opened: FactStore[] = []

afterEach(() => {
  for (const store of opened.splice(0)) store.close()
})

function open(): FactStore {
  const store = openFactStore({ folder: imports.facts })
  opened.push(store)
  return store
}

const one = toPhoneNumber('8505550123')
const path = () => resolveFactFilePath(imports.facts, 'line-status')
const status = (store: FactStore) => store.get('line-status')?.findRows(one)[0]?.status
const say = (text: string) => imports.text('line-status', `${one},${text}\n`)

/** Puts bytes in place of the file as an import does, by a rename. */
function replace(bytes: Buffer | string): void {
  writeFileSync(`${path()}.other`, bytes)
  renameSync(`${path()}.other`, path())
}

describe('openFactStore', () => {
  it('opens what there is; a folder that is not there yet holds nothing', async () => {
    const store = open()
    expect([store.all(), store.problems(), store.get('line-status')]).toEqual([[], [], undefined])
    await say('busy')
    await imports.text('spam-labels', `${one},AppA,clean\n${one},AppB,clean\n`, {
      asOf: at('2026-11-01'),
    })
    expect(store.refresh()).toBe(true)
    expect(store.refresh()).toBe(false)
    expect(status(store)).toBe('busy')
    expect(store.all()).toEqual([
      { name: 'line-status', entries: 1, asOf: at('2026-11-18T08:00:00Z') },
      { name: 'spam-labels', entries: 2, asOf: at('2026-11-01') },
    ])
    expect(store.problems()).toEqual([])
  })

  it('takes a new file without a restart', async () => {
    await say('busy')
    const store = open()
    await say('pending')
    expect(status(store)).toBe('busy')
    expect(store.refresh()).toBe(true)
    expect(status(store)).toBe('pending')
  })

  it('a file that is removed answers nothing more and is a problem until it is back', async () => {
    await say('busy')
    const store = open()
    rmSync(path())
    expect(store.refresh()).toBe(true)
    expect(store.get('line-status')).toBeUndefined()
    expect(store.problems()).toMatchObject([{ feed: 'line-status', olderInUse: false }])
    expect(store.refresh()).toBe(false)
    await say('pending')
    expect(store.refresh()).toBe(true)
    expect([status(store), store.problems()]).toEqual(['pending', []])
  })

  it('another folder in place of the file is a problem', async () => {
    await say('busy')
    const store = open()
    rmSync(path())
    mkdirSync(path())
    expect(store.refresh()).toBe(true)
    expect(store.problems()).toMatchObject([{ feed: 'line-status', olderInUse: true }])
    expect(store.refresh()).toBe(false)
    expect(status(store)).toBe('busy')
  })
})

describe('a damaged file', () => {
  const change = (sql: string) => (bytes: Buffer) => {
    const copy = folder.write('copy.sqlite', bytes)
    const connection = new Sqlite(copy)
    connection.exec(sql)
    connection.close()
    return readFileSync(copy)
  }
  const damages: readonly (readonly [string, (bytes: Buffer) => Buffer | string, string])[] = [
    ['nothing in it', () => '', 'was not written by callgate import, or is truncated'],
    ['text', () => 'x'.repeat(9000), 'was not written by callgate import'],
    ['half of it', (bytes) => bytes.subarray(0, bytes.length / 2), 'is damaged or truncated'],
    ['all but a byte', (bytes) => bytes.subarray(0, -1), 'is damaged or truncated'],
    ['more than all', (bytes) => Buffer.concat([bytes, bytes]), 'is damaged or truncated'],
    ['the header alone', (bytes) => bytes.subarray(0, 100), 'is damaged or truncated'],
    [
      'zeros after the header',
      (bytes) => Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length - 100)]),
      'cannot be used',
    ],
    ['no page size', (bytes) => Buffer.from(bytes).fill(0, 16, 18), 'is damaged or truncated'],
    [
      'another program’s database',
      change('PRAGMA application_id = 7'),
      'was not written by callgate import',
    ],
    [
      'a later format',
      change('PRAGMA user_version = 2'),
      'has format version 2; this program reads 1',
    ],
    [
      'another feed',
      change("UPDATE meta SET value = 'x' WHERE name = 'feed'"),
      "contains feed 'x' instead of 'line-status'",
    ],
    ['no table of facts', change('DROP TABLE facts; VACUUM'), 'no such table: facts'],
    ['other columns', change('ALTER TABLE facts DROP COLUMN status; VACUUM'), 'no such column'],
    ['no day', change("DELETE FROM meta WHERE name = 'asOf'"), "'asOf' is missing"],
    ['no word of itself', change('DROP TABLE meta; VACUUM'), 'no such table: meta'],
  ]
  it.each(damages)(
    '(%s) is refused, and the older one stays in use',
    async (_what, damage, why) => {
      await say('busy')
      const store = open()
      replace(damage(readFileSync(path())))
      expect(store.refresh()).toBe(true)
      expect(store.problems()).toEqual([
        {
          feed: 'line-status',
          path: path(),
          detail: expect.stringContaining(why),
          olderInUse: true,
        },
      ])
      expect(store.problems()[0]?.detail).toContain(path())
      expect(status(store)).toBe('busy')
      expect(store.refresh()).toBe(false)
      const fresh = open()
      expect(fresh.get('line-status')).toBeUndefined()
      expect(fresh.problems()).toMatchObject([{ olderInUse: false }])
      await say('pending')
      expect(store.refresh()).toBe(true)
      expect([status(store), store.problems()]).toEqual(['pending', []])
    },
  )

  it('is another feed’s by its name alone', async () => {
    await imports.text('carrier-reassigned', `${one},2026-05-01\n`)
    copyFileSync(
      resolveFactFilePath(imports.facts, 'carrier-reassigned'),
      resolveFactFilePath(imports.facts, 'reassigned'),
    )
    const store = open()
    expect(store.get('reassigned')).toBeUndefined()
    expect(store.problems()).toMatchObject([
      { feed: 'reassigned', detail: expect.stringContaining("contains feed 'carrier-reassigned'") },
    ])
  })

  it('whose damage shows only at a look-up says so then, and is a problem', async () => {
    const rows = Array.from({ length: 3000 }, (_, nth) => `${8_505_550_000 + nth},busy\n`)
    await imports.text('line-status', rows.join(''))
    const bytes = readFileSync(path())
    replace(bytes.fill(0xff, bytes.length - 8192))
    const store = open()
    expect(store.problems()).toEqual([])
    expect(() => store.get('line-status')?.findRows(toPhoneNumber('8505552999'))).toThrow(
      DataFileError,
    )
    expect(store.problems()).toMatchObject([{ feed: 'line-status', olderInUse: false }])
  })

  it('is never worse than an error in words, whatever bits are turned', async () => {
    const rows = Array.from({ length: 400 }, (_, nth) => `${8_505_550_000 + nth},busy\n`)
    await imports.text('line-status', rows.join(''))
    const whole = readFileSync(path())
    const random = seededRandom(3)
    for (let nth = 0; nth < 200; nth += 1) {
      const bytes = Buffer.from(whole)
      for (let turned = 0; turned <= nth % 4; turned += 1) {
        const place = random(nth % 2 === 0 ? 200 : bytes.length)
        bytes[place] = (bytes[place] ?? 0) ^ (1 << random(8))
      }
      replace(bytes)
      const store = open()
      const look = () => {
        for (let line = 0; line < 400; line += 7) {
          store.get('line-status')?.findRows(toPhoneNumber(String(8_505_550_000 + line)))
        }
      }
      try {
        look()
      } catch (cause) {
        expect(cause).toBeInstanceOf(DataFileError)
      }
    }
  })
})
