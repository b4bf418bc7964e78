/** Backups and restores that are killed, run out of room or run beside other things leave nothing that passes for a whole one. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runChild, startChild } from '../../../scripts/children.mjs'
import { writeJournal } from '../../support/journal.js'
import { callgate, type Ended, environmentOf, program, serve } from '../../support/program.js'

let root: string
let dataDir: string
/** Where backups and restored folders of one test are. */
let work: string
let backup: string

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'callgate-refusals-'))
  dataDir = join(root, 'var')
  const serving = await serve(environmentFor(dataDir))
  expect(await serving.end('SIGTERM')).toBe(0)
  const list = join(root, 'list.txt')
  writeFileSync(list, '2125550199\n')
  await run(['import', 'litigators', list])
  backup = join(root, 'backup')
  expect(await run(['backup', backup])).toMatchObject({ code: 0 })
})

beforeEach(() => {
  work = mkdtempSync(join(root, 'work-'))
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

const environmentFor = (folder: string) => ({ CALLGATE_DATA_DIR: folder })
const run = (args: readonly string[], folder = dataDir): Promise<Ended> =>
  callgate(args, environmentFor(folder))

function expectRefusal(
  { code, out, err }: Ended,
  exitCode: number,
  ...texts: readonly string[]
): void {
  expect({ code, out, err }).toMatchObject({ code: exitCode, out: '' })
  for (const text of texts) expect(err).toContain(text)
  expect(err).not.toContain('    at ')
}

describe('a backup', () => {
  it('fills an empty folder that only its owner can read', async () => {
    const empty = join(work, 'empty')
    mkdirSync(empty, { mode: 0o755 })
    expect(await run(['backup', empty])).toMatchObject({ code: 0 })
    const readable = readdirSync(empty, { recursive: true, encoding: 'utf8' }).filter(
      (path) => (statSync(join(empty, path)).mode & 0o077) !== 0,
    )
    expect([statSync(empty).mode & 0o077, readable]).toEqual([0, []])
  })

  for (const name of ['b', 'b.tgz']) {
    it(`leaves nothing of ${name} when a write fails`, async () => {
      // 100 KiB are less than the database: the writing fails as it does on a full disk.
      const command = `ulimit -f 100; exec "${process.execPath}" "${program}" backup "${join(work, name)}"`
      const env = environmentOf(environmentFor(dataDir))
      const failed = await runChild('bash', ['-c', command], { env, timeout: 60_000 })
      expectRefusal(
        failed,
        1,
        `'${join(work, name)}': the backup failed, and nothing is left of it: `,
      )
      expect(readdirSync(work)).toEqual([])
    })
  }

  it('that is killed leaves nothing that passes for a backup, and nothing in the way of the next', async () => {
    const target = join(work, 'killed')
    const child = startChild(process.execPath, [program, 'backup', target], {
      env: environmentOf(environmentFor(dataDir)),
      stdio: 'ignore',
    })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    await expect.poll(() => readdirSync(work).length, { interval: 1 }).toBe(1)
    child.kill('SIGKILL')
    await ended
    expect(existsSync(target)).toBe(false)
    const [partial] = readdirSync(work)
    expect(partial).toMatch(/^killed\.partial-/)
    expectRefusal(
      await run(['backup', 'verify', join(work, partial ?? '')]),
      1,
      'this is not a complete backup',
    )
    // It may be of another backup that is running, so it is named and not removed.
    const next = await run(['backup', target])
    expect(next).toMatchObject({ code: 0 })
    expect(next.err).toBe(
      `${join(work, partial ?? '')}: left by a backup or a check that was killed; remove it, unless one is running\n`,
    )
    expect(await run(['backup', 'verify', target])).toMatchObject({ code: 0 })
  })

  it('takes far less memory than the records it copies', async () => {
    const large = join(work, 'var')
    cpSync(dataDir, large, { recursive: true })
    const body = 'x'.repeat(500_000)
    const records = 300
    writeJournal(large, Array(records).fill(body))
    const preload = `process.on('exit', () => console.error('peak', process.resourceUsage().maxRSS))`
    const node = ['--import', `data:text/javascript,${encodeURIComponent(preload)}`, program]
    const measure = async (folder: string, name: string) => {
      const env = environmentOf(environmentFor(folder))
      const args = [...node, 'backup', join(work, name)]
      const { code, out, err } = await runChild(process.execPath, args, { env, timeout: 120_000 })
      expect({ code, err }).toMatchObject({ code: 0 })
      return { out, kilobytes: Number(/^peak (\d+)$/m.exec(err)?.[1]) }
    }
    const small = await measure(dataDir, 'small')
    const big = await measure(large, 'big')
    expect(big.out).toContain(`${records} records of decisions and calls`)
    expect(big.kilobytes - small.kilobytes).toBeLessThan(60_000)
  }, 240_000)

  it('agrees with its manifest also if lists are imported meanwhile', async () => {
    const folder = join(work, 'var')
    cpSync(dataDir, folder, { recursive: true })
    let isDone = false
    const importUntilDone = async () => {
      for (let round = 0; !isDone; round += 1) {
        const list = join(work, 'list.txt')
        writeFileSync(
          list,
          Array.from({ length: 200 + round }, (_, i) => `212555${1000 + i}\n`).join(''),
        )
        expect(await run(['import', 'litigators', list], folder)).toMatchObject({ code: 0 })
      }
    }
    const importing = importUntilDone()
    const target = join(work, 'b')
    expect(await run(['backup', target], folder)).toMatchObject({ code: 0 })
    isDone = true
    await importing
    expect(await run(['backup', 'verify', target])).toMatchObject({ code: 0 })
    const restored = join(work, 'restored')
    expect(await run(['restore', target], restored)).toMatchObject({ code: 0 })
    // Reads every byte of every list and of its kept versions.
    expect(await run(['lists', 'versions', 'litigators'], restored)).toMatchObject({ code: 0 })
    const { lists } = JSON.parse((await run(['lists', '--json'], restored)).out)
    expect(lists).toMatchObject([{ name: 'litigators', problem: null }])
  }, 240_000)

  it('has secrets only if they are asked for', async () => {
    const secret = 'secret-of-this-test-0123456789abcdef'
    writeFileSync(join(work, 'login'), secret)
    const environment = {
      ...environmentFor(dataDir),
      CALLGATE_SOURCE_KIND: 'remote',
      CALLGATE_SOURCE_PROVIDER_BASE_URL: 'http://127.0.0.1:9',
      CALLGATE_SOURCE_PROVIDER_LOGIN_ID_FILE: join(work, 'login'),
      CALLGATE_ASTERISK_PASSWORD: `${secret}-of-asterisk`,
    }
    const database = new Sqlite(join(dataDir, 'callgate.sqlite'))
    database.prepare('update accounts set webhook_secret = ?').run(`${secret}-of-webhooks`)
    const permitKey = database.prepare('insert into permit_keys values (?, 1, ?, 0)')
    permitKey.run('edge-a', `${secret}-of-permits`)
    database.close()
    writeFileSync(join(dataDir, 'permit-key'), `${secret}-of-permits\n`)
    const grep = async (name: string, options: readonly string[]) => {
      const target = join(work, name)
      expect(await callgate(['backup', target, ...options], environment)).toMatchObject({
        code: 0,
        err: '',
      })
      return readdirSync(target, { recursive: true, encoding: 'utf8' })
        .filter((path) => statSync(join(target, path)).isFile())
        .filter((path) => readFileSync(join(target, path)).includes(secret))
        .sort()
    }
    expect(await grep('without', [])).toEqual([])
    const secretFiles = [
      'callgate.sqlite',
      'permit-key',
      'settings/callgate.yaml',
      'settings/source.provider.loginIdFile',
    ]
    expect(await grep('with', ['--with-secrets'])).toEqual(secretFiles)
    // The settings can be used as they are.
    const config = join(work, 'with/settings/callgate.yaml')
    expect(await run(['--config', config, 'backup', join(work, 'again')])).toMatchObject({
      code: 0,
    })
  })
})

it('is not made of a journal whose first records were removed by hand, since no record says so', async () => {
  const folder = join(work, 'var')
  cpSync(dataDir, folder, { recursive: true })
  const startAndStop = async (dir: string) => {
    const serving = await serve(environmentFor(dir))
    expect(await serving.end('SIGTERM')).toBe(0)
  }
  await startAndStop(folder)
  const [oldest, ...others] = readdirSync(join(folder, 'journal')).filter((name) =>
    name.includes('.seg'),
  )
  expect(others.length).toBeGreaterThan(0)
  rmSync(join(folder, 'journal', oldest ?? ''))
  const firstSeq = Number(others[0]?.slice(0, 20))
  const begins = { firstSeq, removedBefore: '2021-11-01T00:00:00Z' }
  writeFileSync(join(folder, 'journal', 'begins.json'), JSON.stringify(begins))
  expectRefusal(await run(['backup', join(work, 'b')], folder), 1, 'begins.json')
})

describe('a restore', () => {
  it('that was killed leaves a folder that says so, and into which it can be restored again', async () => {
    const target = join(work, 'killed')
    const child = startChild(process.execPath, [program, 'restore', backup], {
      env: environmentOf(environmentFor(target)),
      stdio: 'ignore',
    })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    await expect.poll(() => existsSync(join(target, 'initialized')), { interval: 1 }).toBe(true)
    child.kill('SIGKILL')
    await ended
    expect(existsSync(join(target, 'callgate.sqlite'))).toBe(false)
    const refused = await run(['serve'], target)
    expectRefusal(
      { ...refused, out: '' },
      1,
      'a restore into this folder did not end',
      'Run it again: callgate restore <backup>',
    )
    expect(await run(['restore', backup], target)).toMatchObject({ code: 0 })
    expectRefusal(await run(['restore', backup], target), 2, 'a restore needs an empty folder')
    const serving = await serve(environmentFor(target))
    expect(await serving.end('SIGTERM')).toBe(0)
  })

  it('that was killed and given up does not let a later one empty the folder', async () => {
    const target = join(work, 'given-up')
    mkdirSync(join(target, '.restoring'), { recursive: true })
    writeFileSync(join(target, 'initialized'), '')
    const serving = await serve(environmentFor(target), ['--init'])
    expect(await serving.end('SIGTERM')).toBe(0)
    expect(existsSync(join(target, '.restoring'))).toBe(false)
    for (const name of readdirSync(target)) {
      if (name.startsWith('callgate.sqlite')) rmSync(join(target, name))
    }
    expectRefusal(await run(['restore', backup], target), 2, 'a restore needs an empty folder')
    expect(existsSync(join(target, 'journal'))).toBe(true)
  })

  it('is done once if two begin at the same time', async () => {
    const target = join(work, 'both')
    const both = await Promise.all([
      run(['restore', backup], target),
      run(['restore', backup], target),
    ])
    const [done, refused] = both.sort((a, b) => a.code - b.code)
    expect([done?.code, refused?.code]).toEqual([0, 2])
    expect(refused?.err).toMatch(
      /another restore into it is running|a restore needs an empty folder/,
    )
    const serving = await serve(environmentFor(target))
    expect(await serving.end('SIGTERM')).toBe(0)
  })
})
