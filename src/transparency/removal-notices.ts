/**
 * What the notices of a journal say about other records. A notice is written and signed before the records that it is about
 * are changed or removed, so whoever finds a record that differs from its entry finds the notice too, or a forgery.
 */

/** The body of an erasure notice: its id, and the new commitment of each record in base64. The commitment is unchanged if only the part about the person was removed. */
export interface ErasureNotice {
  readonly erasure: string
  readonly changed: readonly (readonly [seq: number, commitment: string])[]
}

/** The body of a notice about the end of retention. */
export interface RemovalNotice {
  /** Number of the first record that stays. */
  readonly firstSeq: number
  /** Decisions before this instant are removed, in ms since the epoch. */
  readonly removedBefore: number
  /** `journal.keepYears` now, and the longest one while the removed records were made. */
  readonly keepYears: number
  readonly longestKeepYears: number
}

/** That, the one that follows once the records are changed, or a notice about something else. */
export interface AnyErasureNotice extends Partial<ErasureNotice> {
  readonly finished?: true | undefined
}

interface NoticedChange {
  /** Number of the notice. */
  readonly notice: number
  readonly commitment: string
}

/**
 * Which erased records are as a notice says. A notice counts for a record before the request to erase, while that is not
 * finished. Is given the requests and notices in their order.
 */
export class ErasureNotices {
  /** Number of the newest request of each erasure that is not finished. */
  readonly #requests = new Map<string, number>()
  readonly #changes = new Map<number, NoticedChange[]>()

  /** Whether an erasure may be changing records and the index. */
  get isErasing(): boolean {
    return this.#requests.size > 0
  }

  /** Whoever starts a journal requests again what is not finished. */
  addStart(): void {
    this.#requests.clear()
  }

  addRequest(seq: number, { id }: { readonly id: string }): void {
    this.#requests.set(id, seq)
  }

  addNotice(seq: number, notice: AnyErasureNotice): void {
    const { erasure = '', changed = [], finished } = notice
    const requested = this.#requests.get(erasure) ?? 0
    for (const [of, commitment] of changed) {
      if (of >= requested) continue
      const known = this.#changes.get(of)
      if (known) known.push({ notice: seq, commitment })
      else this.#changes.set(of, [{ notice: seq, commitment }])
    }
    if (finished) this.#requests.delete(erasure)
  }

  /** Number of a notice that says that a record has this commitment. After a crash, that need not be the newest one. */
  find(seq: number, commitment: Buffer): number | undefined {
    const text = commitment.toString('base64')
    return this.#changes.get(seq)?.findLast((change) => change.commitment === text)?.notice
  }
}
