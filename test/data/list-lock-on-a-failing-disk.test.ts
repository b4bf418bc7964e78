import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it, vi } from 'vitest'
import { resolveListLockPath, withListLock } from '../../src/data/number-list/import/list-lock.js'
import { fixedClock } from '../../src/domain/time/clock.js'
import { now } from './lists-fixture.js'

const disk = vi.hoisted(() => ({
  writes: 0,
  failingFrom: 0,
  hasLinks: true,
  beforeRename: () => {},
}))

// Test files share what they import, so these modules may have the real one already.
vi.hoisted(() => void vi.resetModules())
afterAll(() => void vi.resetModules())

const failure = (code: string) => Object.assign(new Error(`${code}: it failed`), { code })

vi.mock('node:fs', async (load) => {
  const real = await load<typeof import('node:fs')>()
  const files: Partial<typeof real> = {
    writeFileSync: (path, content, options) => {
      disk.writes += 1
      const fails = disk.writes >= disk.failingFrom
      real.writeFileSync(path, fails ? '' : content, options)
      if (fails) throw failure('EIO')
    },
    renameSync: (from, to) => {
      disk.beforeRename()
      real.renameSync(from, to)
    },
    linkSync: (from, to) => {
      if (!disk.hasLinks) throw failure('EPERM')
      real.linkSync(from, to)
    },
  }
  return { ...real, ...files }
})

it.each([
  [true, 1],
  [false, 1],
  [false, 2],
])(
  'a lock that cannot be written hinders no later import (links: %s, write %i)',
  async (hasLinks, failingFrom) => {
    const folder = mkdtempSync(join(tmpdir(), 'callgate-lock-'))
    const take = () => withListLock(folder, 'us-dnc', fixedClock(now), async () => 'done')
    Object.assign(disk, { writes: 0, failingFrom, hasLinks })
    await expect(take()).rejects.toThrow('EIO')
    disk.failingFrom = Number.POSITIVE_INFINITY
    expect(await take()).toBe('done')
    rmSync(folder, { recursive: true })
  },
)

it('the lock of another import that took over a stale one first is kept when nothing can be written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-lock-'))
  const path = resolveListLockPath(folder, 'us-dnc')
  const lockOf = (pid: number) => JSON.stringify({ pid, host: hostname(), since: 'now' })
  Object.assign(disk, { writes: 0, failingFrom: Number.POSITIVE_INFINITY, hasLinks: true })
  await withListLock(folder, 'us-dnc', fixedClock(now), async () => {
    writeFileSync(path, lockOf(2 ** 30))
    disk.beforeRename = () => {
      writeFileSync(path, lockOf(1))
      disk.failingFrom = disk.writes + 1
    }
    const second = withListLock(folder, 'us-dnc', fixedClock(now), async () => 'done')
    await expect(second).rejects.toThrow('another import')
    expect(readFileSync(path, 'utf8')).toBe(lockOf(1))
  })
  rmSync(folder, { recursive: true })
})
