/** Answers that go on until their reader goes: how many there may be, and what ends them. */
import type { BytesReply, Reply, StreamedReply } from '../../api/endpoint.js'
import type { MaybePromise } from '../../domain/compliance.js'
import { AppError } from '../../errors.js'
import { systemTimers } from '../../runtime/runtime.js'

type AnyReply = Reply | BytesReply | StreamedReply

const maxReaders = 20
const retryAfterSeconds = 10
const checkEveryMs = 2_000
/** A reader comes again by itself, and then with what its key may do at that time. */
const longestMs = 10 * 60_000

export class LiveStreams {
  readonly #open = new Set<LiveStream>()
  #stopChecking: (() => void) | undefined
  #isClosed = false

  /**
   * Makes a reply that ends when `mayGoOn` says no, and when this closes. Rejects as `make` does, and with `rate-limited` if there are
   * too many readers.
   */
  async open(
    make: () => Promise<AnyReply>,
    mayGoOn: () => MaybePromise<boolean>,
  ): Promise<AnyReply> {
    if (this.#isClosed) throw new AppError('not-available', 'The server is stopping')
    if (this.#open.size >= maxReaders) {
      const message = `This server has ${maxReaders} readers of live answers already; try again later`
      throw new AppError('rate-limited', message, { retryAfterSeconds })
    }
    const stream = new LiveStream(mayGoOn, () => this.#open.delete(stream))
    this.#open.add(stream)
    this.#check()
    try {
      const reply = await make()
      if ('parts' in reply) return stream.wrap(reply)
      stream.end()
      return reply
    } catch (cause) {
      stream.end()
      throw cause
    }
  }

  /** Ends all; no further one can be opened. */
  close(): void {
    this.#isClosed = true
    this.#stopChecking?.()
    for (const stream of this.#open) stream.end()
  }

  #check(): void {
    this.#stopChecking ??= systemTimers.after(checkEveryMs, () => {
      this.#stopChecking = undefined
      for (const stream of this.#open) void stream.check()
      if (this.#open.size > 0 && !this.#isClosed) this.#check()
    })
  }
}

class LiveStream {
  readonly #mayGoOn: () => MaybePromise<boolean>
  readonly #onEnd: () => void
  readonly #until = systemTimers.monotonicMs() + longestMs
  #isEnded = false
  /** Ends the wait for the next part. */
  #wake: () => void = () => undefined

  constructor(mayGoOn: () => MaybePromise<boolean>, onEnd: () => void) {
    this.#mayGoOn = mayGoOn
    this.#onEnd = onEnd
  }

  wrap(reply: StreamedReply): StreamedReply {
    return { ...reply, parts: this.#readParts(reply.parts), end: () => this.end() }
  }

  end(): void {
    this.#isEnded = true
    this.#onEnd()
    this.#wake()
  }

  async check(): Promise<void> {
    if (systemTimers.monotonicMs() >= this.#until) return this.end()
    try {
      if (!(await this.#mayGoOn())) this.end()
    } catch {
      // It cannot be told now; nothing unknown is allowed.
      this.end()
    }
  }

  async *#readParts(parts: AsyncIterable<string>): AsyncGenerator<string> {
    const iterator = parts[Symbol.asyncIterator]()
    try {
      while (!this.#isEnded) {
        const next = await this.#waitFor(iterator.next())
        if (next === undefined || next.done) return
        yield next.value
      }
    } finally {
      this.end()
      // Not awaited: it ends once the part that is being made is there.
      void iterator.return?.().catch(() => undefined)
    }
  }

  /** `undefined` when the stream ends before. A race with one promise for all parts would keep each of them in memory. */
  #waitFor(next: Promise<IteratorResult<string>>): Promise<IteratorResult<string> | undefined> {
    return new Promise((resolve, reject) => {
      this.#wake = () => resolve(undefined)
      next.then(resolve, reject)
    })
  }
}
