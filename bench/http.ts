/**
 * Decisions per second over keep-alive connections, as JSON (`POST /v1/decisions`) and as a line for a
 * dialplan (`GET /v1/predial`), as a ratio to echo servers that read the same requests and answer as many
 * bytes; one of them flushes as many bytes first. Server and load are separate processes; the servers take
 * turns.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Load,
  type LoadOrder,
  type LoadResult,
  latenciesOf,
  quantileOf,
  startLoad,
} from './load.js'
import { readCpuTime } from './machine.js'
import { figure, printTable, range, spreadOf } from './rounds.js'
import { type Serving, serveCallgate } from './serving.js'
import { unlimitedAreaCodes } from './unlimited-area-codes.js'

const full = { rounds: 7, seconds: 3 }
const quick = { rounds: 2, seconds: 1 }
const connections = 32
/** As many as wait for one flush at most. */
const manyConnections = 128
const areaCodes = 24

export interface Target {
  readonly name: string
  readonly pid: number
  readonly order: LoadOrder
  /** False for a program that does its work on any thread. */
  readonly hasEventLoop?: false
}

/** A round of one target. */
export interface Measured {
  /** Allows a second. */
  readonly perSecond: number
  /** Blocks that should have been allows. */
  readonly withheld: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Processor time of the server, in microseconds a request. */
  readonly cpuUs: number
  /** Of its thread that runs the event loop, if it has one. */
  readonly mainUs: number
  /** Of the load, as a share of one processor. */
  readonly loadShare: number
}

export async function benchHttp({ small }: { readonly small: boolean }): Promise<void> {
  const { rounds, seconds } = small ? quick : full
  const load = startLoad()
  const serving = await serveCallgate({ CALLGATE_SANDBOX_AT: '2026-11-23T18:00:00Z' })
  const answerBytes = await sizeOfAllow(serving)
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  const echoes: Echo[] = []
  for (const kind of echoKinds) echoes.push(await startEcho(kind, answerBytes, folder))
  const ofCallgate = { name: 'callgate, decided and on record', pid: serving.pid }
  try {
    const decisions = [
      ...echoes.map(({ name, pid, url }) => ({
        name,
        pid,
        order: decisionsOf(url, 'none', '"echo"'),
      })),
      { ...ofCallgate, order: decisionsOf(serving.url, serving.sandboxKey, '"decision":"allow"') },
    ]
    const predials = [
      ...echoes.map(({ name, pid, url }) => ({
        name,
        pid,
        order: predialsOf(url, 'none', '/v1/predial'),
      })),
      { ...ofCallgate, order: predialsOf(serving.url, serving.sandboxKey, 'allow:') },
    ]
    for (const [title, targets, atOnce] of [
      ['POST /v1/decisions', decisions, connections],
      ['POST /v1/decisions', decisions, manyConnections],
      ['GET /v1/predial', predials, connections],
    ] as const) {
      const all = targets.map((target) => ({
        ...target,
        order: { ...target.order, seconds, connections: atOnce },
      }))
      const measured = await measureInTurns(load, all, rounds)
      printMeasured(`${title}, ${atOnce} connections`, all, measured)
      printRatios(all, measured, [0.5, 3])
    }
  } finally {
    await serving.end()
    for (const { child } of echoes) child.disconnect()
    rmSync(folder, { recursive: true, force: true })
    load.end()
  }
}

/** The results of each target, round by round. */
export async function measureInTurns(
  load: Load,
  targets: readonly Target[],
  rounds: number,
): Promise<readonly (readonly Measured[])[]> {
  for (const { order } of targets) await load.run({ ...order, seconds: Math.min(2, order.seconds) })
  const measured: Measured[][] = targets.map(() => [])
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, target] of targets.entries()) {
      measured[index]?.push(await measure(load, target))
    }
  }
  return measured
}

export async function measure(
  load: Load,
  { name, pid, order, hasEventLoop }: Target,
): Promise<Measured> {
  const before = readCpuTime(pid)
  const result = await load.run(order)
  const after = readCpuTime(pid)
  requireExpected(name, result)
  const ms = latenciesOf([result])
  const withheld = result.answers.withheld?.length ?? 0
  const usEach = (time: number) => (time * 1_000) / ms.length
  return {
    perSecond: result.perSecond * (1 - withheld / ms.length),
    withheld,
    p50Ms: quantileOf(ms, 0.5),
    p99Ms: quantileOf(ms, 0.99),
    cpuUs: usEach(after.allMs - before.allMs),
    mainUs: hasEventLoop === false ? Number.NaN : usEach(after.mainMs - before.mainMs),
    loadShare: result.cpuShare,
  }
}

/** Throws if an answer was another one. */
function requireExpected(name: string, { wrong, firstWrong, cut }: LoadResult): void {
  if (wrong + cut === 0) return
  throw new Error(`${name}: ${wrong} wrong answers, ${cut} missing ones\n${firstWrong}`)
}

/** Bytes of the JSON of an allow. */
export async function sizeOfAllow({ url, sandboxKey }: Serving): Promise<number> {
  for (;;) {
    const reply = await fetch(`${url}/v1/decisions`, {
      method: 'POST',
      headers: { loginId: sandboxKey, 'content-type': 'application/json' },
      body: decisionBody(unlimitedAreaCodes[0] ?? ''),
    })
    const text = await reply.text()
    if (!reply.ok) throw new Error(`decisions: ${reply.status} ${text}`)
    // The first decisions of a server may be late on a busy machine, and then blocked.
    if (text.includes('"decision":"allow"')) return Buffer.byteLength(text)
  }
}

const decisionBody = (areaCode: string) =>
  JSON.stringify({ number: `${areaCode}5550100`, callKind: 'manual' })

/** A block instead of an allow: its record is not on disk in time, or its deadline has passed. */
const withheldJson = { text: '"decision":"block"' }
const withheldLine = { text: 'block:', status: 503 }

/** The clean landline of some area codes; the server's sandbox time is a weekday noon. */
export function decisionsOf(url: string, loginId: string, text: string): LoadOrder {
  const requests = unlimitedAreaCodes
    .slice(0, areaCodes)
    .map((code) => ({ method: 'POST', path: '/v1/decisions', body: decisionBody(code) }) as const)
  return {
    url,
    requests,
    headers: { loginId },
    connections,
    seconds: 3,
    expected: { allow: { text }, withheld: withheldJson },
  }
}

export function predialsOf(url: string, loginId: string, text: string): LoadOrder {
  const requests = unlimitedAreaCodes
    .slice(0, areaCodes)
    .map(
      (code) => ({ method: 'GET', path: `/v1/predial?number=${code}5550100&kind=manual` }) as const,
    )
  return {
    url,
    requests,
    headers: { loginId },
    connections,
    seconds: 3,
    expected: { allow: { text }, withheld: withheldLine },
  }
}

interface Echo {
  readonly name: string
  readonly url: string
  readonly pid: number
  readonly child: ChildProcess
}

const echoNames = {
  http: 'bare node:http echo',
  express: 'bare express echo',
  flushing: 'node:http echo that flushes',
} as const
type EchoKind = keyof typeof echoNames
const echoKinds = Object.keys(echoNames) as EchoKind[]

/** Its working folder is `folder`. */
export async function startEcho(
  kind: EchoKind,
  answerBytes: number,
  folder: string,
): Promise<Echo> {
  const module = join(import.meta.dirname, 'echo-server.js')
  const child = fork(module, [kind, String(answerBytes)], { cwd: folder })
  const [port] = (await once(child, 'message')) as [number]
  return { name: echoNames[kind], url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, child }
}

export function printMeasured(
  title: string,
  targets: readonly Pick<Target, 'name'>[],
  measured: readonly (readonly Measured[])[],
): void {
  const rows = targets.map(({ name }, index) => {
    const own = measured[index] ?? []
    const medianOf = (of: (one: Measured) => number) => figure(spreadOf(own.map(of)).median)
    return [
      name,
      medianOf((one) => one.perSecond),
      range(spreadOf(own.map((one) => one.perSecond))),
      medianOf((one) => one.cpuUs),
      medianOf((one) => one.mainUs),
      medianOf((one) => one.p50Ms),
      medianOf((one) => one.p99Ms),
      medianOf((one) => one.loadShare),
    ]
  })
  const spread = `min .. max of ${measured[0]?.length ?? 0}`
  const costs = ['CPU µs each', 'main thread', 'p50 ms', 'p99 ms', "load's CPU"]
  printTable([title, 'requests/s', spread, ...costs], rows)
}

/** The last target to each other one, whose least ratio is wanted to be that of `aims`. */
export function printRatios(
  targets: readonly Pick<Target, 'name'>[],
  measured: readonly (readonly Measured[])[],
  aims: readonly number[],
): void {
  const ours = measured.at(-1) ?? []
  const rows = targets.slice(0, -1).map(({ name }, index) => {
    const other = measured[index] ?? []
    const ratios = (of: (one: Measured) => number) =>
      spreadOf(ours.map((one, round) => of(one) / of(other[round] ?? one)))
    const speed = ratios((one) => one.perSecond)
    // Other programs change these less than the speeds.
    const [main, all] = [ratios((one) => 1 / one.mainUs), ratios((one) => 1 / one.cpuUs)]
    const aim = aims[index] === undefined ? '' : `aim: at least ${aims[index]}`
    return [
      `callgate to ${name}`,
      figure(speed.median),
      range(speed),
      aim,
      figure(main.median),
      figure(all.median),
    ]
  })
  const spread = `min .. max of ${ours.length}`
  printTable(
    ['ratio, round by round', 'median', spread, '', 'by CPU of the main thread', 'by all CPU'],
    rows,
  )
}
