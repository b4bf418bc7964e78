/** One finding of what several sources say to the same question: each of them must permit. */
import { type Finding, higherRanking } from '../../domain/decision.js'

/**
 * Of one or more findings of a check: the deny whose reason ranks highest; else an unknown, before
 * others one that the question itself is the cause of; else the pass of all together, which holds as
 * long as each does and is as old as the oldest.
 */
export function strictestFinding(findings: readonly Finding[]): Finding {
  const denies = findings.filter(({ verdict }) => verdict === 'deny')
  if (denies.length > 0) return { ...highest(denies), opensAt: opensAtOf(denies) }
  const unknowns = findings.filter(({ verdict }) => verdict === 'unknown')
  if (unknowns.length === 0) return passOfAll(findings)
  return unknowns.find(({ isOfTheQuestion }) => isOfTheQuestion === true) ?? highest(unknowns)
}

/** The first of the highest rank. */
function highest(findings: readonly Finding[]): Finding {
  return findings.reduce((one, other) =>
    higherRanking(one.reason, other.reason) === one.reason ? one : other,
  )
}

/** The call opens when the last of them does; untold when one of them cannot tell. */
function opensAtOf(denies: readonly Finding[]): Finding['opensAt'] {
  const openings = denies.flatMap(({ opensAt }) => opensAt ?? [])
  return openings.length === denies.length ? Math.max(...openings) : undefined
}

function passOfAll(findings: readonly Finding[]): Finding {
  const { check, verdict, reason } = highest(findings)
  const stale = findings.flatMap(({ staleBecause }) => staleBecause ?? [])
  // Named fields: this is made for every call, and an object that begins with a spread is slow.
  return {
    check,
    verdict,
    reason,
    detail: detailOf(findings),
    source: [...new Set(findings.map(({ source }) => source))].join(', '),
    asOf: Math.min(...findings.map(({ asOf }) => asOf)),
    holdsUntil: Math.min(...findings.map(({ holdsUntil }) => holdsUntil)),
    staleBecause: stale.length === 0 ? undefined : [...new Set(stale)].join('; '),
    lists: listsOf(findings),
  }
}

function listsOf(findings: readonly Finding[]): Finding['lists'] {
  const told = findings.flatMap(({ lists }) => (lists ? [lists] : []))
  return told.length < 2 ? told[0] : [...new Set(told.flat())]
}

/** Once when all say the same, else each by its source. */
function detailOf(findings: readonly Finding[]): string {
  const details = new Set(findings.map(({ detail }) => detail))
  if (details.size === 1) return [...details].join('')
  return findings.map(({ source, detail }) => `${source}: ${detail}`).join('; ')
}
