/** How far calls have come: waits for as many as a test needs, instead of for a time. */
import type { AsteriskServer } from './asterisk-server.js'
import type { RunningCalls } from './sipp-caller.js'
import type { Trunk } from './sipp-trunk.js'
import { until } from './until.js'

/** So many more calls are placed than now. */
export async function placedMore(calls: RunningCalls, count: number): Promise<void> {
  const wanted = calls.placed().length + count
  const limit = { withinMs: 30_000 }
  await until(`${count} more calls are placed`, () => calls.placed().length >= wanted, limit)
}

/** So many more INVITEs are at the trunk than now. */
export async function arrivedMore(trunk: Trunk, count: number): Promise<void> {
  const wanted = trunk.arrived().length + count
  const limit = { withinMs: 20_000 }
  await until(`${count} more are at the trunk`, () => trunk.arrived().length >= wanted, limit)
}

/** So many calls wait for a decision, and nothing else is there. */
export async function allWait(server: AsteriskServer, count: number): Promise<void> {
  await until(`${count} calls wait`, async () => (await server.channels()) === count)
}

/** Nothing is stuck. */
export async function noChannelIsLeft(server: AsteriskServer): Promise<void> {
  await until('no channel is left', async () => (await server.channels()) === 0)
}
