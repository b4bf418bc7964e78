/** Values shared by many rows, which refer to them by index in a 16-bit column. */

/** The index that means "none". */
export const noValue = 0xffff

export class Dictionary<Value> {
  readonly #numbers = new Map<string, number>()
  readonly values: Value[] = []

  /** Returns the index of a key, from 0; adds it if missing. Throws `RangeError` if there are too many. */
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
