/** A preview asks a provider after the decisions, and waits longer for its answers. */
import { expect, test, vi } from 'vitest'
import {
  ofEachQuestion,
  type RemoteCallgate,
  withRemoteCallgate,
} from '../../support/remote-callgate.js'

async function preview(
  { postJson, keys }: RemoteCallgate,
  numbers: readonly string[],
): Promise<Readonly<Record<string, number>>> {
  const body = { numbers, callKind: 'manual' }
  const response = await postJson('/v1/decisions/preview', body, keys.main)
  const { reasons } = (await response.json()) as { readonly reasons: Record<string, number> }
  return reasons
}

test('a decision does not wait for the numbers of a preview', async () => {
  const provider = {
    MAX_REQUESTS: '4',
    ...ofEachQuestion('NUMBERS_PER_REQUEST', '1'),
    ...ofEachQuestion('DEADLINE_MS', '20000'),
  }
  const environment = { CALLGATE_GATE_DEADLINE_MS: '20000' }
  await withRemoteCallgate(
    { provider, environment, vendor: { latencyMs: 200 } },
    async (remote) => {
      const numbers = Array.from({ length: 40 }, (_, index) => `${212 + index}5550100`)
      const previewing = preview(remote, numbers)
      let isDone = false
      void previewing.then(() => {
        isDone = true
      })
      // Most of them are queued now.
      await vi.waitFor(() => expect(remote.vendor.requests().length).toBeGreaterThan(3), 20_000)
      const { reason } = await remote.decide('2125550105')
      expect([reason, isDone]).toEqual(['litigator', false])
      expect(await previewing).not.toHaveProperty('check-unanswered')
    },
  )
})

test('an answer that is too late for a decision is in time for a preview', async () => {
  const environment = { CALLGATE_GATE_DEADLINE_MS: '500' }
  await withRemoteCallgate({ environment, vendor: { latencyMs: 1_000 } }, async (remote) => {
    expect((await remote.decide('2125550106')).reason).toBe('check-unanswered')
    expect(await preview(remote, ['2125550107', '2125550105'])).toEqual({
      permitted: 1,
      litigator: 1,
    })
  })
})
