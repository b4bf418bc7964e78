/** Values that many rows share, by the number that stands for them in a 16-bit column. */

/** Stands in a column for "none". */
export const noValue = 0xffff

export class Dictionary<Value> {
  readonly #numbers = new Map<string, number>()
  readonly values: Value[] = []

  /** Equal keys get the same number, counting from 0. Throws `RangeError` when the column is full. */
  indexFor(key: string, value: Value): number {
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const next = this.values.length
    if (next >= noValue) throw new RangeError(`more than ${noValue} values in a column`)
    this.#numbers.set(key, next)
    this.values.push(value)
    return next
  }
}
