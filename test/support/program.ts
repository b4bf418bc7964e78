/** Runs the compiled program as a process of its own, as an operator does. */
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runChild, startChild } from '../../scripts/children.mjs'

export const program = join(import.meta.dirname, '../../dist/main.js')

/**
 * Most starts end before what V8 does for a long run pays for itself: functions are compiled to fast code after four times
 * as many calls as usual, and memory grows at once instead of after many collections.
 */
export const forShortRuns = [
  '--interrupt-budget=300000',
  '--single-threaded-gc',
  '--min-semi-space-size=8',
  '--initial-old-space-size=200',
]

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Settings come from `environment` alone, not from the shell that runs the tests. */
export function environmentOf(environment: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('CALLGATE_'))
  return { ...Object.fromEntries(inherited), ...environment }
}

/** A command that runs until it is sent a signal. */
export function startCallgate(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Pick<Serving, 'end'> {
  const child = startChild(process.execPath, [...forShortRuns, program, ...args], {
    env: environmentOf(environment),
    stdio: 'ignore',
  })
  return { end: createEnd(child) }
}

export function callgate(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  as: { readonly uid?: number; readonly gid?: number } = {},
): Promise<Ended> {
  const options = { env: environmentOf(environment), timeout: 60_000, ...as }
  return runChild(process.execPath, [...forShortRuns, program, ...args], options)
}

export interface Serving {
  readonly url: string
  readonly pid: number
  /** Of the first start over its data folder. */
  readonly keys: FirstKeys
  /** Everything written to standard output so far. */
  output(): string
  signal(signal: NodeJS.Signals): void
  /** Waits for the end; gives the exit code, or the signal that ended it. */
  ended(): Promise<number | string>
  /** Sends the signal, and waits as {@link Serving.ended} does. */
  end(signal: NodeJS.Signals): Promise<number | string>
}

/** The cache is allocated at the start, and the default size takes a tenth of its time. */
const smallCache = { CALLGATE_GATE_CACHE_MAX_ENTRIES: '1000' }

/** Starts `serve` on a free port, after a module that changes it or of another program, and waits until it says where it listens. */
export function serve(
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  {
    preload,
    program: other = program,
    isMeasured = false,
  }: {
    readonly preload?: string
    readonly program?: string
    /** Its times are measured, so it runs as it does for an operator. */
    readonly isMeasured?: boolean
  } = {},
): Promise<Serving> {
  const first = [
    ...(isMeasured ? [] : forShortRuns),
    ...(preload === undefined ? [] : ['--import', preload]),
  ]
  const child = startChild(process.execPath, [...first, other, 'serve', ...args], {
    env: environmentOf({ CALLGATE_HTTP_PORT: '0', ...smallCache, ...environment }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const folder = environment.CALLGATE_DATA_DIR ?? 'var'
  let output = ''
  let isServing = false
  return new Promise((resolve, reject) => {
    const listen = (bytes: Buffer) => {
      output += bytes.toString()
      const url = isServing ? undefined : /listens on (\S+)\n[\s\S]*\n/.exec(output)?.[1]
      if (url === undefined) return
      isServing = true
      const signal = (name: NodeJS.Signals) => void child.kill(name)
      const ended = () => endOf(child)
      const end = createEnd(child)
      const { pid = 0 } = child
      resolve({ url, pid, keys: firstKeysIn(folder), output: () => output, signal, ended, end })
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.once('exit', (code) => reject(new Error(`serve ended with ${code}:\n${output}`)))
  })
}

export type FirstKeys = Readonly<Record<'main' | 'sandbox', string>>

/** The keys in the file that a first start writes; empty texts where there is none. */
export function firstKeysIn(dataDir: string): FirstKeys {
  const path = join(dataDir, 'first-keys.txt')
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const keyOf = (account: string) =>
    new RegExp(`^${account}: (\\S{44})$`, 'm').exec(text)?.[1] ?? ''
  return { main: keyOf('main'), sandbox: keyOf('sandbox') }
}

function createEnd(child: ChildProcess): Serving['end'] {
  return (signal) => {
    const ending = endOf(child)
    child.kill(signal)
    return ending
  }
}

function endOf(child: ChildProcess): Promise<number | string> {
  const { exitCode, signalCode } = child
  if (exitCode !== null || signalCode !== null) {
    return Promise.resolve(exitCode ?? signalCode ?? 'unknown')
  }
  return new Promise((resolve) => {
    child.once('exit', (code, by) => resolve(code ?? by ?? 'unknown'))
  })
}
