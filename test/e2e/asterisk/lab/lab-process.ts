/** A process of the lab: its output in a file, and all that can befall a process. */
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { startChild } from '../../../../scripts/children.mjs'

/** Exit code, or the signal that ended it. */
export type Ended = number | NodeJS.Signals

export interface LabProcessOptions {
  readonly command: string
  readonly args: readonly string[]
  /** File that takes standard output and standard error; appended to. */
  readonly output: string
  /** The whole environment; that of this process unless given. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly folder?: string
}

export interface LabProcess {
  readonly pid: number
  isRunning(): boolean
  /** Standard output and standard error so far. */
  output(): string
  signal(name: NodeJS.Signals): void
  /** SIGSTOP: it keeps its sockets and answers nothing. */
  freeze(): void
  thaw(): void
  /** Settles when it has ended, however it came to it. */
  ended(): Promise<Ended>
  /** Thaws it, sends the signal (SIGTERM), and SIGKILL when that has not ended it in time. */
  end(signal?: NodeJS.Signals, withinMs?: number): Promise<Ended>
  /** User and system time it has used, in seconds, to 1/100. */
  cpuSeconds(): number
}

export function startProcess(options: LabProcessOptions): LabProcess {
  const file = openSync(options.output, 'a')
  const child = startChild(options.command, [...options.args], {
    env: { ...(options.environment ?? process.env) },
    cwd: options.folder,
    stdio: ['ignore', file, file],
  })
  closeSync(file)
  const { pid } = child
  const ended = new Promise<Ended>((resolve) => {
    child.once('exit', (code, by) => resolve(code ?? by ?? -1))
    child.once('error', () => resolve(-1))
  })
  if (pid === undefined) throw new Error(`${options.command}: cannot be started`)
  return labProcess(child, { pid, ended, output: options.output })
}

interface Started {
  readonly pid: number
  readonly ended: Promise<Ended>
  readonly output: string
}

function labProcess(child: ChildProcess, { pid, ended, output }: Started): LabProcess {
  const signal = (name: NodeJS.Signals) => void child.kill(name)
  return {
    pid,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    output: () => readFileSync(output, 'utf8'),
    signal,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    ended: () => ended,
    async end(name = 'SIGTERM', withinMs = 10_000) {
      const timer = setTimeout(() => signal('SIGKILL'), withinMs)
      signal(name)
      signal('SIGCONT')
      try {
        return await ended
      } finally {
        clearTimeout(timer)
      }
    },
    cpuSeconds: () => cpuSecondsOf(pid),
  }
}

/** Linux counts in ticks of 1/100 s; the name in brackets may hold anything. */
function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}
