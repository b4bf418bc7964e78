import type { EvidenceResult } from '../result.js'

/** `false`: it is not as it was signed. `unchecked`: nobody can tell. */
export type FindingLevel = 'false' | 'unchecked'

export interface VerificationFinding {
  readonly level: FindingLevel
  readonly message: string
  /** The first and last sequence number of the records it is about. */
  readonly seqs?: readonly [first: number, last: number] | undefined
}

const maxFindings = 1_000

export class Findings {
  readonly #list: VerificationFinding[] = []
  #count = 0

  get list(): readonly VerificationFinding[] {
    return this.#list
  }

  get hasMore(): boolean {
    return this.#count > this.#list.length
  }

  get result(): EvidenceResult {
    if (this.#list.some(({ level }) => level === 'false')) return 'FALSE'
    return this.#count > 0 ? 'NOT PROVEN' : 'PROVEN'
  }

  /** Beyond a thousand they are only counted, but for the first one that says something is false. */
  add(level: FindingLevel, message: string, seqs?: readonly [number, number]): void {
    this.#count += 1
    const isFirstFalse = level === 'false' && !this.#list.some((found) => found.level === 'false')
    if (this.#list.length < maxFindings || isFirstFalse) this.#list.push({ level, message, seqs })
  }
}
