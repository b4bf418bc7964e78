/** Answers that go on until their reader goes: how many there may be, and what ends them. */
import type { BytesReply, Reply, StreamedReply } from '../../api/endpoint.js'
import type { Caller } from '../../domain/caller.js'
import type { MaybePromise } from '../../domain/compliance.js'
import { AppError } from '../../errors.js'
import { systemTimers } from '../../runtime/runtime.js'

type AnyReply = Reply | BytesReply | StreamedReply
type Reader = Pick<Caller, 'accountId' | 'keyId'>

const maxReaders = 20
/** One account, or one key, leaves places to others. */
const maxReadersOfAccount = 10
const maxReadersOfKey = 5
const retryAfterSeconds = 10
const checkEveryMs = 2_000
/** A reader comes again by itself, and then with what its key may do at that time. */
const longestMs = 10 * 60_000

interface LiveStream {
  readonly reader: Reader
  readonly mayGoOn: () => MaybePromise<boolean>
  readonly until: number
  readonly ending: AbortController
}

export class LiveStreams {
  readonly #open = new Set<LiveStream>()
  #stopChecking: (() => void) | undefined
  #isClosed = false

  /**
   * Makes a reply that ends when `mayGoOn` says no, and when this closes. Rejects as `make` does, and with `rate-limited` if there are
   * too many readers.
   */
  async open(
    reader: Reader,
    make: () => Promise<AnyReply>,
    mayGoOn: () => MaybePromise<boolean>,
  ): Promise<AnyReply> {
    this.#requirePlace(reader)
    const ending = new AbortController()
    const until = systemTimers.monotonicMs() + longestMs
    const stream: LiveStream = { reader, mayGoOn, until, ending }
    this.#open.add(stream)
    ending.signal.addEventListener('abort', () => this.#open.delete(stream))
    this.#checkLater()
    try {
      const reply = await make()
      if ('parts' in reply) return { ...reply, parts: readUntil(reply.parts, ending), ending }
      ending.abort()
      return reply
    } catch (cause) {
      ending.abort()
      throw cause
    }
  }

  /** Ends all; no further one can be opened. */
  close(): void {
    this.#isClosed = true
    this.#stopChecking?.()
    for (const { ending } of this.#open) ending.abort()
  }

  #requirePlace({ accountId, keyId }: Reader): void {
    if (this.#isClosed) throw new AppError('not-available', 'The server is stopping')
    const ofAccount = this.#listOf(accountId)
    const ofKey = ofAccount.filter(({ reader }) => reader.keyId === keyId)
    for (const [who, { length }, most] of [
      ['This key', ofKey, maxReadersOfKey],
      ['This account', ofAccount, maxReadersOfAccount],
    ] as const) {
      if (length >= most) throw createTooManyError(who, most)
    }
    if (this.#open.size >= maxReaders) this.#makeRoom(ofAccount.length)
  }

  #listOf(accountId: string): readonly LiveStream[] {
    return [...this.#open].filter(({ reader }) => reader.accountId === accountId)
  }

  /** Accounts share the places: ends the oldest answer of the one with the most, if it has at least two more than the one that asks. */
  #makeRoom(own: number): void {
    const accounts = new Set([...this.#open].map(({ reader }) => reader.accountId))
    const [most = []] = [...accounts]
      .map((accountId) => this.#listOf(accountId))
      .sort((a, b) => b.length - a.length)
    if (most.length < own + 2) throw createTooManyError('This server', maxReaders)
    most[0]?.ending.abort()
  }

  #checkLater(): void {
    this.#stopChecking ??= systemTimers.after(checkEveryMs, () => {
      this.#stopChecking = undefined
      for (const stream of this.#open) void check(stream)
      if (this.#open.size > 0 && !this.#isClosed) this.#checkLater()
    })
  }
}

function createTooManyError(who: string, most: number): AppError {
  const message = `${who} has ${most} readers of live answers already; end one, or try again later`
  return new AppError('rate-limited', message, { retryAfterSeconds })
}

async function check({ until, mayGoOn, ending }: LiveStream): Promise<void> {
  try {
    if (systemTimers.monotonicMs() < until && (await mayGoOn())) return
  } catch {
    // It cannot be told now; nothing unknown is allowed.
  }
  ending.abort()
}

async function* readUntil(
  parts: StreamedReply['parts'],
  ending: AbortController,
): AsyncGenerator<string | Uint8Array> {
  const iterator = parts[Symbol.asyncIterator]()
  try {
    for (;;) {
      // Also if it has ended: what was never begun would not be told of its end.
      const next = await waitUntil(iterator.next(), ending.signal)
      if (next === undefined || next.done) return
      if (next.value !== '') yield next.value
    }
  } finally {
    ending.abort()
    // Not awaited: it ends once the part that is being made is there.
    void iterator.return?.().catch(() => undefined)
  }
}

/** `undefined` if the signal is aborted before. A race with one promise for all parts would keep each of them in memory. */
function waitUntil<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const end = () => resolve(undefined)
    if (signal.aborted) end()
    signal.addEventListener('abort', end)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}
