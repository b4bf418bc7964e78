/** A server that packs an evidence bundle is killed, or told to cancel it: nothing half done is ever left or given away. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { BundleBody } from '../../../src/api/gate/evidence-bundles.js'
import { openZip } from '../../../src/evidence/bundle/zip.js'
import { fileSource } from '../../../src/evidence/byte-source.js'
import { type Serving, serve } from '../../support/program.js'

const number = '2125550106'
const longWait = { timeout: 60_000, interval: 5 }
let dataDir: string
let key: string

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-bundles-'))
})
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

/** While it exists, nothing is packed to its end. */
const hold = () => join(dataDir, 'hold')
const preload = join(import.meta.dirname, '../../support/hold-packing.mjs')
const start = () => serve({ CALLGATE_DATA_DIR: dataDir, HOLD_PACKING: hold() }, [], { preload })
const listFiles = () => readdirSync(join(dataDir, 'evidence')).sort()

async function send<Body>({ url }: Serving, path: string, json?: object): Promise<Body> {
  const response = await fetch(`${url}${path}`, {
    method: json ? 'POST' : 'GET',
    headers: { loginId: key, 'content-type': 'application/json' },
    ...(json && { body: JSON.stringify(json) }),
  })
  expect(response.status, await response.clone().text()).toBeLessThan(300)
  return (await response.json()) as Body
}

const askBundle = (server: Serving) =>
  send<BundleBody>(server, '/v1/evidence', { number, reason: 'a claim' })

async function awaitState(server: Serving, { id }: BundleBody, state: BundleBody['state']) {
  return await vi.waitFor(async () => {
    const found = await send<BundleBody>(server, `/v1/evidence/${id}`)
    expect(found.state).toBe(state)
    return found
  }, longWait)
}

it('says after a kill what was interrupted, goes on with what waited, and proves it', async () => {
  const first = await start()
  key = first.keys.sandbox
  const { id } = await send<{ id: string }>(first, '/v1/decisions', { number, callKind: 'manual' })
  await vi.waitFor(
    async () => {
      const headers = { loginId: key }
      const { status } = await fetch(`${first.url}/v1/decisions/${id}/proof`, { headers })
      expect(status).toBe(200)
    },
    { timeout: 60_000, interval: 200 },
  )
  writeFileSync(hold(), '')
  const [killed, waiting] = [await askBundle(first), await askBundle(first)]
  await awaitState(first, killed, 'packing')
  expect(await send<BundleBody>(first, `/v1/evidence/${waiting.id}`)).toMatchObject({
    state: 'waiting',
  })
  expect(await first.end('SIGKILL')).toBe('SIGKILL')
  rmSync(hold())
  const second = await start()
  expect(await awaitState(second, killed, 'interrupted')).toMatchObject({
    problem: 'The server was stopped while it was packed. Ask again',
  })
  const done = await awaitState(second, waiting, 'done')
  expect(listFiles()).toEqual([`${killed.id}.json`, `${done.id}.json`, `${done.id}.zip`].sort())
  const response = await fetch(`${second.url}/v1/evidence/${done.id}/file`, {
    headers: { loginId: key },
  })
  const zip = join(dataDir, 'bundle.zip')
  writeFileSync(zip, Buffer.from(await response.arrayBuffer()))
  const { verifierKey } = await send<{ verifierKey: string }>(second, '/v1/journal')
  const verifier = join(import.meta.dirname, '../../../dist/evidence/verify.mjs')
  const kept = join(dataDir, 'kept')
  writeFileSync(kept, openZip(fileSource(zip)).get('checkpoint')?.read(0, 10_000) ?? '')
  const args = [verifier, '--key', verifierKey, '--head', kept, zip]
  const verified = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect([verified.status, verified.stdout]).toEqual([0, expect.stringContaining('PROVEN')])

  // One that is being packed is canceled at once, and the next one is packed.
  writeFileSync(hold(), '')
  const [canceled, next] = [await askBundle(second), await askBundle(second)]
  await awaitState(second, canceled, 'packing')
  await send(second, `/v1/evidence/${canceled.id}/delete`, { reason: 'no longer needed' })
  rmSync(hold())
  await awaitState(second, next, 'done')
  expect(listFiles().filter((name) => name.startsWith(canceled.id))).toEqual([])
  // An orderly end does not wait for one.
  writeFileSync(hold(), '')
  const last = await askBundle(second)
  await awaitState(second, last, 'packing')
  expect(await second.end('SIGTERM')).toBe(0)
  const third = await start()
  await awaitState(third, last, 'interrupted')
  expect(await third.end('SIGTERM')).toBe(0)
})
