/** Reports a clock that runs behind the newest stored record, to `/readyz` and to the log. */
import type { Callgate } from '../compose.js'
import { formatInstant } from '../domain/clock.js'
import type { Readiness } from '../http/ops.js'

type Watched = Pick<Callgate, 'changeHead' | 'world'>

/** Logs when the clock falls behind, and when it is right again. */
export class ClockReport {
  readonly #watched: Watched
  #wasBehind = false
  #hasFailed = false

  constructor(watched: Watched) {
    this.#watched = watched
  }

  /** Also takes over what other processes stored. Never rejects. */
  async look(): Promise<void> {
    const { changeHead, world } = this.#watched
    try {
      await changeHead.refresh()
      this.#hasFailed = false
    } catch (cause) {
      // Tried again in a second; said once, or a lock that stays would fill the log.
      if (!this.#hasFailed) {
        world.log.error('the newest stored instant could not be read or written', { err: cause })
      }
      this.#hasFailed = true
    }
    const { ready, detail } = clockReadiness(this.#watched)
    if (ready !== this.#wasBehind) return
    this.#wasBehind = !ready
    if (ready) world.log.info('the clock is no longer behind the newest stored record')
    else world.log.error(`the clock is behind: ${detail}`)
  }
}

export function clockReadiness({ changeHead, world }: Watched): Readiness {
  const behindMs = changeHead.behindMs()
  if (behindMs === 0) return { ready: true }
  const now = formatInstant(world.clock.now())
  const newest = formatInstant(changeHead.newestAt)
  return {
    ready: false,
    detail:
      `the clock says ${now}, but a record was stored at ${newest}; no call is allowed until the ` +
      `clock has passed that. Set the clock; if it is right and ran ahead before, run: ` +
      `callgate clock accept`,
  }
}
