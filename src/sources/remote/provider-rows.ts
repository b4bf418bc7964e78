/**
 * The four questions with their rows as a provider wrote them, field by field, for whoever compares
 * providers. Requests, limits and retries are those of {@link Remote}; no row is judged.
 */
import type { Asked, LegalTimeQuestion, Question, QuestionName } from '../../domain/compliance.js'
import { Asker } from './asker.js'
import type { BatchQuestion } from './batch-question.js'
import { type Credentials, openCredentials } from './credentials.js'
import { HttpTransport } from './http-transport.js'
import { internalDncQuestion } from './internal-dnc-question.js'
import { legalTimeQuestion } from './legal-time-question.js'
import { litigatorQuestion } from './litigator-question.js'
import type { ProviderOptions } from './provider-options.js'
import { readEach } from './read-rows.js'
import { scrubQuestion } from './scrub-question.js'
import type { Transport } from './transport.js'

/** The fields of a row by their published names. */
export type WireRow = Readonly<Record<string, unknown>>

/** Any of the four questions; calling hours need more of it than the others. */
export type RowQuestion = LegalTimeQuestion

/** How each question is put, and which field of its rows holds the number. */
export const rowQuestions: Readonly<Record<QuestionName, BatchQuestion<RowQuestion, WireRow>>> = {
  scrub: wholeRows(scrubQuestion(), 'Phone'),
  'internal-dnc': wholeRows(internalDncQuestion(), 'phone'),
  litigator: wholeRows(litigatorQuestion(), 'Phone'),
  'legal-time': wholeRows(legalTimeQuestion(), 'PhoneNumber'),
}

function wholeRows<Asks extends Question, Value>(
  question: BatchQuestion<Asks, Value>,
  numberField: string,
): BatchQuestion<Asks, WireRow> {
  return {
    ...question,
    read: (reply, questions) =>
      readEach(reply, questions, {
        schema: { safeParse: readRow },
        numberOf: (row) => String(row[numberField]),
        understand: (value) => ({ value, holdsUntil: Number.POSITIVE_INFINITY }),
      }),
  }
}

function readRow(value: unknown) {
  const isRow = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isRow
    ? ({ success: true, data: value as WireRow } as const)
    : ({ success: false, error: { issues: [] } } as const)
}

export class ProviderRows {
  readonly #askers: ReadonlyMap<QuestionName, Asker<RowQuestion, WireRow>>
  readonly #credentials: Credentials
  readonly #transport: Transport

  constructor(options: ProviderOptions) {
    const names = Object.keys(rowQuestions) as QuestionName[]
    const connections = options.limits.maxRequests * names.length + 1
    this.#transport = options.transport ?? new HttpTransport({ connections })
    this.#credentials = openCredentials(options, this.#transport)
    const shared = { options, credentials: this.#credentials, transport: this.#transport }
    this.#askers = new Map(
      names.map((name) => [name, new Asker({ ...shared, question: rowQuestions[name] })]),
    )
  }

  /** Never rejects; a row that is none, or of another number, is no answer. */
  async ask(name: QuestionName, question: RowQuestion): Promise<Asked<WireRow>> {
    const asker = this.#askers.get(name)
    if (!asker) throw new TypeError(`'${name}' is not one of the questions`)
    return await asker.ask(question)
  }

  /** Leaves no timer and no socket. */
  async close(): Promise<void> {
    await Promise.all([...this.#askers.values()].map((asker) => asker.close()))
    await this.#credentials.close()
    await this.#transport.close()
  }
}
