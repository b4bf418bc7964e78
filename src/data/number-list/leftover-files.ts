/** Removes what a crash left beside a prepared file; files of imports that still run stay. */
import { readdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Instant } from '../../domain/clock.js'

const oldAfterMs = 86_400_000

/**
 * Removes files written aside for `path` (`.new`, `.part`) whose process has ended or that were
 * last written more than a day before `now`.
 */
export function removeLeftovers(path: string, now: Instant): void {
  const folder = dirname(path)
  for (const file of filesIn(folder).filter((name) => isWrittenAside(name, basename(path)))) {
    const aside = join(folder, file)
    const found = statSync(aside, { throwIfNoEntry: false })
    if (!found?.isFile()) continue
    if (now - found.mtimeMs > oldAfterMs || hasEnded(processOf(file)))
      rmSync(aside, { force: true })
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return []
    throw cause
  }
}

function isWrittenAside(file: string, target: string): boolean {
  const begins = file.startsWith(`.${target}.`) || file.startsWith(`..${target}.`)
  return begins && /\.(?:new|part)$/.test(file)
}

function processOf(file: string): number | undefined {
  const digits = /\.(\d+)\.(?:new|part)$/.exec(file)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/**
 * Whether a process of this host has ended; false for what is no process id. One of another user may
 * not be signalled, but it runs.
 */
export function hasEnded(pid: number | undefined): boolean {
  if (pid === undefined || !Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (cause) {
    return codeOf(cause) === 'ESRCH'
  }
}

/** The code of an error of the system, such as `ENOENT`. */
export function codeOf(cause: unknown): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined
}
