/** Runs a command like an operator and measures its time and memory. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Taken {
  readonly seconds: number
  /** Largest resident set, as measured by the kernel. */
  readonly peakMb: number
  readonly output: string
}

const lookEveryMs = 100

const program = join(import.meta.dirname, '../../src/main.js')

/** Throws with the output of the command if its exit code is not 0. */
export async function measuredCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Taken> {
  // Earlier writes must not slow down this command.
  execFileSync('sync')
  const started = performance.now()
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => {
      output += bytes.toString()
    })
  }
  let peakMb = 0
  const timer = setInterval(() => {
    peakMb = Math.max(peakMb, peakOf(child.pid))
  }, lookEveryMs)
  const [code] = (await once(child, 'close')) as [number | null]
  clearInterval(timer)
  const seconds = (performance.now() - started) / 1000
  if (code !== 0)
    throw new Error(`callgate ${args.slice(0, 3).join(' ')} ended with ${code}: ${output}`)
  return { seconds, peakMb, output }
}

function peakOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1000
  } catch {
    return 0
  }
}
