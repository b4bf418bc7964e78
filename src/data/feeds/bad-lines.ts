/**
 * The lines of source files that could not be understood: counted, the first ones kept to be shown,
 * and too many of them refuse the whole import.
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
export const shownBadLines = 20

/** Never more than this many bad lines, however long the files are. */
export const mostBadLines = 1000

/** One line in a hundred may be bad: beyond that the file is something else than was thought. */
export const badLineShare = 0.01

export class BadLines {
  readonly #most: number
  readonly #share: number
  readonly #first: BadLine[] = []
  #count = 0

  /** `allowed` replaces both limits by a plain number for all files together. */
  constructor(allowed?: number) {
    this.#most = allowed ?? mostBadLines
    this.#share = allowed === undefined ? badLineShare : 1
  }

  get count(): number {
    return this.#count
  }

  /** The first {@link shownBadLines}, in order. */
  get first(): readonly BadLine[] {
    return this.#first
  }

  /** Throws {@link DataFileError} as soon as no amount of good lines could make up for it. */
  add(bad: BadLine): void {
    this.#count += 1
    if (this.#first.length < shownBadLines) this.#first.push(bad)
    if (this.#count > this.#most) throw this.#refusal(`more than ${this.#most} lines are bad`)
  }

  /**
   * To be called at the end of each file, so that a wrong file cannot hide among large good ones.
   * Throws {@link DataFileError} when more than {@link badLineShare} of its lines were bad.
   */
  judge(goodLines: number, badLines: number): void {
    const all = goodLines + badLines
    if (badLines > all * this.#share) {
      const limit = `${this.#share * 100} %`
      throw this.#refusal(`${badLines} of ${all} lines are bad, which is over ${limit}`)
    }
  }

  #refusal(summary: string): DataFileError {
    const [first] = this.#first
    const shown = this.#first.map(describeBadLine)
    const detail = `${summary}; nothing was imported. The first:\n  ${shown.join('\n  ')}`
    return new DataFileError(first?.file ?? 'source file', detail)
  }
}
