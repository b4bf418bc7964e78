/**
 * The built program with its data folder on one real file system and its journal on another, under load: shut down, full or
 * read-only, each of them and both. While they fail, the server says so and allows nothing that it cannot record; after a restart
 * it is judged as with faulty files. CI does the first case, `--long` all.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { FaultyLoad } from '../../support/faulty-load.js'
import { shortOrLong } from '../../support/long.js'
import { findWhyNoDisk, openRealDisk, type RealDisk } from '../../support/real-disk.js'

const whyNot = findWhyNoDisk()
if (whyNot !== undefined) console.warn(`skipped: no test on real disks: ${whyNot}`)

let folder: string
let disks: readonly RealDisk[]
let load: FaultyLoad

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-disks-'))
  disks = [await openRealDisk(folder, 'data-disk'), await openRealDisk(folder, 'journal-disk')]
  const [dataDir, journal] = disks.map((disk) => join(disk.folder, 'callgate')) as [string, string]
  for (const path of [dataDir, journal]) mkdirSync(path)
  symlinkSync(journal, join(dataDir, 'journal'))
  load = await FaultyLoad.start(dataDir, {})
})

afterEach(async () => {
  await load.end()
  for (const disk of disks) await disk.remove()
  rmSync(folder, { recursive: true, force: true })
})

const send = (path: string, body?: object) =>
  fetch(`${load.serving.url}${path}`, {
    headers: { loginId: load.serving.keys.sandbox, 'content-type': 'application/json' },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })

async function isAllowed(): Promise<boolean> {
  const response = await send('/v1/decisions', { number: '2125550100', callKind: 'manual' })
  return ((await response.json()) as { readonly decision?: string }).decision === 'allow'
}

async function statusOf(path: string, body?: object): Promise<number> {
  const response = await send(path, body)
  await response.arrayBuffer()
  return response.status
}

const readiness = () => statusOf('/readyz')
const optOut = () => statusOf('/app/main/rpc/pdnc', { phoneList: '6465550100', actionType: 'add' })

const [data, journal] = [0, 1]
const cases = (
  [
    ['shutDown', 'both disks', [data, journal]],
    ['shutDown', 'the data disk', [data]],
    ['shutDown', 'the disk of the journal', [journal]],
    ['makeReadOnly', 'both disks', [data, journal]],
    ['makeReadOnly', 'the data disk', [data]],
    ['makeReadOnly', 'the disk of the journal', [journal]],
    ['fill', 'both disks', [data, journal]],
    ['fill', 'the data disk', [data]],
    ['fill', 'the disk of the journal', [journal]],
  ] as const
).slice(0, shortOrLong(1, 9))

describe.skipIf(whyNot !== undefined)('real disks', () => {
  it.each(cases)(
    'after %s of %s, nothing acknowledged is missing',
    async (fault, which, indexes) => {
      const failing = disks.filter((_, index) => (indexes as readonly number[]).includes(index))
      await until('calls are allowed', () => load.allowed > 20)
      for (const disk of failing) disk[fault]()
      const failedAt = performance.now()
      await until('it is not ready', async () => (await readiness()) === 503)
      process.stdout.write(
        `${fault} of ${which}: not ready after ${Math.round(performance.now() - failedAt)} ms\n`,
      )
      await until('opt-outs are refused', async () => (await optOut()) === 503)
      // A database that takes no writes can still be read, and the record of a call is on the other disk.
      const canDecide = fault !== 'shutDown' && !(indexes as readonly number[]).includes(journal)
      for (let call = 0; call < 5; call += 1) expect(await isAllowed()).toBe(canDecide)
      expect(await optOut()).toBe(503)
      expect(await readiness()).toBe(503)
      if (fault === 'fill') {
        for (const disk of failing) disk.free()
        await until('it is ready', async () => (await readiness()) === 200)
        await until('calls are allowed', isAllowed)
        await until('opt-outs are stored', async () => (await optOut()) === 200)
      } else {
        await load.end()
        for (const disk of failing) await disk.mountAgain()
      }
      await load.judge()
    },
  )
})
