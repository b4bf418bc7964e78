/**
 * A center with a hundred simulated edges: how soon all of them have an opt-out, and what their questions cost the server
 * that answers; and decisions of a real edge beside those of a server over SQLite. The simulated edges ask as real ones
 * do, but keep no copy.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChangesCopy } from '../src/api/edges.js'
import { createDatabase, readAddress } from './cluster.js'
import { decisionsOf } from './http.js'
import { quantileOf, startLoad } from './load.js'
import { compare, figure, printTable } from './rounds.js'
import { type Serving, serveCallgate } from './serving.js'

const edgeCounts = [1, 10, 100]
const waitMs = 100

export async function benchEdges({ small }: { readonly small: boolean }): Promise<void> {
  const postgres = spawn(process.execPath, [join(import.meta.dirname, '../scripts/postgres.mjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-edges-'))
  const started: Serving[] = []
  const start = async (environment: Readonly<Record<string, string>>, sandboxKey?: string) => {
    const all = { CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z', ...environment }
    const serving = await serveCallgate(all, sandboxKey === undefined ? {} : { sandboxKey })
    started.push(serving)
    return serving
  }
  try {
    const address = await readAddress(postgres)
    await createDatabase(address, 'edges')
    const center = await start({
      CALLGATE_STORAGE_ENGINE: 'postgres',
      CALLGATE_STORAGE_URL: `${address}/edges`,
      CALLGATE_STORAGE_TLS: 'false',
    })
    const keyFile = join(folder, 'key')
    writeFileSync(keyFile, center.sandboxKey, { mode: 0o600 })
    const edge = await start(
      { CALLGATE_EDGE_CENTERS: `[${center.url}]`, CALLGATE_EDGE_LOGIN_ID_FILE: keyFile },
      center.sandboxKey,
    )
    await untilReady(edge)
    await measureDecisions(edge, await start({}), small)
    for (const count of edgeCounts) await measureQuestions(center, count, small ? 20 : 200)
  } finally {
    for (const serving of started) await serving.end()
    postgres.stdin?.end()
    await once(postgres, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
}

async function untilReady({ url }: Serving): Promise<void> {
  while ((await fetch(`${url}/readyz`)).status !== 200) {
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}

async function measureDecisions(edge: Serving, alone: Serving, small: boolean): Promise<void> {
  const load = startLoad()
  const run = async ({ url, sandboxKey }: Serving) => {
    const order = decisionsOf(url, sandboxKey, '"decision":"allow"')
    const result = await load.run({ ...order, connections: 33, seconds: small ? 1 : 3 })
    if (result.wrong + result.cut > 0) throw new Error(`wrong: ${result.firstWrong}`)
    return result.perSecond
  }
  try {
    const contenders = [
      { name: 'SQLite, alone', run: () => run(alone) },
      { name: 'an edge', run: () => run(edge) },
    ]
    for (const contender of contenders) await contender.run()
    const [sqlite = Number.NaN, ofEdge = Number.NaN] = await compare(
      'allows/s, answers cached, 33 connections',
      contenders,
      small ? 2 : 5,
    )
    printTable(['to SQLite', 'ratio', ''], [['an edge', figure(ofEdge / sqlite), 'aim: 0.9']])
  } finally {
    load.end()
  }
}

/** Follows the center until it is told to end, and tells when it has an opt-out. */
class SimulatedEdge {
  #cursor = ''
  #isEnding = false
  readonly #running: Promise<void>
  #onNumbers: (() => void) | undefined

  constructor(center: Serving) {
    this.#running = this.#follow(center)
  }

  /** Resolves once it has received a change of a number. */
  nextNumbers(): Promise<void> {
    return new Promise((resolve) => {
      this.#onNumbers = resolve
    })
  }

  end(): Promise<void> {
    this.#isEnding = true
    return this.#running
  }

  async #follow({ url, sandboxKey }: Serving): Promise<void> {
    while (!this.#isEnding) {
      const query = new URLSearchParams({ after: this.#cursor, waitMs: String(waitMs) })
      const reply = await fetch(`${url}/v1/edge/changes?${query}`, {
        headers: { loginId: sandboxKey },
      })
      if (!reply.ok) throw new Error(await reply.text())
      const changes = (await reply.json()) as ChangesCopy
      this.#cursor = changes.cursor
      if (changes.numbers.length > 0) this.#onNumbers?.()
    }
  }
}

async function measureQuestions(center: Serving, count: number, optOuts: number): Promise<void> {
  const edges = Array.from({ length: count }, () => new SimulatedEdge(center))
  const took: number[] = []
  const cpuBefore = await readCpuSeconds(center)
  const beganAt = performance.now()
  for (let index = 0; index < optOuts; index += 1) {
    await pause(50)
    const received = edges.map((edge) => edge.nextNumbers())
    const body = { phoneList: `2125550${100 + (index % 100)}`, actionType: 'add' }
    const reply = await fetch(`${center.url}/app/main/rpc/pdnc`, {
      method: 'POST',
      headers: { loginId: center.sandboxKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!reply.ok) throw new Error(await reply.text())
    const acknowledgedAt = performance.now()
    await Promise.all(received)
    took.push(performance.now() - acknowledgedAt)
  }
  const seconds = (performance.now() - beganAt) / 1_000
  const cpuShare = ((await readCpuSeconds(center)) - cpuBefore) / seconds
  await Promise.all(edges.map((edge) => edge.end()))
  const sorted = Float64Array.from(took).sort()
  printTable(
    [`${count} edges, ${optOuts} opt-outs`, 'p50', 'p99', 'slowest', ''],
    [
      [
        'acknowledged to received by all, ms',
        figure(quantileOf(sorted, 0.5)),
        figure(quantileOf(sorted, 0.99)),
        figure(sorted.at(-1) ?? Number.NaN),
        'aim: p99 below 250',
      ],
      ['CPU of the center, cores', figure(cpuShare), '', '', ''],
    ],
  )
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function readCpuSeconds({ url }: Serving): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1])
}
