/** What a bundle is about, and what was packed: for the pages that people read. */
import { formatInstant } from '../../domain/time/dates.js'
import type { DecisionDocument } from '../../gate/decision-document.js'
import type { StoredRow } from '../../service/records/recorded-state.js'

export interface Question {
  readonly accountId?: string | undefined
  /** Ten digits. */
  readonly number?: string | undefined
  /** Of the record: from `from` on, before `to`; milliseconds. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** Of decisions. */
  readonly ids?: readonly string[] | undefined
  readonly without?: LeftOut | undefined
}

/**
 * What is not for everybody who may have the records of an account: the settings of the server; or, besides these, all that is of the
 * server and of other accounts: when their records were written, and who has imported lists that all use.
 */
export type LeftOut = 'settings' | 'others'

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
