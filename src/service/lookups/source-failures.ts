/** Asks sources that may fail, and reports only the first of several failures in a row. */

/** A source, and its name in logs. */
export interface NamedSource<Source> {
  readonly name: string
  readonly source: Source
}

/** Receives what is unavailable, such as `identity from imported files`, and why. */
export type SourceFailureListener = (what: string, cause: unknown) => void

export type SourceResult<Value> =
  | { readonly failed: false; readonly value: Value }
  | { readonly failed: true; readonly cause: unknown }

/** The name of the error that sources, like aborted requests, reject with on timeout. */
const timeoutErrorName = 'TimeoutError'

export function isTimeout(cause: unknown): boolean {
  return cause instanceof Error && cause.name === timeoutErrorName
}

/** Several sources of one kind, in the order in which they are asked. */
export class CombinedSources<Source> {
  readonly #sources: readonly NamedSource<Source>[]
  readonly #onFailure: SourceFailureListener
  readonly #failing = new Set<string>()

  constructor(sources: readonly NamedSource<Source>[], onFailure: SourceFailureListener) {
    this.#sources = sources
    this.#onFailure = onFailure
  }

  /** Asks one source after the other, each when the iteration reaches it. */
  *askInTurn<Value>(
    what: string,
    ask: (source: Source) => Promise<Value>,
  ): Generator<Promise<SourceResult<Value>>> {
    for (const { name, source } of this.#sources) {
      yield this.#run(`${what} from ${name}`, () => ask(source))
    }
  }

  askAll<Value>(
    what: string,
    ask: (source: Source) => Promise<Value>,
  ): Promise<readonly SourceResult<Value>[]> {
    return Promise.all(this.askInTurn(what, ask))
  }

  /** Never rejects. Reports a failure once, until the same question is answered again. */
  async #run<Value>(what: string, ask: () => Promise<Value>): Promise<SourceResult<Value>> {
    try {
      const value = await ask()
      this.#failing.delete(what)
      return { failed: false, value }
    } catch (cause) {
      if (!this.#failing.has(what)) this.#onFailure(what, cause)
      this.#failing.add(what)
      return { failed: true, cause }
    }
  }
}
