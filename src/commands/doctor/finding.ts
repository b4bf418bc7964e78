/** What `callgate doctor` reports. */

export const findingLevels = ['now', 'soon', 'note'] as const

/**
 * `now`: calls are blocked, or cannot be decided or recorded. `soon`: this will happen, or data is not
 * protected. `note`: a setting that somebody chose and should remember.
 */
type FindingLevel = (typeof findingLevels)[number]

/** One problem, with what to do about it. */
export interface HealthFinding {
  readonly level: FindingLevel
  /** What it is about: `settings`, `calls`, `keys`, the name of a check of `/readyz`. */
  readonly subject: string
  /** The account whose calls it blocks; absent if it is about the whole server. */
  readonly account?: string
  readonly problem: string
  readonly fix: string
}

export const diskFix = 'check the disk or the mount: dmesg'
