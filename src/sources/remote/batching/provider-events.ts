/** Logs and counts the events of one question of a provider; logs state changes, not every failure. */
import type { LogFields } from '../../../observability/log.js'
import type { ProviderOptions } from '../provider-options.js'

type ProviderEventsOptions = Pick<ProviderOptions<string>, 'name' | 'log' | 'observer'>

export class ProviderEvents {
  readonly #options: ProviderEventsOptions
  readonly #question: string
  #isRefusalLogged = false

  constructor(options: ProviderEventsOptions, question: string) {
    this.#options = options
    this.#question = question
  }

  onCircuitChange(open: boolean, detail: string): void {
    const { log, observer } = this.#options
    observer.onCircuitChange(this.#question, open)
    if (open)
      log.warn(
        'requests to a provider are paused, since they keep failing',
        this.#buildLogFields(detail),
      )
    else log.info('a provider is answering again', this.#buildLogFields(detail))
  }

  /** Logged as an error, since an operator must act, but only once until a key is accepted. */
  onKeyRefused(detail: string): void {
    if (this.#isRefusalLogged) return
    this.#isRefusalLogged = true
    this.#options.log.error('a provider refuses the key', this.#buildLogFields(detail))
  }

  /** Logged once per pause; questions with an earlier deadline fail. */
  onRateLimited(waitMs: number): void {
    const fields = this.#buildLogFields(`not asked for ${Math.ceil(waitMs / 1000)} s`)
    this.#options.log.warn('a provider refused a request because of its rate limit', fields)
  }

  onKeyAccepted(): void {
    this.#isRefusalLogged = false
  }

  #buildLogFields(detail: string): LogFields {
    return { provider: this.#options.name, question: this.#question, detail }
  }
}
