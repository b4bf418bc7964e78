import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import {
  resolveListLockPath,
  withListLock,
} from '../../../src/data/number-list/import/list-lock.js'
import { fixedClock } from '../../../src/domain/time/clock.js'
import { formatInstant } from '../../../src/domain/time/dates.js'
import { listsFixture, now, numberLines } from '../../data/lists-fixture.js'
import { useTempFolder } from '../../data/temp-folder.js'

const folder = useTempFolder()
const { source, importing, lists, files } = listsFixture(folder)
const clock = fixedClock(now)
const path = () => resolveListLockPath(lists(), 'us-dnc')

/** A process of this host that has ended. */
const ended = spawnSync(process.execPath, ['-e', '']).pid
const since = '2026-11-20T11:00:00Z'

function holder(pid: number, host = hostname(), at = since): string {
  return JSON.stringify({ pid, host, since: at })
}

describe('an import while another one runs', () => {
  it('is refused with who runs it and since when, and leaves its lock alone', async () => {
    const [file] = [source('a.txt', numberLines(0, 3))]
    await withListLock(lists(), 'us-dnc', clock, async () => {
      const before = readFileSync(path(), 'utf8')
      expect(JSON.parse(before)).toEqual({
        pid: process.pid,
        host: hostname(),
        since: '2026-11-20T12:00:00Z',
      })
      await expect(importing({ files: [file ?? ''] })).rejects.toThrow(
        `${path()}: another import of 'us-dnc' is running since 2026-11-20T12:00:00Z ` +
          `(process ${process.pid} on ${hostname()}); if it is not running, remove this file`,
      )
      expect(readFileSync(path(), 'utf8')).toBe(before)
    })
    expect(files()).toEqual([])
  })

  it('of two at once just one comes through', async () => {
    const given = { files: [source('a.txt', numberLines(0, 3))] }
    const outcomes = await Promise.allSettled([importing(given), importing(given)])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(files()).toEqual(['us-dnc.cglist'])
  })

  it('runs beside that of another list, and beside a dry run', async () => {
    const given = { files: [source('a.txt', numberLines(0, 3))] }
    await withListLock(lists(), 'us-dnc', clock, async () => {
      await importing({ ...given, name: 'canada-dnc' })
      expect(await importing({ ...given, dryRun: true })).toMatchObject({ size: 3 })
    })
    expect(files()).toEqual(['canada-dnc.cglist'])
  })
})

describe('a lock that is there', () => {
  const table: [what: string, content: string, ageMs: number, isTakenOver: boolean][] = [
    ['of a process that has ended', holder(ended), 0, true],
    ['of this process, which does not hold it', holder(process.pid), 0, true],
    [
      'of another thread of this process',
      holder(process.pid, hostname(), formatInstant(now)),
      0,
      false,
    ],
    ['of a process that runs', holder(process.ppid), 1e9, false],
    ['of another host', holder(ended, 'elsewhere'), 1e9, false],
    ['that is being written', '', 59_000, false],
    ['that was never written', '', 61_000, true],
    ['that is damaged', '{"pid":1', 61_000, true],
    ['that names no process', '{"pid":"1","host":"a","since":"b"}', 61_000, true],
    ['that was damaged just now', 'x', 0, false],
  ]
  it.each(table)('%s', async (_, content, ageMs, isTakenOver) => {
    mkdirSync(lists())
    folder.write('lists/.us-dnc.lock', content)
    utimesSync(path(), (now - ageMs) / 1000, (now - ageMs) / 1000)
    const running = withListLock(lists(), 'us-dnc', clock, () =>
      Promise.resolve(readFileSync(path(), 'utf8')),
    )
    if (isTakenOver) {
      expect(await running).toBe(
        JSON.stringify({ pid: process.pid, host: hostname(), since: '2026-11-20T12:00:00Z' }),
      )
      expect(readdirSync(lists())).toEqual([])
    } else {
      await expect(running).rejects.toThrow("another import of 'us-dnc' is running")
      expect(readFileSync(path(), 'utf8')).toBe(content)
    }
  })
})

describe('the lock goes', () => {
  it('when the work fails', async () => {
    const failing = withListLock(lists(), 'us-dnc', clock, () => Promise.reject(new Error('full')))
    await expect(failing).rejects.toThrow('full')
    expect(readdirSync(lists())).toEqual([])
  })

  it('but not that of another one who has taken its place', async () => {
    await withListLock(lists(), 'us-dnc', clock, () => {
      folder.write('lists/.us-dnc.lock', holder(1, 'elsewhere'))
      return Promise.resolve()
    })
    expect(existsSync(path())).toBe(true)
  })
})
