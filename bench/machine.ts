/** The machine and time of a measurement, and what else ran meanwhile. */
import { readdirSync, readFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { version } from '../src/config/version.js'
import { figure } from './rounds.js'

export function machineFacts(): string {
  const processors = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  const load = loadavg()[0]?.toFixed(1) ?? '?'
  return (
    `callgate ${version}, node ${process.version}, ${processors.length} cores of ` +
    `${processors[0]?.model.trim() ?? 'unknown'}, ${memory} GB, load at start ${load}\n`
  )
}

/** Processor time in milliseconds; NaN where the system does not say. */
export interface CpuTime {
  /** Of the thread that runs the event loop. */
  readonly mainMs: number
  /** Of the threads that run now. */
  readonly allMs: number
}

export function readCpuTime(pid: number): CpuTime {
  const threads = `/proc/${pid}/task`
  const ofThread = (id: string | number) => {
    const nanoseconds = Number(
      readOrEmpty(`${threads}/${id}/schedstat`).split(' ')[0] || Number.NaN,
    )
    return nanoseconds / 1e6
  }
  try {
    const all = readdirSync(threads).map(ofThread)
    return { mainMs: ofThread(pid), allMs: all.reduce((sum, ms) => sum + (ms || 0), 0) }
  } catch {
    return { mainMs: Number.NaN, allMs: Number.NaN }
  }
}

/** Resident memory in megabytes. */
export function readMemoryMb(pid: number): number {
  const kilobytes = /VmRSS:\s*(\d+)/.exec(readOrEmpty(`/proc/${pid}/status`))?.[1]
  return Number(kilobytes ?? Number.NaN) / 1_024
}

/** Begins to watch what else runs; the returned function describes it, in one line. */
export function watchMachine(): () => string {
  const before = readProcesses()
  const loadBefore = loadavg()[0] ?? 0
  const startedAt = performance.now()
  return () => {
    const after = readProcesses()
    const seconds = (performance.now() - startedAt) / 1_000
    const share = (ticks: number) => ticks / ticksPerSecond / seconds
    const used = new Map<string, number>()
    for (const [pid, { name, ticks, isOwn }] of after.processes) {
      if (isOwn) continue
      const ran = ticks - (before.processes.get(pid)?.ticks ?? 0)
      used.set(name, (used.get(name) ?? 0) + ran)
    }
    const busiest = [...used]
      .sort(([, one], [, other]) => other - one)
      .filter(([, ticks]) => share(ticks) >= 0.01)
      .slice(0, 4)
      .map(([name, ticks]) => `${name} ${figure(share(ticks))}`)
    const others = Math.max(
      0,
      after.busyTicks - before.busyTicks - (after.ownTicks - before.ownTicks),
    )
    const load = [loadBefore, loadavg()[0] ?? 0].map((value) => value.toFixed(1)).join(' -> ')
    const names = busiest.length > 0 ? ` (${busiest.join(', ')})` : ''
    const stolen = figure(share(after.stolenTicks - before.stolenTicks))
    return (
      `  meanwhile: load ${load}; other programs used ${figure(share(others))} of ` +
      `${cpus().length} cores${names}; taken by the host: ${stolen}\n`
    )
  }
}

interface ProcessTimes {
  readonly busyTicks: number
  readonly stolenTicks: number
  /** Of this process and all that it started. */
  readonly ownTicks: number
  readonly processes: ReadonlyMap<number, SeenProcess>
}

interface SeenProcess {
  readonly name: string
  readonly parent: number
  readonly ticks: number
  /** Of children that have ended. */
  readonly childTicks: number
  isOwn: boolean
}

/** Of Linux, on all its usual platforms. */
const ticksPerSecond = 100

function readProcesses(): ProcessTimes {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolenTicks = 0] =
    readOrEmpty('/proc/stat').split('\n', 1)[0]?.split(/ +/).slice(1).map(Number) ?? []
  const processes = new Map<number, SeenProcess>()
  const pids = readOrEmpty('/proc/stat') === '' ? [] : readdirSync('/proc').filter(Number)
  for (const pid of pids) {
    const [, name, rest] = /\((.*)\) \S (.*)/.exec(readOrEmpty(`/proc/${pid}/stat`)) ?? []
    if (name === undefined || rest === undefined) continue
    const fields = rest.split(' ').map(Number)
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(10, 14)
    processes.set(Number(pid), {
      name,
      parent: fields[0] ?? 0,
      ticks: user + system,
      childTicks: childUser + childSystem,
      isOwn: false,
    })
  }
  let ownTicks = 0
  for (const [pid, seen] of processes) {
    seen.isOwn = isDescendant(pid, processes)
    if (seen.isOwn) ownTicks += seen.ticks + seen.childTicks
  }
  return { busyTicks: user + nice + system + irq + softirq, stolenTicks, ownTicks, processes }
}

function isDescendant(pid: number, processes: ReadonlyMap<number, SeenProcess>): boolean {
  for (let at: number | undefined = pid; at; at = processes.get(at)?.parent) {
    if (at === process.pid) return true
  }
  return false
}

/** A process may have ended since it was listed. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
