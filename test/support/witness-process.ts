/** `callgate witness` as a process. */
import { startChild } from '../../scripts/children.mjs'
import { environmentOf, forShortRuns, program } from './program.js'

export interface WitnessProcess {
  readonly url: string
  readonly verifierKey: string
  /** Resolves to the exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>
  end(signal: NodeJS.Signals): Promise<number | string>
}

/** Starts it on a free port, after a module that changes it, and waits until it listens. */
export function startWitness(
  args: readonly string[],
  {
    preload,
    environment = {},
  }: { readonly preload?: string; readonly environment?: Readonly<Record<string, string>> } = {},
): Promise<WitnessProcess> {
  const first = preload === undefined ? [] : ['--import', preload]
  const listen = args.includes('--listen') ? [] : ['--listen', '127.0.0.1:0']
  const child = startChild(
    process.execPath,
    [
      ...forShortRuns,
      ...first,
      program,
      'witness',
      '--name',
      'witness.example.com/w1',
      ...listen,
      ...args,
    ],
    { env: environmentOf(environment), stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const ended = new Promise<number | string>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown')),
  )
  let output = ''
  return new Promise((resolve, reject) => {
    const read = (bytes: Buffer) => {
      output += bytes.toString()
      const [, url, verifierKey] =
        /witness listens on (\S+)\nits verifier key: (\S+)\n/.exec(output) ?? []
      if (url === undefined || verifierKey === undefined) return
      const end = (signal: NodeJS.Signals) => {
        child.kill(signal)
        return ended
      }
      resolve({ url, verifierKey, ended, end })
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('exit', () => reject(new Error(`the witness has ended: ${output}`)))
  })
}
