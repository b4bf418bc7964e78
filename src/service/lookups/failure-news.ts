/** Asks books that may fail, and tells of changes: a provider that is down fails with every call. */

/** A book, and what people call it. */
export interface NamedBook<Book> {
  readonly name: string
  readonly book: Book
}

/** What cannot be had, such as `identity from imported files`, and why. */
export type BookFailed = (what: string, cause: unknown) => void

export type Said<Value> =
  | { readonly failed: false; readonly value: Value }
  | { readonly failed: true; readonly cause: unknown }

/** Books reject so, as aborted requests do, when there was no answer in time. */
const lateName = 'TimeoutError'

export function isLate(cause: unknown): boolean {
  return cause instanceof Error && cause.name === lateName
}

export class FailureNews {
  readonly #failed: BookFailed
  readonly #failing = new Set<string>()

  constructor(failed: BookFailed) {
    this.#failed = failed
  }

  /** Never rejects. A failure is told of once, until the same has been answered again. */
  async asked<Value>(what: string, ask: () => Promise<Value>): Promise<Said<Value>> {
    try {
      const value = await ask()
      this.#failing.delete(what)
      return { failed: false, value }
    } catch (cause) {
      if (!this.#failing.has(what)) this.#failed(what, cause)
      this.#failing.add(what)
      return { failed: true, cause }
    }
  }
}
