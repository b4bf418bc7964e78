/** Runs the program like an operator: in a separate process whose log goes to a file. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Serving {
  readonly url: string
  readonly pid: number
  readonly sandboxKey: string
  /** Asks the probe, if there is one, and returns its answer. */
  ask(message: string): Promise<unknown>
  end(): Promise<void>
}

const startsWithinMs = 30_000

/** A probe of {@link Serving.ask}, in an idle process. */
export function startIdleProbe(probe: string): Pick<Serving, 'ask' | 'end'> {
  const child = fork(probe)
  return { ask: askerOf(child), end: async () => child.disconnect() }
}

function askerOf(child: ChildProcess): Serving['ask'] {
  return async (message) => {
    child.send(message)
    const [answer] = (await once(child, 'message')) as [unknown]
    return answer
  }
}

interface ServeOptions {
  readonly probe?: string
  /** Of a database that another server has made. */
  readonly sandboxKey?: string
}

export async function serveCallgate(
  environment: Readonly<Record<string, string>>,
  { probe, sandboxKey }: ServeOptions = {},
): Promise<Serving> {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  const output = join(folder, 'output')
  const log = openSync(output, 'w')
  const program = [join(import.meta.dirname, '../src/main.js'), 'serve']
  const child = spawn(process.execPath, [...(probe ? ['--import', probe] : []), ...program], {
    env: { ...process.env, CALLGATE_DATA_DIR: folder, CALLGATE_HTTP_PORT: '0', ...environment },
    stdio: ['ignore', log, log, 'ipc'],
  })
  const end = async () => {
    if (child.exitCode === null) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const url = await listeningAt(child, output)
    const dataDir = environment.CALLGATE_DATA_DIR ?? folder
    const key = sandboxKey ?? sandboxKeyIn(dataDir)
    return { url, pid: child.pid ?? 0, sandboxKey: key, ask: askerOf(child), end }
  } catch (cause) {
    await end()
    throw cause
  }
}

async function listeningAt(child: ChildProcess, output: string): Promise<string> {
  for (let waitedMs = 0; waitedMs < startsWithinMs; waitedMs += 50) {
    const text = readFileSync(output, 'utf8')
    const url = /listens on (\S+)\n/.exec(text)?.[1]
    if (url) return url
    if (child.exitCode !== null) throw new Error(`serve ended:\n${text}`)
    await sleep(50)
  }
  throw new Error('serve did not start in time')
}

/** The file exists before the URL is printed. */
function sandboxKeyIn(dataDir: string): string {
  const keys = readFileSync(join(dataDir, 'first-keys.txt'), 'utf8')
  return /^sandbox: (\S{44})$/m.exec(keys)?.[1] ?? ''
}
