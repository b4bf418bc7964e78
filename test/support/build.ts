/** Compiles the program once before the tests that run it as a process. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export function setup(): void {
  const script = join(import.meta.dirname, '../../scripts/build-if-needed.mjs')
  execFileSync(process.execPath, [script], { stdio: 'inherit' })
}
