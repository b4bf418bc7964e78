/** Whether the rows of `state/` follow from the signed records that they name. Runs in the verifier, with Node alone. */
import { type ByteSource, digest, linesOf } from '../../byte-source.js'

/** An entry of the audit table: what was changed. */
interface ProvenChange {
  readonly accountId?: string | undefined
  readonly subject?: { readonly kind: string; readonly id: string } | undefined
  /** May have the member `wordingSha256`. */
  readonly after?: unknown
}

interface StateLine {
  readonly storedBy: number | null
  readonly records: readonly number[]
  readonly row: {
    readonly accountId?: string
    readonly number?: string
    readonly wording?: string
  }
}

export class StateCheck {
  rows = 0
  stored = 0
  /** By number of the record. */
  readonly #changes = new Map<number, ProvenChange & { readonly wordingSha256: string }>()

  addChange(seq: number, { accountId, subject, after }: ProvenChange): void {
    const { wordingSha256 = '' } = Object(after)
    this.#changes.set(seq, { accountId, subject, wordingSha256 })
  }

  /** Throws an error that names the first line that does not. */
  check(file: ByteSource, proven: ReadonlySet<number>): void {
    let number = 0
    for (const line of linesOf(file)) {
      number += 1
      const problem = this.#findProblem(JSON.parse(line.toString()), proven)
      if (problem !== undefined) throw new Error(`line ${number} ${problem}`)
    }
  }

  /** Why a row does not follow from the records that it names. */
  #findProblem({ storedBy, records, row }: StateLine, proven: ReadonlySet<number>) {
    this.rows += 1
    if (storedBy !== null) this.stored += 1
    if (storedBy !== null && !records.includes(storedBy)) return `does not name record ${storedBy}`
    for (const seq of records) {
      if (!proven.has(seq)) return `names record ${seq}, which is not proven`
      const { accountId, subject, wordingSha256 } = this.#changes.get(seq) ?? {}
      const isOfOther =
        row.accountId !== undefined && accountId !== undefined && row.accountId !== accountId
      if (isOfOther) return `names record ${seq}, which is of another account`
      if (subject?.kind === 'number' && subject.id !== row.number) {
        return `names record ${seq}, which is about another number`
      }
      const signed = seq === storedBy && row.wording !== undefined && wordingSha256
      if (signed && signed !== digest(Buffer.from(row.wording ?? ''))) {
        return `has another wording than record ${seq} says`
      }
    }
    return undefined
  }
}
