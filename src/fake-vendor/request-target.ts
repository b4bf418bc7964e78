/** Maps paths to the questions that faults and counts are about. */
import { tokenEndpoint } from '../api/accounts/authentication.js'
import { createTimeLegalEndpoint } from '../api/calling-hours/time-legal.js'
import { litigatorPost } from '../api/lookups/litigator.js'
import { internalDncGet } from '../api/records/internal-dnc.js'
import { scrubPost } from '../api/scrub/scrub.js'
import { type QuestionName, questionNames } from '../domain/compliance.js'

/** The targets of faults; `all` is every request, including those for other paths. */
export const faultTargets = [...questionNames, 'token', 'all'] as const
export type FaultTarget = (typeof faultTargets)[number]

/** The target under which a request is counted; `other`: relationship records and unknown paths. */
export type RequestTarget = QuestionName | 'token' | 'other'

const targetPaths: Readonly<Record<Exclude<RequestTarget, 'other'>, readonly string[]>> = {
  scrub: scrubPost.paths,
  'internal-dnc': internalDncGet.paths,
  litigator: litigatorPost.paths,
  'legal-time': createTimeLegalEndpoint({ wrappedRows: false }).paths,
  token: tokenEndpoint.paths,
}

const targetByPath: ReadonlyMap<string, RequestTarget> = new Map(
  Object.entries(targetPaths).flatMap(([target, paths]) =>
    paths.map((path) => [path.toLowerCase(), target as RequestTarget] as const),
  ),
)

/** `path` is in lower case and without a slash at its end. */
export function findTarget(path: string): RequestTarget {
  return targetByPath.get(path) ?? 'other'
}

export function isQuestionName(target: string): target is QuestionName {
  return questionNames.some((name) => name === target)
}
