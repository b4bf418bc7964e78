/** One finding of several sources: each of them must permit the call. */
import {
  type Answer,
  type AnswerFailure,
  combineFailures,
  flattenAnswers,
} from '../domain/compliance.js'
import { type Finding, pickHigherRankedReason } from '../domain/decision.js'
import type { Said } from '../domain/words/words.js'

/** What our own facts say; `failure` if they are not known. */
export interface OwnFinding {
  readonly finding: Finding
  readonly failure?: AnswerFailure | undefined
}

/**
 * The finding of both; `own` is absent if it has nothing to say, `answer` if no provider was asked. Two failures are one that names
 * both. Beside a provider that was not asked, our own facts cannot permit: they forbade the call when the questions were chosen.
 */
export function combineSources<Value>(
  own: OwnFinding | undefined,
  { answer, isBesideProvider }: ProviderAnswer<Value>,
  judge: (answer: Answer<Value>) => Finding,
): Finding {
  if (answer === undefined) {
    const finding = requireFinding(own)
    return isBesideProvider && finding.verdict === 'pass' ? judge(notAsked) : finding
  }
  if (!answer.ok && own?.failure) return judge(combineFailures(answer, own.failure))
  const answers = flattenAnswers(answer).map(judge)
  if (own === undefined) return combineParts(answers)
  return combineParts(answer.ok ? [...answers, own.finding] : [own.finding, ...answers])
}

interface ProviderAnswer<Value> {
  readonly answer: Answer<Value> | undefined
  readonly isBesideProvider: boolean
}

const notAsked: AnswerFailure = {
  ok: false,
  reason: 'deadline',
  says: [{ code: 'deadline' }],
  source: 'gate',
}

/** Of our own facts alone. Throws if they were not asked either. */
export function requireFinding(own: OwnFinding | undefined): Finding {
  if (own === undefined) throw new TypeError('no source was asked')
  return own.finding
}

/** Each part must permit. */
function combineParts(parts: readonly Finding[]): Finding {
  const [only] = parts
  return only && parts.length === 1 ? only : { ...pickStrictestFinding(parts), parts }
}

/**
 * The deny whose reason ranks highest; otherwise an unknown, preferably one that the request itself
 * caused; otherwise a pass of all sources together.
 */
function pickStrictestFinding(findings: readonly Finding[]): Finding {
  const denials = findings.filter(({ verdict }) => verdict === 'deny')
  if (denials.length > 0) {
    // The call opens when the last denial ends; not known if one of them does not say.
    const openings = denials.flatMap(({ opensAt }) => opensAt ?? [])
    const opensAt = openings.length === denials.length ? Math.max(...openings) : undefined
    return { ...pickHighestRanking(denials), opensAt }
  }
  const unknowns = findings.filter(({ verdict }) => verdict === 'unknown')
  if (unknowns.length === 0) return combinePasses(findings)
  return (
    unknowns.find(({ isRequestError }) => isRequestError === true) ?? pickHighestRanking(unknowns)
  )
}

/** The first finding of the highest rank. */
function pickHighestRanking(findings: readonly Finding[]): Finding {
  return findings.reduce((one, other) =>
    pickHigherRankedReason(one.reason, other.reason) === one.reason ? one : other,
  )
}

/** Holds as long as every pass does, and is as old as the oldest. */
function combinePasses(findings: readonly Finding[]): Finding {
  const { check, verdict, reason } = pickHighestRanking(findings)
  const notRenewed = dropRepeated(findings.flatMap((finding) => finding.notRenewed ?? []))
  const lists = findings.flatMap((finding) => (finding.lists ? [finding.lists] : []))
  return {
    check,
    verdict,
    reason,
    says: saySame(findings) ?? findings.flatMap(sayBySource),
    source: [...new Set(findings.map(({ source }) => source))].join(', '),
    asOf: Math.min(...findings.map(({ asOf }) => asOf)),
    holdsUntil: Math.min(...findings.map(({ holdsUntil }) => holdsUntil)),
    notRenewed: notRenewed.length === 0 ? undefined : notRenewed,
    lists: lists.length < 2 ? lists[0] : [...new Set(lists.flat())],
  }
}

/** What all of them say alike. */
function saySame([first, ...others]: readonly Finding[]): readonly Said[] | undefined {
  const text = JSON.stringify(first?.says)
  return others.every(({ says }) => JSON.stringify(says) === text) ? first?.says : undefined
}

function sayBySource({ says, source }: Finding): readonly Said[] {
  return says.map((one, index) => (index === 0 ? { ...one, source } : one))
}

function dropRepeated(says: readonly Said[]): readonly Said[] {
  return [...new Map(says.map((one) => [JSON.stringify(one), one])).values()]
}
