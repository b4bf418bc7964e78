/**
 * Counts the lines of source files that cannot be used and keeps the first ones to show. More than
 * are allowed refuse the whole import.
 */
import { DataFileError, describeProblem } from '../../errors.js'

export interface BadLine {
  /** Name of the source file, as {@link SourceFile.name} gives it. */
  readonly file: string
  /** From 1. */
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
  /** Of all files together. */
  readonly maxAllowed: number
  readonly #onBad: ((bad: BadLine) => void) | undefined
  readonly #first: BadLine[] = []
  #count = 0

  /**
   * None by default, since each bad line may be a number that must not be called. `onBad` is called
   * for each one, including those that refuse the import.
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

  /** Throws {@link DataFileError} once there are too many, and enough of them to show. */
  add(bad: BadLine): void {
    this.#onBad?.(bad)
    if (this.#first.length < maxShownBadLines) this.#first.push(bad)
    this.#count += 1
    if (this.#count > Math.max(this.maxAllowed, maxShownBadLines)) {
      throw this.#refusal(`more than ${this.#count - 1} lines are bad`)
    }
  }

  /** Call it at the end of each file. Throws {@link DataFileError} when too many lines were bad. */
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
