/** The files of lists of several accounts: shared, damaged, replaced and rolled back. */
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openNumberList } from '../../src/data/number-list/format/number-list.js'
import { rollBackList } from '../../src/data/number-list/list-rollback.js'
import { openListStore } from '../../src/data/number-list/list-store.js'
import { findVersions } from '../../src/data/number-list/list-version-files.js'
import { fixedClock } from '../../src/domain/time/clock.js'
import { listsFixture, now, numberLines } from './lists-fixture.js'
import { useTempFolder } from './temp-folder.js'

const folder = useTempFolder()
const { source, importing, lists, path } = listsFixture(folder)

let files = 0
/** Numbers are as of one instant unless said otherwise. */
const importAs = (name: string, count: number, more: object = {}) => {
  files += 1
  const given = [source(`${files}.txt`, numberLines(0, count))]
  return importing({ name, files: given, asOf: now - 1, allowShrink: true, ...more })
}
const sizesOf = (store: ReturnType<typeof openListStore>) =>
  Object.fromEntries(store.all().map(({ name, size }) => [name, size]))

describe('a file that two accounts share', () => {
  it('and that is damaged gives neither of them the earlier list of the other', async () => {
    await importAs('acme/us-dnc', 1)
    const store = openListStore({ folder: lists() })
    await importAs('bravo/us-dnc', 3)
    await importAs('acme/us-dnc', 3)
    const bytes = readFileSync(path('accounts/acme/us-dnc'))
    bytes[bytes.length - 40] = (bytes[bytes.length - 40] ?? 0) ^ 1
    writeFileSync(path('accounts/acme/us-dnc'), bytes)
    await store.refreshInBackground()
    expect(sizesOf(store)).toEqual({ 'acme/us-dnc': 1 })
    expect(store.problems().map(({ name, olderInUse }) => [name, olderInUse])).toEqual([
      ['acme/us-dnc', true],
      ['bravo/us-dnc', false],
    ])
    store.refresh()
    expect(sizesOf(store)).toEqual({ 'acme/us-dnc': 1 })
  })

  it('is replaced for one of them alone', async () => {
    const { version } = await importAs('us-dnc', 2)
    expect((await importAs('acme/us-dnc', 2)).version).toBe(version)
    await importAs('us-dnc', 3)
    expect(openNumberList(path('accounts/acme/us-dnc')).version).toBe(version)
    rmSync(path())
    expect(openNumberList(path('accounts/acme/us-dnc')).size).toBe(2)
  })

  it('keeps what each has imported, and what its import has replaced', async () => {
    await importAs('us-dnc', 1, { asOf: now - 2 })
    await importAs('us-dnc', 4, { clock: fixedClock(now + 1) })
    await importAs('acme/us-dnc', 2, { asOf: now - 3 })
    const own = await importAs('acme/us-dnc', 3, { asOf: now - 2, clock: fixedClock(now + 2) })
    const shared = await importAs('acme/us-dnc', 4, { clock: fixedClock(now + 3) })
    const [inUse] = findVersions(lists(), 'acme/us-dnc')
    expect(inUse).toMatchObject({
      version: shared.version,
      importedAt: now + 3,
      previous: own.version,
    })
    expect(inUse?.sources.map(({ file }) => file)).toEqual([`${files}.txt`])
    expect(findVersions(lists(), 'us-dnc')[0]).toMatchObject({ importedAt: now + 1 })
    // The same again replaces nothing.
    await importAs('acme/us-dnc', 4, { clock: fixedClock(now + 4) })
    const options = { folder: lists(), name: 'acme/us-dnc', keep: 2, clock: fixedClock(now) }
    expect((await rollBackList(options)).to.version).toBe(own.version)
  })
})

describe('a folder of an account that cannot be read', () => {
  it('is a problem of its lists alone, which stay in use', async () => {
    await importAs('us-dnc', 1)
    await importAs('acme/us-dnc', 2)
    const store = openListStore({ folder: lists() })
    const acme = dirname(path('accounts/acme/us-dnc'))
    renameSync(acme, `${lists()}/aside`)
    symlinkSync(acme, acme)
    await importAs('us-dnc', 5)
    for (const refresh of [() => store.refreshInBackground(), () => store.refresh()]) {
      await refresh()
      expect(sizesOf(store)).toMatchObject({ 'us-dnc': 5, 'acme/us-dnc': 2 })
      expect(store.problems()).toMatchObject([
        { name: 'acme/', path: acme, detail: expect.stringMatching(/ELOOP/), olderInUse: true },
      ])
    }
    expect(openListStore({ folder: lists() }).problems()).toMatchObject([
      { name: 'acme/', olderInUse: false },
    ])
    rmSync(acme)
    renameSync(`${lists()}/aside`, acme)
    await store.refreshInBackground()
    expect(store.problems()).toEqual([])
  })

  it('may be that of all of them', async () => {
    await importAs('us-dnc', 1)
    const accounts = `${lists()}/accounts`
    symlinkSync(accounts, accounts)
    const store = openListStore({ folder: lists() })
    expect(sizesOf(store)).toEqual({ 'us-dnc': 1 })
    expect(store.problems()).toMatchObject([{ name: '/', path: accounts }])
  })

  it('may be readable, and its files not', async () => {
    await importAs('us-dnc', 1)
    await importAs('acme/us-dnc', 2)
    const file = path('accounts/acme/us-dnc')
    rmSync(file)
    symlinkSync(file, file)
    const store = openListStore({ folder: lists() })
    expect(sizesOf(store)).toEqual({ 'us-dnc': 1 })
    expect(store.problems()).toMatchObject([
      { name: 'acme/', detail: expect.stringMatching(/ELOOP/) },
    ])
    await importAs('us-dnc', 5)
    await store.refreshInBackground()
    expect(sizesOf(store)).toEqual({ 'us-dnc': 5 })
  })

  it('may be a file', async () => {
    await importAs('us-dnc', 1)
    mkdirSync(`${lists()}/accounts`)
    writeFileSync(`${lists()}/accounts/acme`, '')
    expect(openListStore({ folder: lists() }).problems()).toMatchObject([{ name: 'acme/' }])
    rmSync(`${lists()}/accounts`, { recursive: true })
    writeFileSync(`${lists()}/accounts`, '')
    expect(openListStore({ folder: lists() }).problems()).toMatchObject([{ name: '/' }])
  })

  it('a record of an own import that cannot be read is as none', async () => {
    await importAs('us-dnc', 2)
    const { version } = await importAs('acme/us-dnc', 2)
    const record = `${lists()}/accounts/acme/versions/us-dnc.${version}.json`
    for (const broken of ['', '{', '[]', '{"feed":1}']) {
      writeFileSync(record, broken)
      expect(findVersions(lists(), 'acme/us-dnc')).toMatchObject([{ version, inUse: true }])
    }
    await importAs('acme/us-dnc', 2)
    expect(JSON.parse(readFileSync(record, 'utf8'))).toMatchObject({ feed: 'list' })
  })

  it('of another name than one of an account has no lists', async () => {
    await importAs('us-dnc', 1)
    for (const name of ['lost+found', 'acme.bak', 'main']) {
      mkdirSync(`${lists()}/accounts/${name}`, { recursive: true })
      renameSync(source(`${name}.txt`, ''), `${lists()}/accounts/${name}/us-dnc.cglist`)
    }
    const store = openListStore({ folder: lists() })
    expect([store.all().length, store.problems()]).toEqual([1, []])
  })

  it('a file among the folders of accounts has no lists', async () => {
    await importAs('acme/us-dnc', 1)
    writeFileSync(`${lists()}/accounts/notes.txt`, '')
    expect(openListStore({ folder: lists() }).problems()).toEqual([])
  })
})
