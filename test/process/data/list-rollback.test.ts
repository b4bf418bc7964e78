import {
  appendFileSync,
  existsSync,
  type linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openNumberList } from '../../../src/data/number-list/format/number-list.js'
import { withListLock } from '../../../src/data/number-list/import/list-lock.js'
import { resolveVersionPath } from '../../../src/data/number-list/list-paths.js'
import { rollBackList } from '../../../src/data/number-list/list-rollback.js'
import { openListStore } from '../../../src/data/number-list/list-store.js'
import {
  findVersions,
  keepVersion,
  pruneVersions,
} from '../../../src/data/number-list/list-version-files.js'
import { fixedClock } from '../../../src/domain/time/clock.js'
import { listsFixture, now, numberLines } from '../../data/lists-fixture.js'
import { useTempFolder } from '../../data/temp-folder.js'

const folder = useTempFolder()
const { source, importing, lists, files, path, state } = listsFixture(folder)

/** Imports lists of 1, 2, 3 ... numbers, a minute after one another; gives their versions. */
async function imported(count: number, keepVersions = 2): Promise<string[]> {
  const versions: string[] = []
  for (let nth = 1; nth <= count; nth += 1) {
    const given = { files: [source(`${nth}.txt`, numberLines(0, nth))], keepVersions }
    const clock = fixedClock(now + nth * 60_000)
    versions.push((await importing({ ...given, clock })).version)
  }
  return versions
}

function rollingBack(more: { to?: string; keep?: number } = {}) {
  return rollBackList({ folder: lists(), name: 'us-dnc', keep: 2, clock: fixedClock(now), ...more })
}

const kept = () =>
  findVersions(lists(), 'us-dnc').flatMap(({ inUse, size }) => (inUse ? [] : [size]))
const inUse = () => openNumberList(path()).size
const fileOf = (version = '') => resolveVersionPath(lists(), 'us-dnc', version)

describe('an import keeps the versions it replaces', () => {
  const table: [keep: number, imports: number, kept: number[]][] = [
    [2, 1, []],
    [2, 2, [1]],
    [2, 3, [2, 1]],
    [2, 5, [4, 3]],
    [0, 3, []],
    [1, 3, [2]],
    [9, 3, [2, 1]],
  ]
  it.each(table)('%d of them, after %d imports: %j', async (keep, imports, expected) => {
    await imported(imports, keep)
    expect(kept()).toEqual(expected)
    expect(inUse()).toBe(imports)
    expect(files()).toHaveLength(expected.length + 1)
  })

  it('two unless it is said, each whole and the one the next names', async () => {
    const [first, second, third] = await imported(3)
    expect(
      findVersions(lists(), 'us-dnc').map((one) => [one.version, one.inUse, one.path]),
    ).toEqual([
      [third, true, path()],
      [second, false, fileOf(second)],
      [first, false, fileOf(first)],
    ])
    const opened = [path(), fileOf(second), fileOf(first)].map(openNumberList)
    expect(opened.map(({ version, previous }) => [version, previous])).toEqual([
      [third, second],
      [second, first],
      [first, null],
    ])
  })

  it('fewer when fewer are to be kept from now on', async () => {
    await imported(4, 3)
    expect(kept()).toEqual([3, 2, 1])
    await importing({ files: [source('a.txt', numberLines(0, 9))], keepVersions: 1 })
    expect(kept()).toEqual([4])
  })

  it('but nothing of a list that is damaged, whose place a good one has', async () => {
    await imported(2, 1)
    appendFileSync(path(), 'x')
    await importing({ files: [source('a.txt', numberLines(0, 9))], keepVersions: 1 })
    expect(kept()).toEqual([1])
  })

  it('and not those of another list', async () => {
    await imported(2)
    const given = { name: 'canada-dnc', files: [source('c.txt', numberLines(0, 4))] }
    await importing(given)
    await importing({ ...given, keepVersions: 0 })
    expect(kept()).toEqual([1])
  })

  it('as a second name for the same file, and nothing when the import fails', async () => {
    await imported(1)
    const { ino } = statSync(path())
    await expect(importing({ files: [source('b.txt', '-bad\n')] })).rejects.toThrow('1 line is bad')
    expect(files()).toEqual(['us-dnc.cglist'])
    const [version] = await imported(1)
    expect(statSync(fileOf(findVersions(lists(), 'us-dnc')[1]?.version)).ino).toBe(ino)
    expect(inUse()).toBe(1)
    expect(openNumberList(path()).version).toBe(version)
  })
})

describe('keepVersion', () => {
  const link =
    (code: string): typeof linkSync =>
    () => {
      throw Object.assign(new Error(`${code}: link`), { code })
    }

  it.each(['EPERM', 'EXDEV', 'ENOTSUP', 'EMLINK'])(
    'copies where a link fails: %s',
    async (code) => {
      const [version] = await imported(1)
      expect(keepVersion(lists(), 'us-dnc', link(code))).toBe(version)
      expect(readFileSync(fileOf(version))).toEqual(readFileSync(path()))
      expect(statSync(fileOf(version)).ino).not.toBe(statSync(path()).ino)
      expect(files()).toHaveLength(2)
    },
  )

  it('does nothing for a version that is kept already, or a list that is not there', async () => {
    expect(keepVersion(lists(), 'us-dnc')).toBeUndefined()
    const [version] = await imported(1)
    keepVersion(lists(), 'us-dnc')
    const before = state()
    expect(keepVersion(lists(), 'us-dnc')).toBe(version)
    expect(state()).toEqual(before)
  })

  it('fails, and so does the import, when neither link nor copy can be made', async () => {
    const [version] = await imported(1)
    writeFileSync(join(lists(), 'versions'), 'in the way')
    const given = { files: [source('b.txt', numberLines(0, 5))] }
    await expect(importing(given)).rejects.toThrow(/EEXIST|ENOTDIR/)
    expect(openNumberList(path()).version).toBe(version)
  })
})

describe('pruneVersions', () => {
  it('removes the second name a crash left the list in use with', async () => {
    const [version] = await imported(1)
    keepVersion(lists(), 'us-dnc')
    expect(kept()).toEqual([])
    pruneVersions(lists(), 'us-dnc', 2)
    expect(existsSync(fileOf(version))).toBe(false)
    expect(inUse()).toBe(1)
  })

  it('removes a damaged one first', async () => {
    const [first] = await imported(3)
    writeFileSync(fileOf(first), 'half')
    pruneVersions(lists(), 'us-dnc', 2)
    expect(existsSync(fileOf(first))).toBe(true)
    pruneVersions(lists(), 'us-dnc', 1)
    expect(existsSync(fileOf(first))).toBe(false)
    expect(kept()).toEqual([2])
  })
})

describe('rollBack', () => {
  it('goes to the version that was replaced, then further back, and forward again', async () => {
    const [first, second, third] = await imported(3)
    expect(await rollingBack()).toMatchObject({
      from: { version: third, inUse: false, path: fileOf(third) },
      to: { version: second, inUse: true, path: path(), size: 2 },
    })
    expect([inUse(), ...kept()]).toEqual([2, 3, 1])
    expect((await rollingBack()).to.version).toBe(first)
    expect([inUse(), ...kept()]).toEqual([1, 3, 2])
    await rollingBack({ to: third ?? '' })
    expect([inUse(), ...kept()]).toEqual([3, 2, 1])
    expect(files()).toHaveLength(3)
  })

  it('keeps the version it replaces before older ones, however new those are', async () => {
    const [, , third] = await imported(3)
    await rollingBack({ keep: 1 })
    expect([inUse(), ...kept()]).toEqual([2, 3])
    await importing({ files: [source('n.txt', numberLines(0, 7))], keepVersions: 1 })
    expect([inUse(), ...kept()]).toEqual([7, 2])
    await rollingBack({ keep: 0 })
    expect([inUse(), ...kept()]).toEqual([2, 7])
    expect(existsSync(fileOf(third))).toBe(false)
  })

  const harm: [what: string, harm: (file: string) => void][] = [
    ['missing', (file) => rmSync(file)],
    ['cut off', (file) => writeFileSync(file, readFileSync(file).subarray(0, 500))],
    ['changed in the middle', (file) => flip(file)],
    ['something else', (file) => writeFileSync(file, 'x')],
  ]
  function flip(file: string): void {
    const bytes = readFileSync(file)
    bytes[4500] = (bytes[4500] ?? 0) ^ 1
    rmSync(file)
    writeFileSync(file, bytes)
  }

  it.each(harm)('works when the list in use is %s', async (what, spoil) => {
    const [, second] = await imported(3)
    spoil(path())
    const { from, to } = await rollingBack()
    expect([from, to.version, inUse()]).toEqual([undefined, second, 2])
    expect(kept()).toEqual([1])
    expect(what).not.toBe('')
  })

  it.each(harm)('does not use a kept file that is %s', async (what, spoil) => {
    const [, second = '', third] = await imported(3)
    spoil(fileOf(second))
    const refusal =
      what === 'missing' ? `version '${second}' is not kept; kept versions:` : fileOf(second)
    const before = state()
    await expect(rollingBack({ to: second })).rejects.toThrow(refusal)
    expect(state()).toEqual(before)
    expect(openNumberList(path()).version).toBe(third)
  })

  it('does not use a list that has the name of another', async () => {
    const [, second = ''] = await imported(3)
    const { version } = await importing({
      name: 'canada-dnc',
      files: [source('c.txt', numberLines(0, 4))],
    })
    writeFileSync(fileOf(second), readFileSync(path('canada-dnc')))
    await expect(rollingBack({ to: second })).rejects.toThrow(
      `${fileOf(second)}: contains version ${version} of 'canada-dnc'`,
    )
  })

  it.each(['0123456789abcdef', 'x', '', '../us-dnc'])('of %j says which are kept', async (to) => {
    const [first, second] = await imported(3)
    const asOf = 'as of 2026-11-18T08:00:00Z'
    await expect(rollingBack({ to })).rejects.toThrow(
      `${path()}: version '${to}' is not kept; kept versions: ` +
        `${second} (${asOf}, 2 numbers), ${first} (${asOf}, 1 numbers)`,
    )
    expect(inUse()).toBe(3)
  })

  it('says when there is nothing to go back to', async () => {
    await expect(rollingBack()).rejects.toThrow('no earlier version is kept')
    const [first = ''] = await imported(1)
    await expect(rollingBack()).rejects.toThrow('no earlier version is kept')
    await expect(rollingBack({ to: first })).rejects.toThrow(`version ${first} is already in use`)
  })

  it('needs the name of a list and no other import of it', async () => {
    const clock = fixedClock(now)
    const wrong = rollBackList({ folder: lists(), name: '../x', keep: 2, clock })
    await expect(wrong).rejects.toThrow("name '../x': must be us-dnc")
    await imported(2)
    await withListLock(lists(), 'us-dnc', clock, async () => {
      await expect(rollingBack()).rejects.toThrow("another import of 'us-dnc' is running")
    })
    expect(inUse()).toBe(2)
  })

  it('goes back to a list that was a symbolic link', async () => {
    const [first] = await imported(1)
    renameSync(path(), folder.file('real.cglist'))
    symlinkSync('../real.cglist', path())
    await imported(2)
    await rollingBack({ to: first ?? '' })
    expect([inUse(), openNumberList(path()).version]).toEqual([1, first])
  })

  it('is seen by a list store as a new content', async () => {
    const [first] = await imported(2)
    const store = openListStore({ folder: lists() })
    await rollingBack()
    expect(store.refresh()).toBe(true)
    expect(store.get('us-dnc')?.version).toBe(first)
    expect(store.problems()).toEqual([])
  })
})

it('copies that a crash left unfinished go with the next import', async () => {
  await imported(2)
  const dead = 4_194_305 // above the highest process id of Linux
  const day = 86_400_000
  mkdirSync(join(lists(), 'versions'), { recursive: true })
  const left = [
    `versions/.us-dnc.cglist.0123456789abcdef.${dead}.part`,
    `.us-dnc.cglist.lock.${dead}.part`,
  ]
  const stays = `versions/.us-dnc.cglist.0123456789abcdef.${process.ppid}.part`
  for (const file of [...left, stays]) {
    folder.write(`lists/${file}`, 'half')
    utimesSync(join(lists(), file), (now - day / 2) / 1000, (now - day / 2) / 1000)
  }
  await importing({ files: [source('a.txt', numberLines(0, 3))] })
  expect(files().filter((file) => file.endsWith('.part'))).toEqual([stays])
})
