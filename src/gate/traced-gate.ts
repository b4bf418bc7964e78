/** Records a span for each decision; used only while traces are exported. */
import { type MaybePromise, mapMaybePromise } from '../domain/compliance.js'
import type { CallRequest, Decision, DecisionFinalizer } from '../domain/decision.js'
import type { Said } from '../domain/words/words.js'
import type { Tracing } from '../observability/tracing.js'
import { Gate } from './gate.js'
import type { GateDeps } from './gate-deps.js'
import type { WithAllow } from './pre-check-ruling.js'

export class TracedGate extends Gate {
  readonly #tracing: Tracing
  readonly #timers: GateDeps['timers']

  constructor(deps: GateDeps, tracing: Tracing) {
    super(deps)
    this.#tracing = tracing
    this.#timers = deps.timers
  }

  override judge(
    request: CallRequest,
    arrivedAtMs = this.#timers.monotonicMs(),
    withAllow?: WithAllow,
  ): MaybePromise<DecisionFinalizer> {
    const span = this.#tracing.startDecision(request.trace, arrivedAtMs)
    const judged = super.judge({ ...request, trace: span.context }, arrivedAtMs, withAllow)
    return mapMaybePromise(judged, (finalize) => (isDelayed) => {
      const decision = finalize(isDelayed)
      span.end(decision)
      return decision
    })
  }

  override refuse(request: CallRequest, why: Said): Decision {
    const span = this.#tracing.startDecision(request.trace, this.#timers.monotonicMs())
    const decision = super.refuse({ ...request, trace: span.context }, why)
    span.end(decision)
    return decision
  }
}
