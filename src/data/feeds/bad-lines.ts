/**
 * Counts the unusable lines of source files and keeps the first ones for messages. Too many of them
 * make the whole import fail.
 */
import { DataFileError, describeProblem } from '../../errors.js'

export interface BadLine {
  /** Name of the source file, see {@link SourceFile.name}. */
  readonly file: string
  /** Line number, starting at 1. */
  readonly line: number
  readonly value: string
  readonly rule: string
}

/** For the operator only: the value may be a telephone number, which must not be logged. */
export function describeBadLine({ file, line, value, rule }: BadLine): string {
  return describeProblem({ field: `${file} line ${line}`, value, rule })
}

const maxShownBadLines = 20

export class BadLines {
  /** Maximum for all files together. */
  readonly maxAllowed: number
  readonly #onBad: ((bad: BadLine) => void) | undefined
  readonly #first: BadLine[] = []
  #count = 0

  /**
   * Allows none by default, since each bad line may be a number that must not be called. `onBad` is
   * called for every bad line, including those that make the import fail.
   */
  constructor(allowed = 0, onBad?: (bad: BadLine) => void) {
    this.maxAllowed = allowed
    this.#onBad = onBad
  }

  get count(): number {
    return this.#count
  }

  /** The first {@link maxShownBadLines}, in order. */
  get first(): readonly BadLine[] {
    return this.#first
  }

  /** Throws {@link DataFileError} once there are too many and enough of them to show. */
  add(bad: BadLine): void {
    this.#onBad?.(bad)
    if (this.#first.length < maxShownBadLines) this.#first.push(bad)
    this.#count += 1
    if (this.#count > Math.max(this.maxAllowed, maxShownBadLines)) {
      throw this.#refusal(`more than ${this.#count - 1} lines are bad`)
    }
  }

  /** Throws {@link DataFileError} if too many lines were bad. Must be called at the end of each file. */
  requireWithinLimit(): void {
    if (this.#count <= this.maxAllowed) return
    throw this.#refusal(this.#count === 1 ? '1 line is bad' : `${this.#count} lines are bad`)
  }

  #refusal(summary: string): DataFileError {
    const [first] = this.#first
    const rule =
      `${summary}, ${this.maxAllowed} allowed (--bad-lines allows more, but each may be a listed ` +
      'number); nothing was imported'
    const detail = [`${rule}. The first:`, ...this.#first.map(describeBadLine)].join('\n  ')
    return new DataFileError(first?.file ?? 'source file', detail)
  }
}
