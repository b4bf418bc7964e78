/**
 * Fills the compliance port from a provider over HTTP: one asker per question, and one transport and
 * one key for all. Nothing is ever thrown at who asks.
 */
import type {
  Asked,
  Compliance,
  Eventually,
  InternalDncStatus,
  LegalTime,
  LegalTimeQuestion,
  LitigatorStatus,
  Question,
  QuestionName,
  ScrubVerdict,
} from '../../domain/compliance.js'
import { Asker } from './asker.js'
import { type Credentials, openCredentials } from './credentials.js'
import { HttpTransport } from './http-transport.js'
import { internalDncQuestion } from './internal-dnc-question.js'
import { legalTimeQuestion } from './legal-time-question.js'
import { litigatorQuestion } from './litigator-question.js'
import type { ProviderOptions } from './provider-options.js'
import { scrubQuestion } from './scrub-question.js'
import type { Transport } from './transport.js'

/** Whether a question is left alone for a while, and for which failure. */
export interface ProviderCircuit {
  readonly question: QuestionName
  readonly open: boolean
  readonly detail?: string
}

export class Remote implements Compliance {
  readonly #scrub: Asker<Question, ScrubVerdict>
  readonly #internalDnc: Asker<Question, InternalDncStatus>
  readonly #litigator: Asker<Question, LitigatorStatus>
  readonly #legalTime: Asker<LegalTimeQuestion, LegalTime>
  readonly #credentials: Credentials
  readonly #transport: Transport

  constructor(options: ProviderOptions) {
    // Each question keeps its own limit; one more connection is for access tokens.
    const connections = options.limits.maxRequests * 4 + 1
    this.#transport = options.transport ?? new HttpTransport({ connections })
    this.#credentials = openCredentials(options, this.#transport)
    const shared = { options, credentials: this.#credentials, transport: this.#transport }
    this.#scrub = new Asker({ ...shared, question: scrubQuestion() })
    this.#internalDnc = new Asker({ ...shared, question: internalDncQuestion() })
    this.#litigator = new Asker({ ...shared, question: litigatorQuestion() })
    this.#legalTime = new Asker({ ...shared, question: legalTimeQuestion() })
  }

  scrub(question: Question): Eventually<Asked<ScrubVerdict>> {
    return this.#scrub.ask(question)
  }

  internalDnc(question: Question): Eventually<Asked<InternalDncStatus>> {
    return this.#internalDnc.ask(question)
  }

  litigator(question: Question): Eventually<Asked<LitigatorStatus>> {
    return this.#litigator.ask(question)
  }

  legalTime(question: LegalTimeQuestion): Eventually<Asked<LegalTime>> {
    return this.#legalTime.ask(question)
  }

  /** For readiness; without a key every question is as good as left alone. */
  circuits(): readonly ProviderCircuit[] {
    const noKey = this.#credentials.problem()
    return this.#askers().map(([question, asker]) => {
      const { open, detail } = asker.circuit()
      if (open) return { question, open, detail }
      return noKey ? { question, open: true, detail: noKey.detail } : { question, open }
    })
  }

  /** Questions that have not been answered. */
  underWay(): number {
    return this.#askers().reduce((sum, [, asker]) => sum + asker.underWay(), 0)
  }

  /** Whoever waits is told; leaves no timer and no socket. */
  async close(): Promise<void> {
    await Promise.all(this.#askers().map(([, asker]) => asker.close()))
    await this.#credentials.close()
    await this.#transport.close()
  }

  #askers(): readonly (readonly [QuestionName, Pick<Asker<Question, unknown>, Watched>])[] {
    return [
      ['scrub', this.#scrub],
      ['internal-dnc', this.#internalDnc],
      ['litigator', this.#litigator],
      ['legal-time', this.#legalTime],
    ]
  }
}

type Watched = 'circuit' | 'underWay' | 'close'

/** A provider's client; {@link Remote.close} ends it. */
export function openRemote(options: ProviderOptions): Remote {
  return new Remote(options)
}
