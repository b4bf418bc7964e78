/** Checks with a real write that the database is writable; an idle server would not notice otherwise. */

import { getErrorMessage } from '../../errors.js'
import type { Readiness } from '../../http/health.js'
import { monotonicSeconds, sleep } from '../../runtime/runtime.js'
import type { OpenDatabase } from '../../storage/open-database.js'

/** Readiness needs no API key, so it causes at most one write a second. */
const probeEverySeconds = 1
/** Another process may hold the lock briefly, but readiness must be answered within 100 ms. */
const maxLockMs = 50
const lockPauseMs = 5

type WriteProbeStorage = Pick<OpenDatabase, 'checkFault' | 'traits' | 'probeWrite'>

export class WriteProbe {
  readonly #storage: WriteProbeStorage
  #last: { readonly since: number; readonly result: Promise<Readiness> } | undefined

  constructor(storage: WriteProbeStorage) {
    this.#storage = storage
  }

  /** Notices a missing file immediately and any other fault within a second. Never rejects. */
  async checkReadiness(): Promise<Readiness> {
    const fault = await this.#storage.checkFault()
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
        await this.#storage.probeWrite()
        return { ready: true }
      } catch (cause) {
        const isLocked = this.#storage.traits.isLockedElsewhere(cause)
        if (!isLocked || monotonicSeconds() >= giveUpAt) return toNotReady(cause, isLocked)
        await sleep(lockPauseMs)
      }
    }
  }
}

function toNotReady(cause: unknown, isLocked: boolean): Readiness {
  const why = getErrorMessage(cause)
  const detail = isLocked
    ? 'the database is locked by another process, so nothing can be written'
    : `nothing can be written to the database: ${why}`
  return { ready: false, detail }
}
