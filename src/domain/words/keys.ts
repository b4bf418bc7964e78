/** Words about limits of a key, pauses and approvals. */
import { type CallerIdProblem, callerIdProblems } from './caller-id.js'

const within = { day: 'in 24 hours', hour: 'in an hour', now: 'at a time' } as const

/** What an operator gave as the reason of a pause follows it as a quotation. */
export const keyWords = {
  paused: 'since {at} by {by}',
  'agents-paused': 'all agents of the account are, since {at} by {by}',
  'country-paused': 'the account does not call {country}, since {at} by {by}',
  'pauses-unread': 'whether calls are paused could not be read',
  'within-key-limits': 'within version {version} of the limits of the key',
  'key-kinds': 'it is limited to {kinds}, not {kind}',
  'key-projects': 'it is limited to the projects {projects}; name one of them',
  'key-campaigns': 'it is limited to the campaigns {campaigns}',
  'key-needs-caller-id': 'it must name the caller ID',
  'key-caller-id-problem': ({ problem }: { readonly problem: CallerIdProblem }) =>
    `the caller ID ${callerIdProblems[problem]}`,
  'key-caller-id-other': 'the caller ID is not one of its own',
  'key-region-unknown': 'the region of the number is not known',
  'key-region-other': '{region} is not one of {regions}',
  'key-seconds-between': '{seconds} s must pass between two calls',
  'key-calls-of-number': '{calls} to the same number in 24 hours',
  'key-calls': (limit: { readonly calls: number; readonly within: keyof typeof within }) =>
    `${limit.calls} ${within[limit.within]}`,
  'token-used-up': 'all that the access token was given',
  /** What was sent as its id follows as a quotation. */
  'approval-unknown': 'the approval is not one of the key',
  'approval-of-other-call': 'approval {approval} is for another call',
  'approval-over': 'approval {approval} is {state}',
  'approval-waiting':
    'approval {approval} is waiting until {until}; ask again with its id once it is given',
  'approvals-full': '{waiting} calls of the key are waiting for approval already',
} as const
