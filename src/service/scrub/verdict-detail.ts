/** What a verdict says in words: a list that cannot be used, and the rules and records that decided. */
import type { ResultLetter, ScrubVerdict } from '../../domain/compliance.js'
import type { NumberFacts } from '../../domain/place.js'
import { formatDay } from '../../domain/time/dates.js'
import type { ListEvidence, ListFinding, StateFinding } from '../lists/list-facts.js'
import { formatOptOutEffect, type RelationshipFinding, recordNames } from './result-letter.js'

export type InServiceFacts = NumberFacts & { readonly status: 'ok' }

/** The findings of lists, records and law for one number. */
export interface Findings {
  readonly records: RelationshipFinding
  readonly national: ListFinding
  readonly state: StateFinding
  readonly litigator: ListFinding
  /** The ported-number lists that determine the line class, in addition to the numbering plan. */
  readonly ported: ListEvidence
  /** The region and citation of a ban on sales calls to mobile numbers. */
  readonly wirelessBan: string | undefined
}

const bannedLetters: ReadonlySet<ResultLetter> = new Set(['L', 'F', 'V'])

/**
 * An unusable do-not-call list that the letter depends on comes first. The litigator list is left out,
 * since the gate checks it separately (spec, "Litigator check"). A `letter` adds the rules that it rests on.
 */
export function buildDetail(
  { national, state, records, wirelessBan }: Findings,
  { lineClass, originalClass }: InServiceFacts,
  letter: ResultLetter | undefined,
): Pick<ScrubVerdict, 'detail' | 'isListStale'> {
  for (const list of [national, state]) {
    if (list.status !== 'not-covered') continue
    return { detail: list.detail, isListStale: list.isStale === true }
  }
  const details: string[] = []
  const { ebrType, optOut } = records
  if (letter !== undefined && bannedLetters.has(letter)) details.push(`ban: ${wirelessBan}`)
  if (optOut && ebrType !== '') details.push(formatOptOutEffect(ebrType, optOut))
  const end = letter === undefined ? undefined : formatRelationshipEnd(records)
  if (end !== undefined) details.push(end)
  if (lineClass === 'unknown') {
    const isInDoubt = originalClass !== 'unknown'
    const why = isInDoubt ? ': a list of ported numbers is too old or cannot be read' : ''
    details.push(`line class unknown, treated as wireless${why}`)
  }
  return { detail: details.length === 0 ? undefined : details.join('; ') }
}

/** Until when a sale or an inquiry exempts and by which rule; `undefined` if no such rule decides. */
function formatRelationshipEnd({
  ebrType,
  relationship,
  expiresOn,
  endsBy,
  optOut,
}: RelationshipFinding): string | undefined {
  if (ebrType === '' || endsBy === undefined || optOut?.effect === 'ended') return undefined
  const name = `the ${recordNames[ebrType]} record on file`
  if (expiresOn === undefined) return `${name} never exempts: ${endsBy}`
  const verb = relationship === 'current' ? 'exempts until' : 'no longer exempts since'
  return `${name} ${verb} ${formatDay(expiresOn)}: ${endsBy}`
}
