/** Findings of the settings alone; a start logs them too. */
import type { Settings } from '../../config/settings.js'
import type { Clock } from '../../domain/time/clock.js'
import { formatInstant, msPerDay } from '../../domain/time/dates.js'
import { buildPolicy, listPolicyWarnings } from '../../gate/build-policy.js'
import { listSourceWarnings } from '../serve/source-readiness.js'
import type { HealthFinding } from './finding.js'

/** As CallgatePolicyExceptionEnds of config/prometheus/alerts.yml. */
const exceptionEndMs = 3 * msPerDay

export function findPolicyFindings(settings: Settings, clock: Clock): readonly HealthFinding[] {
  const now = clock.now()
  const ending = Object.entries(buildPolicy(settings)).flatMap(
    ([check, { allowUnknown }]): HealthFinding[] => {
      if (!allowUnknown || allowUnknown.until <= now) return []
      if (allowUnknown.until - now > exceptionEndMs) return []
      const until = formatInstant(allowUnknown.until)
      const problem = `the policy exception of ${check} ends at ${until}; after that, unknown is blocked`
      return [
        {
          level: 'soon',
          subject: 'policy',
          problem,
          fix: 'fix the cause, or extend the exception',
        },
      ]
    },
  )
  return [
    ...ending,
    ...listPolicyWarnings(settings, now).map(
      (problem): HealthFinding => ({
        level: 'note',
        subject: 'policy',
        problem,
        fix: 'docs/policy.md',
      }),
    ),
    ...listSourceWarnings(settings).map(
      (problem): HealthFinding => ({
        level: 'soon',
        subject: 'source',
        problem,
        fix: 'set an https address',
      }),
    ),
  ]
}
