/** What people are told about one question of a provider: changes, not every failure. */
import type { QuestionName } from '../../domain/compliance.js'
import type { LogFields } from '../../log.js'
import type { ProviderOptions } from './provider-options.js'

type NewsOptions<Name extends string> = Pick<ProviderOptions<Name>, 'name' | 'log' | 'watch'>

export class ProviderNews<Name extends string = QuestionName> {
  readonly #options: NewsOptions<Name>
  readonly #question: Name
  #isRefusalTold = false

  constructor(options: NewsOptions<Name>, question: Name) {
    this.#options = options
    this.#question = question
  }

  circuit(open: boolean, detail: string): void {
    const { log, watch } = this.#options
    watch.circuit(this.#question, open)
    if (open) log.warn('a provider is left alone for a while', this.#fields(detail))
    else log.info('a provider answers again', this.#fields(detail))
  }

  /** Someone must act: told once until a key is accepted. */
  keyRefused(detail: string): void {
    if (this.#isRefusalTold) return
    this.#isRefusalTold = true
    this.#options.log.error('a provider refuses the key', this.#fields(detail))
  }

  /** Once for each pause; questions that cannot wait so long are unknown meanwhile. */
  askedTooOften(waitMs: number): void {
    const fields = this.#fields(`not asked for ${Math.ceil(waitMs / 1000)} s`)
    this.#options.log.warn('a provider says it is asked too often', fields)
  }

  keyAccepted(): void {
    this.#isRefusalTold = false
  }

  #fields(detail: string): LogFields {
    return { provider: this.#options.name, question: this.#question, detail }
  }
}
