/** Which question a path asks, as faults and counts name it. */
import { grantToken } from '../api/auth.js'
import { isTimeLegalToCall } from '../api/calling-hours.js'
import { internalDncGet } from '../api/internal-dnc.js'
import { litigatorPost } from '../api/litigator.js'
import { scrubPost } from '../api/scrub.js'
import { type QuestionName, questionNames } from '../domain/compliance.js'

/** What a fault can be set for; `all` is every request, those for other paths included. */
export const faultTargets = [...questionNames, 'token', 'all'] as const
export type FaultTarget = (typeof faultTargets)[number]

/** What a request is counted as; `other` are relationship records and paths that do not exist. */
export type RequestTarget = QuestionName | 'token' | 'other'

const pathsOf: Readonly<Record<Exclude<RequestTarget, 'other'>, readonly string[]>> = {
  scrub: scrubPost.paths,
  'internal-dnc': internalDncGet.paths,
  litigator: litigatorPost.paths,
  'legal-time': isTimeLegalToCall({ wrappedRows: false }).paths,
  token: grantToken.paths,
}

const targetByPath: ReadonlyMap<string, RequestTarget> = new Map(
  Object.entries(pathsOf).flatMap(([target, paths]) =>
    paths.map((path) => [path.toLowerCase(), target as RequestTarget] as const),
  ),
)

/** The path is one in lower case and without a slash at its end. */
export function targetOf(path: string): RequestTarget {
  return targetByPath.get(path) ?? 'other'
}

export function isQuestion(target: string): target is QuestionName {
  return questionNames.some((name) => name === target)
}
