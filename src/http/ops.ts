/** What operators and their machines ask: is it alive, is it ready, what does it measure. */
import type { Reply } from '../api/endpoint.js'
import { monotonicSeconds } from '../domain/clock.js'
import type { Eventually } from '../domain/compliance.js'
import type { Logger } from '../log.js'

export interface Readiness {
  readonly ready: boolean
  /** For people: what is missing, or what it rests on. */
  readonly detail?: string | undefined
}

export interface ReadinessCheck {
  readonly name: string
  /** One that throws is not ready. */
  check(): Eventually<Readiness>
}

export interface Ops {
  readonly checks: readonly ReadinessCheck[]
  readonly metricsText: () => Promise<{ readonly contentType: string; readonly body: string }>
}

/**
 * The answers by path: `/healthz` is 200 whenever the loop turns, `/readyz` is 200 or 503 with
 * every check named, `/metrics` is for Prometheus. None of them asks for a key. A check that hangs
 * does not hold the answer.
 */
export function opsAnswers(
  { checks, metricsText }: Ops,
  logger: Logger,
): ReadonlyMap<string, () => Eventually<Reply>> {
  const bounded = checks.map((check) => new BoundedCheck(check, logger))
  return new Map<string, () => Eventually<Reply>>([
    ['/healthz', () => ({ json: { status: 'ok' } })],
    ['/readyz', () => readiness(bounded)],
    [
      '/metrics',
      async () => {
        const { contentType, body } = await metricsText()
        return { contentType, text: body }
      },
    ],
  ])
}

/** A check that takes longer goes on without the answer, which then has its last result. */
const maxCheckMs = 50
/** How long that last result may stand for one that is still awaited. */
const maxResultAgeMs = 5_000

interface CheckResult extends Readiness {
  readonly name: string
}

async function readiness(checks: readonly BoundedCheck[]): Promise<Reply> {
  const results = await Promise.all(checks.map((check) => check.result()))
  const ready = results.every((result) => result.ready)
  return { status: ready ? 200 : 503, json: { ready, checks: results } }
}

/** One check, of which at most one run is under way. */
class BoundedCheck {
  readonly #check: ReadinessCheck
  readonly #logger: Logger
  #running: Promise<CheckResult> | undefined
  #last: { readonly result: CheckResult; readonly atMs: number } | undefined

  constructor(check: ReadinessCheck, logger: Logger) {
    this.#check = check
    this.#logger = logger
  }

  async result(): Promise<CheckResult> {
    this.#running ??= this.#run()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<CheckResult>((resolve) => {
      timer = setTimeout(() => resolve(this.#lateResult()), maxCheckMs)
    })
    const result = await Promise.race([this.#running, late])
    clearTimeout(timer)
    return result
  }

  async #run(): Promise<CheckResult> {
    const { name, check } = this.#check
    const result = await resultOf({ name, check }, this.#logger)
    this.#last = { result, atMs: monotonicSeconds() * 1_000 }
    this.#running = undefined
    return result
  }

  #lateResult(): CheckResult {
    const isRecent = this.#last && monotonicSeconds() * 1_000 - this.#last.atMs < maxResultAgeMs
    if (this.#last && isRecent) return this.#last.result
    const detail = `the check does not answer within ${maxCheckMs} ms`
    return { name: this.#check.name, ready: false, detail }
  }
}

async function resultOf({ name, check }: ReadinessCheck, logger: Logger): Promise<CheckResult> {
  try {
    const { ready, detail } = await check()
    return { name, ready, detail }
  } catch (error) {
    logger.error('readiness check failed', { check: name, err: error })
    return { name, ready: false, detail: 'the check itself failed; the cause has been logged' }
  }
}
