/** The transport, key and lifetime shared by the clients of all questions to one provider. */
import type { Question, QuestionName } from '../../domain/compliance.js'
import type { BatchQuestion } from './batch-question.js'
import { BatchClient } from './batching/batch-client.js'
import { type Credentials, openCredentials } from './client/credentials.js'
import { HttpTransport } from './client/http-transport.js'
import type { Transport } from './client/transport.js'
import type { ProviderOptions } from './provider-options.js'

/** Whether requests for a question are suspended, and after which failure. */
export interface ProviderCircuit<Name extends string = QuestionName> {
  readonly question: Name
  readonly open: boolean
  readonly detail?: string
}

type AnyClient = Pick<
  BatchClient<Question, unknown>,
  'getCircuit' | 'getRateBudget' | 'countPending' | 'close'
>

export class ProviderConnection<Name extends string = QuestionName> {
  readonly #options: ProviderOptions<Name>
  readonly #credentials: Credentials
  readonly #transport: Transport
  readonly #clients: (readonly [Name, AnyClient])[] = []

  constructor(options: ProviderOptions<Name>) {
    // Each question has its own limit; one additional connection is for access tokens.
    const connections = options.limits.maxRequests * Object.keys(options.questions).length + 1
    this.#options = options
    this.#transport = options.transport ?? new HttpTransport({ connections })
    this.#credentials = openCredentials(options, this.#transport)
  }

  openClient<Asks extends Question, Value>(
    question: BatchQuestion<Asks, Value, Name>,
    more: { readonly splitsRefusedBatches?: boolean } = {},
  ): BatchClient<Asks, Value> {
    const client = new BatchClient<Asks, Value>({
      options: this.#options,
      credentials: this.#credentials,
      transport: this.#transport,
      question,
      ...more,
    })
    this.#clients.push([question.name, client])
    return client
  }

  /** The circuits, for readiness; without a key, every circuit is reported as open. */
  listCircuits(): readonly ProviderCircuit<Name>[] {
    const noKey = this.#credentials.findProblem()
    return this.#clients.map(([question, client]) => {
      const { open, detail } = client.getCircuit()
      if (open) return { question, open, detail }
      return noKey ? { question, open: true, detail: noKey.detail } : { question, open }
    })
  }

  /** The share of each question's rate limit that is left, from 0 to 1. */
  listRateBudgets(): readonly { readonly question: Name; readonly ratio: number }[] {
    return this.#clients.map(([question, client]) => ({ question, ratio: client.getRateBudget() }))
  }

  /** The count of unanswered questions. */
  countPending(): number {
    return this.#clients.reduce((sum, [, client]) => sum + client.countPending(), 0)
  }

  /** Ends all pending questions with a failure; leaves no timer and no socket. */
  async close(): Promise<void> {
    await Promise.all(this.#clients.map(([, client]) => client.close()))
    await this.#options.budget?.close()
    await this.#credentials.close()
    await this.#transport.close()
  }
}
