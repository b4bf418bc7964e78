/** Liveness, readiness and metrics, for operators and their machines. */
import type { Page, Reply } from '../api/endpoint.js'
import type { MaybePromise } from '../domain/compliance.js'
import type { Clock, Instant } from '../domain/time/clock.js'
import type { Logger } from '../observability/log.js'
import { monotonicSeconds, withTimeout } from '../runtime/runtime.js'

export interface Readiness {
  readonly ready: boolean
  /** For people: what is missing, or what the answer depends on. */
  readonly detail?: string | undefined
}

export interface ReadinessCheck {
  readonly name: string
  /** One that throws is not ready. */
  check(): MaybePromise<Readiness>
}

/** A check that knows since when its result is what it is. */
export class WatchedCheck implements ReadinessCheck {
  readonly name: string
  readonly #check: ReadinessCheck
  readonly #clock: Clock
  #last: { readonly ready: boolean; readonly since: Instant } | undefined

  constructor(check: ReadinessCheck, clock: Clock) {
    this.name = check.name
    this.#check = check
    this.#clock = clock
  }

  /** When the result of the latest check was seen first; `undefined` before the first one. */
  get since(): Instant | undefined {
    return this.#last?.since
  }

  // A property, since checks are passed on without their object.
  readonly check = async (): Promise<Readiness> => {
    try {
      const result = await this.#check.check()
      this.#note(result.ready)
      return result
    } catch (cause) {
      this.#note(false)
      throw cause
    }
  }

  #note(ready: boolean): void {
    if (this.#last?.ready !== ready) this.#last = { ready, since: this.#clock.now() }
  }
}

export interface HealthOptions {
  readonly checks: readonly ReadinessCheck[]
  readonly renderMetrics: (
    readiness: readonly CheckResult[],
  ) => Promise<{ readonly contentType: string; readonly body: string }>
}

/**
 * The answers by path: `/healthz` is 200 whenever the event loop turns, `/readyz` is 200 or 503 with
 * every check named, `/metrics` is for Prometheus. None of them needs a key. A check that hangs
 * does not delay the answer.
 */
export function createHealthPages(
  { checks, renderMetrics }: HealthOptions,
  logger: Logger,
): ReadonlyMap<string, Page> {
  const bounded = checks.map((check) => new BoundedCheck(check, logger))
  const metrics = async (): Promise<Reply> => {
    const { contentType, body } = await renderMetrics(await readResults(bounded))
    return { contentType, text: body }
  }
  return new Map<string, Page>([
    ['/healthz', { make: () => ({ json: { status: 'ok' }, headers: ofNow }), isFixed: true }],
    ['/readyz', { make: () => answerReadiness(bounded) }],
    ['/metrics', { make: metrics, ignoresHead: true }],
  ])
}

const ofNow = { 'Cache-Control': 'no-store' }

/** The answer does not wait longer for a check, and then has its last result. */
const maxCheckMs = 50
/** How long that last result may be used in place of one that is still awaited. */
const maxResultAgeMs = 5_000

interface CheckResult extends Readiness {
  readonly name: string
}

function readResults(checks: readonly BoundedCheck[]): Promise<readonly CheckResult[]> {
  return Promise.all(checks.map((check) => check.result()))
}

async function answerReadiness(checks: readonly BoundedCheck[]): Promise<Reply> {
  const results = await readResults(checks)
  const ready = results.every((result) => result.ready)
  return { status: ready ? 200 : 503, json: { ready, checks: results }, headers: ofNow }
}

/** One check, which runs at most once at a time. */
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
    return await withTimeout(this.#running, maxCheckMs, () => this.#lateResult())
  }

  async #run(): Promise<CheckResult> {
    const { name, check } = this.#check
    const result = await runCheck({ name, check }, this.#logger)
    this.#last = { result, atMs: monotonicSeconds() * 1_000 }
    this.#running = undefined
    return result
  }

  #lateResult(): CheckResult {
    const isRecent = this.#last && monotonicSeconds() * 1_000 - this.#last.atMs < maxResultAgeMs
    if (this.#last && isRecent) return this.#last.result
    const detail = `the check did not answer within ${maxCheckMs} ms`
    return { name: this.#check.name, ready: false, detail }
  }
}

async function runCheck({ name, check }: ReadinessCheck, logger: Logger): Promise<CheckResult> {
  try {
    const { ready, detail } = await check()
    return { name, ready, detail }
  } catch (error) {
    logger.error('readiness check failed', { check: name, err: error })
    return { name, ready: false, detail: 'the check itself failed; see the log for the cause' }
  }
}
