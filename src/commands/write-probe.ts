/** Whether the database takes writes, found out by writing: an idle server would not notice otherwise. */
import { monotonicSeconds } from '../domain/clock.js'
import type { Readiness } from '../http/ops.js'
import type { OpenDatabase } from '../storage/engine.js'

/** Strangers may ask for readiness, so they cost one write a second at most. */
const probeEverySeconds = 1
/** Another process may hold the lock for a moment; readiness has to be answered within 100 ms. */
const maxLockMs = 50
const lockPauseMs = 5

type Storage = Pick<OpenDatabase, 'fault' | 'traits' | 'writeNothing'>

export class WriteProbe {
  readonly #storage: Storage
  #last: { readonly since: number; readonly result: Promise<Readiness> } | undefined

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** A file that is gone shows at once, anything else within a second. Never rejects. */
  async readiness(): Promise<Readiness> {
    const fault = this.#storage.fault()
    if (fault !== undefined) return { ready: false, detail: fault }
    const now = monotonicSeconds()
    if (!this.#last || now - this.#last.since >= probeEverySeconds) {
      this.#last = { since: now, result: this.#write() }
    }
    return await this.#last.result
  }

  async #write(): Promise<Readiness> {
    const giveUpAt = monotonicSeconds() + maxLockMs / 1000
    for (;;) {
      try {
        await this.#storage.writeNothing()
        return { ready: true }
      } catch (cause) {
        const isLocked = this.#storage.traits.isLockedElsewhere(cause)
        if (!isLocked || monotonicSeconds() >= giveUpAt) return problemOf(cause, isLocked)
        await new Promise((resume) => setTimeout(resume, lockPauseMs))
      }
    }
  }
}

function problemOf(cause: unknown, isLocked: boolean): Readiness {
  const why = cause instanceof Error ? cause.message : String(cause)
  const detail = isLocked
    ? 'another process holds the lock of the database, so nothing can be written'
    : `nothing can be written to the database: ${why}`
  return { ready: false, detail }
}
