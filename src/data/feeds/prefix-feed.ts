/**
 * What the two lists of central office codes have in common: the row handed on, the tally that
 * accounts for every row, and the rules of an area code, an exchange and a carrier.
 */
import type { Instant } from '../../domain/clock.js'
import type { OriginalCarrier } from '../../domain/place.js'
import type { FieldProblem } from '../../errors.js'
import type { BadLine } from './bad-lines.js'
import type { Progress } from './source-lines.js'
import type { BadRow, TableRead } from './table.js'

/** A prefix in use, as its administrator lists it. */
export interface AssignedPrefix {
  /** Six digits: area code and exchange. */
  readonly prefix: string
  /** Two-letter state, territory or province. */
  readonly region: string
  /** Rate centre or exchange area; empty when the list names none. */
  readonly locality: string
  readonly carrier: OriginalCarrier | undefined
}

/** Account of one file: `read` is `kept` plus all of `notKept` plus the bad rows. */
export interface FeedReport {
  readonly path: string
  /** SHA-256 of the file as downloaded, in hex. */
  readonly sha256: string
  /** Day the administrator wrote the file, at 00:00 UTC; `undefined` when it does not say. */
  readonly asOf: Instant | undefined
  readonly read: number
  readonly kept: number
  /** Rows that are right but add no prefix, by reason. */
  readonly notKept: Readonly<Record<string, number>>
  readonly bad: readonly BadRow[]
}

export interface FeedOptions {
  readonly path: string
  readonly onPrefix: (prefix: AssignedPrefix) => void
  /** Told of every bad row when it is met. */
  readonly rejects?: ((bad: BadLine) => void) | undefined
  readonly onProgress?: Progress | undefined
}

/** Counts the rows of one file and remembers its prefixes, of which each may come once. */
export class Tally {
  readonly #lines = new Map<string, number>()
  readonly #notKept = new Map<string, number>()

  /** The problem of a prefix that came before; otherwise remembers it. */
  repeated(prefix: string, line: number): FieldProblem | undefined {
    const first = this.#lines.get(prefix)
    if (first !== undefined) {
      return { field: 'prefix', value: prefix, rule: `appears already on line ${first}` }
    }
    this.#lines.set(prefix, line)
    return undefined
  }

  leaveOut(reason: string): void {
    this.#notKept.set(reason, (this.#notKept.get(reason) ?? 0) + 1)
  }

  report(path: string, table: TableRead, asOf: Instant | undefined): FeedReport {
    const notKept = Object.fromEntries(this.#notKept)
    const left = [...this.#notKept.values()].reduce((sum, count) => sum + count, 0)
    const kept = table.rows - left - table.bad.length
    const { sha256, rows: read, bad } = table
    return { path, sha256, asOf, read, kept, notKept, bad }
  }
}

/** Area code and exchange as six digits, or the rule one of them breaks. */
export function readPrefix(areaCode: string, exchange: string): string | FieldProblem {
  const rule = 'must be three digits, the first 2 to 9'
  if (!/^[2-9]\d\d$/.test(areaCode)) return { field: 'area code', value: areaCode, rule }
  if (!/^[2-9]\d\d$/.test(exchange)) return { field: 'exchange', value: exchange, rule }
  return areaCode + exchange
}

/** `MULT` stands for several holders, so for none we could name. */
export function readCarrier(
  ocn: string,
  company: string,
): OriginalCarrier | undefined | FieldProblem {
  const code = ocn.toUpperCase()
  if (code === 'MULT' || code === '') return undefined
  if (/^[0-9A-Z]{4}$/.test(code)) return { ocn: code, company }
  return { field: 'OCN', value: ocn, rule: 'must be four letters or digits' }
}

export function isProblem(value: object | string | undefined): value is FieldProblem {
  return typeof value === 'object' && 'rule' in value
}
