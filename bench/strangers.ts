/**
 * Decisions beside strangers: 50 a second, together with 100 connections of somebody without a key at one address
 * after the other, in turns with as many at `/healthz`. Decisions and strangers are sent by separate processes.
 */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { type Load, type LoadOrder, latenciesOf, quantileOf, startLoad } from './load.js'
import { figure, printTable, range, spreadOf } from './rounds.js'
import { type Serving, serveCallgate } from './serving.js'
import type { Strangers } from './stranger-senders.js'

const perSecond = 50
const connections = 100
const aimMs = 10
const base = '/healthz'
const addresses = [
  ...['/readyz', '/metrics', '/openapi.json', '/docs', '/.well-known/jwks.json', '/nowhere'],
  ...['/console/sign-in', '/console/try', '/console/try/2125550100', '/console/decisions'],
]

export async function benchStrangers({
  small,
  full,
}: Record<'small' | 'full', boolean>): Promise<void> {
  const serving = await serveCallgate({ CALLGATE_SANDBOX_AT: '2026-11-23T18:00:00Z' })
  const generator = startLoad()
  const seconds = small ? 3 : 6
  const rounds = full ? 5 : 2
  try {
    await generator.run(orderOf(serving, 3))
    const rows: (readonly string[])[] = []
    for (const path of small ? addresses.slice(0, 4) : addresses) {
      const pairs: (readonly [Measured, Measured])[] = []
      for (let round = 0; round < rounds; round += 1) {
        const plain = await measure(serving, generator, { path: base, seconds })
        pairs.push([plain, await measure(serving, generator, { path, seconds })])
      }
      const median = (values: readonly number[]) => figure(spreadOf(values).median)
      const over = pairs.map(([plain, beside]) => beside.p99 - plain.p99)
      rows.push([
        path,
        median(pairs.map(([plain]) => plain.p99)),
        median(pairs.map(([, beside]) => beside.p99)),
        median(over),
        range(spreadOf(over)),
        String(pairs.reduce((sum, [, { refused }]) => sum + refused, 0)),
      ])
    }
    const head = [
      `${perSecond} decisions a second beside ${connections} connections of`,
      `p99 ms beside ${base}`,
      'p99 ms',
      `over it (aim: ${aimMs})`,
      `min .. max of ${rounds}`,
      'refused or cut',
    ]
    printTable(head, rows)
  } finally {
    generator.end()
    await serving.end()
  }
}

interface Measured {
  readonly p99: number
  /** Decisions, or without an answer. */
  readonly refused: number
}

async function measure(
  serving: Serving,
  generator: Load,
  { path, seconds }: { readonly path: string; readonly seconds: number },
): Promise<Measured> {
  const strangers = fork(join(import.meta.dirname, 'stranger-senders.js'))
  strangers.send({ url: serving.url, path, connections } satisfies Strangers)
  const result = await generator.run(orderOf(serving, seconds))
  strangers.disconnect()
  return { p99: quantileOf(latenciesOf([result]), 0.99), refused: result.wrong + result.cut }
}

/** Sent at a fixed rate, whether or not earlier ones have been answered. */
function orderOf({ url, sandboxKey }: Serving, seconds: number): LoadOrder {
  const body = JSON.stringify({ number: '2125550106', callKind: 'manual' })
  return {
    url,
    requests: [{ method: 'POST', path: '/v1/decisions', body }],
    headers: { loginId: sandboxKey },
    connections: 8,
    seconds,
    expected: { allow: { text: '"allow"' } },
    perSecond,
  }
}
