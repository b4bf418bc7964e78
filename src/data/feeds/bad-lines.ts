/**
 * The lines of source files that could not be understood: counted, the first ones kept to be shown,
 * and more than are allowed refuse the whole import.
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

/** For the operator's eyes: the value may be somebody's number and belongs in no log. */
export function describeBadLine({ file, line, value, rule }: BadLine): string {
  return describeProblem({ field: `${file} line ${line}`, value, rule })
}

/** How many bad lines are kept to be shown. */
const shownBadLines = 20

export class BadLines {
  /** How many there may be, of all files together. */
  readonly allowed: number
  readonly #onBad: ((bad: BadLine) => void) | undefined
  readonly #first: BadLine[] = []
  #count = 0

  /**
   * None unless it is said: each bad line may be a number that must not be called. `onBad` is told
   * of each one that is met, also of those that refuse the import.
   */
  constructor(allowed = 0, onBad?: (bad: BadLine) => void) {
    this.allowed = allowed
    this.#onBad = onBad
  }

  get count(): number {
    return this.#count
  }

  /** The first {@link shownBadLines}, in order. */
  get first(): readonly BadLine[] {
    return this.#first
  }

  /** Throws {@link DataFileError} when there are too many already and enough of them to show. */
  add(bad: BadLine): void {
    this.#onBad?.(bad)
    if (this.#first.length < shownBadLines) this.#first.push(bad)
    this.#count += 1
    if (this.#count > Math.max(this.allowed, shownBadLines)) {
      throw this.#refusal(`more than ${this.#count - 1} lines are bad`)
    }
  }

  /** To be called at the end of each file. Throws {@link DataFileError} when too many were bad. */
  judge(): void {
    if (this.#count <= this.allowed) return
    throw this.#refusal(this.#count === 1 ? '1 line is bad' : `${this.#count} lines are bad`)
  }

  #refusal(summary: string): DataFileError {
    const [first] = this.#first
    const rule =
      `${summary}, ${this.allowed} allowed (--bad-lines allows more, but each may be a listed ` +
      'number); nothing was imported'
    const detail = [`${rule}. The first:`, ...this.#first.map(describeBadLine)].join('\n  ')
    return new DataFileError(first?.file ?? 'source file', detail)
  }
}
