/** Reports in `/readyz` and the log when the clock is behind the newest stored record, or not that of a shared database. */
import type { Callgate } from '../../app/callgate.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { Readiness } from '../../http/health.js'

type ClockMonitorDeps = Pick<Callgate, 'changeHead' | 'runtime'>

/** Logs when the clock is wrong and when it is correct again. */
export class ClockMonitor {
  readonly #deps: ClockMonitorDeps
  #wasWrong = false
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
    if (ready !== this.#wasWrong) return
    this.#wasWrong = !ready
    if (ready) runtime.log.info('the clock is plausible again')
    else runtime.log.error(`the clock is wrong: ${detail}`)
  }
}

/** Between two readings of the clock. */
const toleranceMs = 500

export function checkClockReadiness({
  changeHead,
  runtime,
}: Pick<ClockMonitorDeps, 'changeHead'> & {
  readonly runtime: Pick<ClockMonitorDeps['runtime'], 'clock'>
}): Readiness {
  const lagMs = changeHead.getLagMs()
  if (lagMs === 0) return { ready: true }
  const now = formatInstant(runtime.clock.now())
  if (lagMs < 0 || changeHead.newestAt - runtime.clock.now() < lagMs - toleranceMs) {
    const seconds = Math.ceil(Math.abs(lagMs) / 1000)
    const where = lagMs < 0 ? 'ahead of' : 'behind'
    return {
      ready: false,
      detail:
        `the clock shows ${now}, ${seconds} s ${where} the clock of the database; no call is allowed until they agree. ` +
        `Set the clock that is wrong`,
    }
  }
  const newest = formatInstant(changeHead.newestAt)
  return {
    ready: false,
    detail:
      `the clock shows ${now}, but a record was stored at ${newest}; no call is allowed until the ` +
      `clock has passed that time. Set the clock; if it is correct now and was ahead before, run: ` +
      `callgate clock accept`,
  }
}
