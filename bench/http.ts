/**
 * Pre-dial requests per second over keep-alive connections, as a ratio to echo servers that do
 * nothing. Server and load are separate processes; the three servers take turns.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { listAreaCodes } from '../src/data/numbering/area-codes.js'
import type { LoadOrder, LoadResult } from './http-load.js'
import { figure, printTable, type Spread, spreadOf, takeTurns } from './rounds.js'
import { serveCallgate } from './serving.js'

const rounds = 5
const seconds = 3
const connections = 32
const areaCodes = 24

interface Target {
  readonly name: string
  readonly order: LoadOrder
  end(): Promise<void>
}

export async function benchHttp(): Promise<void> {
  const load = fork(join(import.meta.dirname, 'http-load.js'))
  const targets = [await echo('http'), await echo('express'), await callgate()]
  try {
    const results: LoadResult[][] = targets.map(() => [])
    const contenders = targets.map(({ order }, index) => ({
      run: async () => {
        const result = await askLoad(load, order)
        if (result.wrong > 0) throw new Error(`${result.wrong} wrong answers of ${order.url}`)
        results[index]?.push(result)
        return result.perSecond
      },
    }))
    for (const { order } of targets) await askLoad(load, { ...order, seconds: 1 })
    await takeTurns(contenders, rounds)
    print(targets, results)
  } finally {
    for (const target of targets) await target.end()
    load.disconnect()
  }
}

export async function askLoad(load: ChildProcess, order: LoadOrder): Promise<LoadResult> {
  load.send(order)
  const [result] = (await once(load, 'message')) as [LoadResult]
  return result
}

/** The clean landline of some area codes; the server's sandbox time is a weekday noon. */
export function orderFor(url: string, key: string, expected: string): LoadOrder {
  const paths = listAreaCodes()
    .slice(0, areaCodes)
    .map((areaCode) => `/v1/predial?number=${areaCode}5550100&kind=manual`)
  return { url, paths, headers: { loginId: key }, connections, seconds, expected }
}

async function echo(kind: 'http' | 'express'): Promise<Target> {
  const child = fork(join(import.meta.dirname, 'echo-server.js'), [kind])
  const [port] = (await once(child, 'message')) as [number]
  return {
    name: kind === 'http' ? 'bare node:http echo' : 'bare express echo',
    order: orderFor(`http://127.0.0.1:${port}`, 'none', '/v1/predial'),
    end: async () => child.disconnect(),
  }
}

async function callgate(): Promise<Target> {
  const serving = await serveCallgate({ CALLGATE_SANDBOX_AT: '2026-11-23T18:00:00Z' })
  return {
    name: 'callgate, decided and on record',
    order: orderFor(serving.url, serving.sandboxKey, 'allow:'),
    end: serving.end,
  }
}

function print(targets: readonly Target[], results: readonly (readonly LoadResult[])[]): void {
  const perSecond = results.map((rows) => rows.map((row) => row.perSecond))
  const rows = targets.map(({ name }, index) => {
    const own = results[index] ?? []
    return [
      name,
      figure(spreadOf(own.map((row) => row.perSecond)).median),
      range(spreadOf(own.map((row) => row.perSecond))),
      figure(spreadOf(own.map((row) => row.p50Ms)).median),
      figure(spreadOf(own.map((row) => row.p99Ms)).median),
    ]
  })
  const spread = `min .. max of ${rounds}`
  printTable([`${connections} connections`, 'requests/s', spread, 'p50 ms', 'p99 ms'], rows)
  const ours = perSecond.at(-1) ?? []
  const ratios = targets.slice(0, -1).map(({ name }, index) => {
    const other = perSecond[index] ?? []
    const ratio = spreadOf(ours.map((value, round) => value / (other[round] ?? Number.NaN)))
    return [`callgate to ${name}`, figure(ratio.median), range(ratio)]
  })
  printTable(['ratio, round by round', 'median', spread], ratios)
}

function range({ min, max }: Spread): string {
  return `${figure(min)} .. ${figure(max)}`
}
