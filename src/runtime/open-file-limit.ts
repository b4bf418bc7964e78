/** How many files this process may have open. */
import { readFileSync } from 'node:fs'

/** What raises the limit, for people. */
export const raiseFileLimit =
  'raise the limit (ulimit -n, LimitNOFILE= of systemd, --ulimit nofile= of Docker)'

/** Infinity where the system does not say it. */
export function readOpenFileLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
