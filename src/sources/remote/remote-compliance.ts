/**
 * Implements the compliance port with a provider over HTTP: one batch client per question, all with the
 * same transport and key. Failures are returned as answers; nothing is thrown.
 */
import type { Compliance, Question } from '../../domain/compliance.js'
import { ProviderConnection } from './provider-connection.js'
import { internalDncQuestion } from './questions/internal-dnc-question.js'
import { legalTimeQuestion } from './questions/legal-time-question.js'
import { litigatorQuestion } from './questions/litigator-question.js'
import { scrubQuestion } from './questions/scrub-question.js'

export class RemoteCompliance extends ProviderConnection implements Compliance {
  readonly #scrub = this.openClient(scrubQuestion)
  readonly #internalDnc = this.openClient(internalDncQuestion)
  readonly #litigator = this.openClient(litigatorQuestion)
  readonly #legalTime = this.openClient(legalTimeQuestion)

  scrub(question: Question) {
    return this.#scrub.ask(question)
  }

  internalDnc(question: Question) {
    return this.#internalDnc.ask(question)
  }

  litigator(question: Question) {
    return this.#litigator.ask(question)
  }

  legalTime(question: Question) {
    return this.#legalTime.ask(question)
  }
}
