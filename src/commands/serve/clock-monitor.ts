/** Reports in `/readyz` and the log when the clock is behind the newest stored record. */
import type { Callgate } from '../../app/callgate.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { Readiness } from '../../http/health.js'

type ClockMonitorDeps = Pick<Callgate, 'changeHead' | 'runtime'>

/** Logs when the clock falls behind and when it is correct again. */
export class ClockMonitor {
  readonly #deps: ClockMonitorDeps
  #wasBehind = false
  #hasFailed = false

  constructor(deps: ClockMonitorDeps) {
    this.#deps = deps
  }

  /** Also reads the newest record of other processes. Never rejects. */
  async check(): Promise<void> {
    const { changeHead, runtime } = this.#deps
    try {
      await changeHead.refresh()
      this.#hasFailed = false
    } catch (cause) {
      // Retried every second but logged once, so that a lasting lock does not fill the log.
      if (!this.#hasFailed) {
        runtime.log.error('the time of the newest stored record could not be read or written', {
          err: cause,
        })
      }
      this.#hasFailed = true
    }
    const { ready, detail } = checkClockReadiness(this.#deps)
    if (ready !== this.#wasBehind) return
    this.#wasBehind = !ready
    if (ready) runtime.log.info('the clock is no longer behind the newest stored record')
    else runtime.log.error(`the clock is behind: ${detail}`)
  }
}

export function checkClockReadiness({
  changeHead,
  runtime,
}: Pick<ClockMonitorDeps, 'changeHead'> & {
  readonly runtime: Pick<ClockMonitorDeps['runtime'], 'clock'>
}): Readiness {
  const lagMs = changeHead.getLagMs()
  if (lagMs === 0) return { ready: true }
  const now = formatInstant(runtime.clock.now())
  const newest = formatInstant(changeHead.newestAt)
  return {
    ready: false,
    detail:
      `the clock shows ${now}, but a record was stored at ${newest}; no call is allowed until the ` +
      `clock has passed that time. Set the clock; if it is correct now and was ahead before, run: ` +
      `callgate clock accept`,
  }
}
