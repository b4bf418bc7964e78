/** Checks that may let calls pass whose answer is not known, where each such exception needs two people (`twoPeople.for`). */
import type { Settings } from '../../config/settings.js'
import { mainAccountId } from '../../domain/caller.js'
import { formatInstant } from '../../domain/time/dates.js'
import { type ChangeToMake, isChangeMade } from '../../service/changes/change-requests.js'
import type { Db } from '../../storage/tables.js'

export interface PolicyChange extends ChangeToMake {
  readonly check: keyof Settings['policy']
}

type Exceptions = Pick<Settings, 'policy' | 'twoPeople'>

/** One for each exception of the settings; none if no second person is needed. */
function listPolicyChanges({ policy, twoPeople }: Exceptions): readonly PolicyChange[] {
  if (!twoPeople.for.includes('allow-unknown')) return []
  const checks = Object.keys(policy) as PolicyChange['check'][]
  return checks.flatMap((check): PolicyChange[] => {
    const { onUnknown, reason, until } = policy[check]
    if (onUnknown === 'block' || until === undefined) return []
    const end = formatInstant(until)
    return [
      {
        check,
        kind: 'allow-unknown',
        what: `letting calls pass until ${end} although ${check} is not known`,
        request: { check, reason, until: end },
        reason,
      },
    ]
  })
}

/** The exceptions that are not approved with exactly this reason and end. */
export async function findUnapproved(
  settings: Exceptions,
  db: Db,
): Promise<readonly PolicyChange[]> {
  const unapproved: PolicyChange[] = []
  for (const change of listPolicyChanges(settings)) {
    if (!(await isChangeMade(db, mainAccountId, change))) unapproved.push(change)
  }
  return unapproved
}

export function describeUnapproved({ check }: PolicyChange): string {
  return `policy.${check}.onUnknown: allow is not in force, since no second person has approved it with this reason and end`
}

export const howToApprove =
  'run callgate changes ask-policy, let another person approve it, and reload the server'

/** In the settings that are returned, what is unknown blocks there. */
export function blockUnknown(settings: Settings, changes: readonly PolicyChange[]): Settings {
  const policy = { ...settings.policy }
  for (const { check } of changes) {
    Object.assign(policy, { [check]: { ...policy[check], onUnknown: 'block' } })
  }
  return { ...settings, policy }
}
