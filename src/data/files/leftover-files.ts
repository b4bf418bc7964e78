/** Removes temporary files that a crash left next to a prepared file, except those of running imports. */

import { readdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import { getErrorCode } from '../../errors.js'

const maxLeftoverAgeMs = msPerDay

/**
 * Removes the temporary files of `path` (`.new`, `.part`) whose process has ended or that were last
 * modified more than a day before `now`.
 */
export function removeLeftovers(path: string, now: Instant): void {
  const folder = dirname(path)
  for (const file of listFiles(folder).filter((name) => isTemporaryFile(name, basename(path)))) {
    const aside = join(folder, file)
    const found = statSync(aside, { throwIfNoEntry: false })
    if (!found?.isFile()) continue
    if (now - found.mtimeMs > maxLeftoverAgeMs || hasProcessEnded(parseProcessId(file)))
      rmSync(aside, { force: true })
  }
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (cause) {
    if (getErrorCode(cause) === 'ENOENT') return []
    throw cause
  }
}

function isTemporaryFile(file: string, target: string): boolean {
  const begins = file.startsWith(`.${target}.`) || file.startsWith(`..${target}.`)
  return begins && /\.(?:new|part)$/.test(file)
}

function parseProcessId(file: string): number | undefined {
  const digits = /\.(\d+)\.(?:new|part)$/.exec(file)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/**
 * Whether a process on this host has ended; false for an invalid process id. A process that cannot be
 * signaled because it belongs to another user is still running.
 */
export function hasProcessEnded(pid: number | undefined): boolean {
  if (pid === undefined || !Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (cause) {
    return getErrorCode(cause) === 'ESRCH'
  }
}
