/** What no call can have, and why. */
import { checkNames, reasonCodes, reasons } from '../../src/domain/checks.js'

/** Reasons that no act of a script causes. */
export const cannotHappen: Readonly<Record<string, string>> = {
  'not-recorded': 'the disk or the database must fail',
  'clock-ahead': 'needs the clock of another machine, a PostgreSQL server',
  'not-current': 'needs servers that share a database',
}

/** Why a check cannot have a verdict; `undefined` if it can. */
export function findCellObstacle(
  check: string,
  verdict: string,
  mode: string,
  kind: string,
): string | undefined {
  const isStored = ['attempts', 'caller-id', 'abandonment', 'mandate'].includes(check)
  if (verdict === 'unknown' && isStored) return 'the database must fail'
  if (check === 'abandonment' && kind === 'manual')
    return 'calls that a person dials are not counted'
  if (check === 'reassigned' && verdict === 'deny' && mode !== 'own') {
    return 'a provider does not say since when there is a consent, so nobody can be asked'
  }
  return undefined
}

/** The reasons for which each check denies. */
export const reasonsOf: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  [...checkNames, 'mandate' as const].map((check) => [
    check,
    reasonCodes.filter((code) => reasons[code].by.includes(check)),
  ]),
)

const checksOf = (reason: string) =>
  Object.keys(reasonsOf).filter((check) => reasonsOf[check]?.includes(reason))

interface PairObstacle {
  readonly why: string
  readonly one: (reason: string) => boolean
  readonly other: (reason: string) => boolean
}

const isIn =
  (...reasons: readonly string[]) =>
  (reason: string) =>
    reasons.includes(reason)
const isOf =
  (...checks: readonly string[]) =>
  (reason: string) =>
    checksOf(reason).every((check) => checks.includes(check))

const pairObstacles: readonly PairObstacle[] = [
  // The check `attempts` may give two reasons: an unknown subject and too many calls.
  ...Object.keys(reasonsOf)
    .filter((check) => check !== 'attempts')
    .map((check) => ({
      why: 'a check denies for one reason',
      one: isOf(check),
      other: isOf(check),
    })),
  {
    why: 'such a key is refused before anything is checked',
    one: isIn('key-kind', 'key-project', 'key-caller-id'),
    other: () => true,
  },
  {
    why: 'nothing but an opening lets attempts be read of a blocked call, and these have none',
    one: isIn('too-many-attempts'),
    other: isIn('ai-paused', 'key-paused', 'key-region', 'foreign-number'),
  },
  {
    why: 'one is said only of our own facts, the other only by a provider',
    one: isIn(
      ...['list-stale', 'list-unreadable', 'disconnected', 'reassigned', 'unknown-project'],
    ),
    other: isIn('invalid-number', 'not-permitted'),
  },
  {
    why: 'of an unknown project, neither lists nor consents are looked up',
    one: isIn('unknown-project'),
    other: isOf('permission', 'internal-dnc', 'calling-hours'),
  },
  {
    why: 'where one of the two checks says so, the other one says that or has a weaker reason',
    one: isIn('consent-revoked'),
    other: isOf('permission'),
  },
  {
    why: 'a call that lists, the line or the person forbid rests on no record',
    one: isOf('reassigned'),
    other: (reason) =>
      isOf('permission', 'internal-dnc', 'litigator', 'calling-hours')(reason) &&
      !isIn(
        ...['consent-unproven', 'no-consent', 'outside-calling-hours', 'restricted-day'],
        'internal-dnc',
      )(reason),
  },
  {
    why: 'no list is asked about a number that is toll-free or not in service',
    one: isIn('toll-free', 'unknown-prefix'),
    other: isIn('list-stale', 'list-unreadable'),
  },
]

/** Why two reasons cannot speak against one call; `undefined` if they can. */
export function findPairObstacle(a: string, b: string): string | undefined {
  return pairObstacles.find(({ one, other }) => (one(a) && other(b)) || (one(b) && other(a)))?.why
}
