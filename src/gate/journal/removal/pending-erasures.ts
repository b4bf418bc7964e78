/** Carries out erasures on the segments of a journal, one segment at a time. */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DecisionIndex } from '../decision-index.js'
import { listSegments } from '../journal-reader.js'
import { addChangedRecords, type ErasureNotice, readChangedRecords } from './changed-records.js'
import { eraseFromSegment, NumberEraser, type NumberErasure } from './erase-records.js'

export interface FinishedErasure {
  readonly id: string
  /** Decisions without the number now. */
  readonly erased: number
  /** Decisions that still have it, since they allowed a call. */
  readonly kept: number
  /** `undefined` if no record had to be changed. */
  readonly notice: ErasureNotice | undefined
}

/** As `callgate erase` stored it in the database, where the number is until it is done. */
export interface RequestedErasure extends NumberErasure {
  readonly id: string
}

interface PendingErasure extends RequestedErasure {
  readonly beforeSeq: number
}

interface StartedErasure {
  readonly id: string
  readonly eraser: NumberEraser
  /** First sequence numbers of the segments to do. */
  readonly segments: number[]
}

export class PendingErasures {
  readonly #folder: string
  readonly #index: DecisionIndex | undefined
  readonly #pending: PendingErasure[] = []
  /** The first of the pending ones, once it has begun. */
  #started: StartedErasure | undefined

  /** The index is that of the journal, if it has one. */
  constructor(folder: string, index: DecisionIndex | undefined) {
    this.#folder = folder
    this.#index = index
  }

  get count(): number {
    return this.#pending.length
  }

  /** Adds one, for the segments before a record. Does nothing if it is pending already. */
  add(erasure: PendingErasure): void {
    if (!this.#pending.some(({ id }) => id === erasure.id)) this.#pending.push(erasure)
  }

  /**
   * Does the next segment. Returns an erasure that is done. When it throws, the same segment is tried again
   * by the next call.
   */
  continue(): FinishedErasure | undefined {
    const [pending] = this.#pending
    if (pending === undefined) return undefined
    this.#started ??= this.#start(pending)
    const [firstSeq] = this.#started.segments
    if (firstSeq !== undefined) {
      this.#eraseFrom(firstSeq, this.#started)
      this.#started.segments.shift()
      return undefined
    }
    return this.#finish()
  }

  #start({ id, beforeSeq, ...erasure }: PendingErasure): StartedErasure {
    // What a crash left of a segment that was compressed or replaced may have the number.
    for (const name of readdirSync(this.#folder)) {
      if (/\.(?:erased|tmp)$/.test(name)) rmSync(join(this.#folder, name), { force: true })
    }
    const segments = listSegments(this.#folder).map(({ firstSeq }) => firstSeq)
    const eraser = new NumberEraser(erasure)
    return { id, eraser, segments: segments.filter((firstSeq) => firstSeq < beforeSeq) }
  }

  /** Retention may have removed the segment since, and it may have been compressed. */
  #eraseFrom(firstSeq: number, { id, eraser }: StartedErasure): void {
    const found = listSegments(this.#folder).find((segment) => segment.firstSeq === firstSeq)
    if (found === undefined) return
    eraseFromSegment(found.path, firstSeq, eraser, (records) => {
      addChangedRecords(
        this.#folder,
        id,
        records.map(({ seq }) => seq),
      )
      this.#index?.erase(records)
    })
  }

  #finish(): FinishedErasure | undefined {
    const started = this.#started
    if (started) {
      const { eraser } = started
      this.#index?.eraseCarriedOver(eraser.number, (body) => eraser.eraseDecision(body))
      this.#index?.flush()
    }
    this.#started = undefined
    this.#pending.shift()
    if (started === undefined) return undefined
    const { id, eraser } = started
    return { id, ...eraser.counts, notice: readChangedRecords(this.#folder, id) }
  }
}
