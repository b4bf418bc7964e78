/** What a bundle is about, and what was packed: for the pages that people read. */
import { formatInstant } from '../../domain/time/dates.js'
import type { DecisionDocument } from '../../gate/record/decision-document.js'
import type { StoredRow } from '../../service/records/recorded-state.js'
import type { Question } from './question.js'

export interface BundleFacts {
  readonly question: Question
  readonly program: string
  readonly origin: string
  /** Number of records that are signed. */
  readonly size: number
  /** `undefined` if only entries of the records themselves are packed. */
  readonly span: readonly [number, number] | undefined
  readonly counts: Readonly<Record<string, number>>
  readonly reported: readonly DecisionDocument[]
  readonly state: PackedState
}

/** Of a file of `state/`. */
export function describeRows({ rows, stored }: Pick<StateSummary, 'rows' | 'stored'>): string {
  return `${rows} ${rows === 1 ? 'row' : 'rows'}, ${stored} of them stored by a signed record`
}

export function describeQuestion({ accountId, number, from, to, ids }: Question): string {
  const parts = [
    number === undefined ? undefined : `number ${number}`,
    accountId === undefined ? undefined : `account ${accountId}`,
    from === undefined ? undefined : `from ${formatInstant(from)}`,
    to === undefined ? undefined : `before ${formatInstant(to)}`,
    ids === undefined ? undefined : `decisions ${ids.join(', ')}`,
  ]
  return parts.filter((part) => part !== undefined).join(', ')
}

export interface StateLine {
  readonly storedBy: number | null
  readonly records: readonly number[]
  readonly row: StoredRow
}

export interface StateSummary {
  rows: number
  /** Of these, those with a signed record that says when and by whom they were stored. */
  stored: number
  readonly shown: readonly StateLine[]
}

export interface PackedState {
  readonly hasDatabase: boolean
  /** By name of the file. */
  readonly files: Record<string, StateSummary>
}
