/** Liveness, readiness and metrics, for operators and their machines. */
import type { Page, Reply } from '../api/endpoint.js'
import type { MaybePromise } from '../domain/compliance.js'
import type { Clock, Instant } from '../domain/time/clock.js'
import type { Logger } from '../observability/log.js'
import { withTimeout } from '../runtime/runtime.js'

export interface Readiness {
  readonly ready: boolean
  /** For people: what is missing, or what the answer depends on. */
  readonly detail?: string | undefined
  /** The server is ready, but something that it depends on and others run is failing; the detail says what. */
  readonly impaired?: boolean | undefined
  /** Accounts whose latest calls could not be decided, which concerns them also while the server is ready for others. */
  readonly failing?: readonly FailingAccount[]
}

interface FailingAccount {
  readonly account: string
  readonly problem: string
  readonly fix: string
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

/** A check of the disk takes as long as a call would wait for it; the answer waits no longer. */
const maxCheckMs = 300

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

  constructor(check: ReadinessCheck, logger: Logger) {
    this.#check = check
    this.#logger = logger
  }

  async result(): Promise<CheckResult> {
    const { name } = this.#check
    this.#running ??= runCheck(this.#check, this.#logger).finally(() => {
      this.#running = undefined
    })
    const detail = `the check did not answer within ${maxCheckMs} ms`
    return await withTimeout(this.#running, maxCheckMs, () => ({ name, ready: false, detail }))
  }
}

async function runCheck(one: ReadinessCheck, logger: Logger): Promise<CheckResult> {
  const { name } = one
  try {
    return { name, ...(await one.check()) }
  } catch (error) {
    logger.error('readiness check failed', { check: name, err: error })
    return { name, ready: false, detail: 'the check itself failed; see the log for the cause' }
  }
}
