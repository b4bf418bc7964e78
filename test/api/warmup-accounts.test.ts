/** Warming by several accounts: what one does takes no room from another kind, and tells it nothing. */
import { afterEach, describe, expect, it } from 'vitest'
import type { WarmupProgressBody, WarmupStartedBody } from '../../src/api/gate/warmup.js'
import { openRemoteCallgate } from '../support/remote-callgate.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const environment = { CALLGATE_GATE_CACHE_MAX_ENTRIES: '10' }

let running: TestCallgate | undefined
afterEach(async () => {
  await running?.end()
  running = undefined
})

type Account = keyof TestCallgate['keys']

async function start({ postJson, keys }: TestCallgate, account: Account, count: number) {
  const numbers = Array.from({ length: count }, (_, index) => String(2_125_550_100 + index))
  const response = await postJson('/v1/warm', { numbers }, keys[account])
  return { status: response.status, body: (await response.json()) as WarmupStartedBody }
}

describe('a job of the sandbox', () => {
  it('leaves real accounts half of the one cache of an embedded source', async () => {
    running = await openTestCallgate({ environment })
    expect(await start(running, 'sandbox', 6)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('must be at most 5: 5 can be kept warm at once') },
    })
    expect(await start(running, 'sandbox', 5)).toMatchObject({ status: 202 })
    expect(await start(running, 'main', 6)).toMatchObject({ status: 400 })
    expect(await start(running, 'main', 5)).toMatchObject({ status: 202 })
  })

  it('leaves real accounts all of the cache of a provider', async () => {
    running = await openRemoteCallgate({ environment })
    expect(await start(running, 'sandbox', 10)).toMatchObject({ status: 202 })
    expect(await start(running, 'main', 11)).toMatchObject({ status: 400 })
    expect(await start(running, 'main', 10)).toMatchObject({ status: 202 })
  })

  it('is found and stopped by the sandbox, and by nobody else', async () => {
    running = await openTestCallgate({ environment })
    const { get, postJson, keys } = running
    const { id } = (await start(running, 'sandbox', 3)).body
    expect((await get(`/v1/warm/${id}`, keys.main)).status).toBe(404)
    expect((await postJson(`/v1/warm/${id}/stop`, {}, keys.main)).status).toBe(404)
    const stopped = await postJson(`/v1/warm/${id}/stop`, {}, keys.sandbox)
    expect((await stopped.json()) as WarmupProgressBody).toMatchObject({ state: 'stopped' })
  })
})
