/**
 * Asks the four questions and returns the provider's rows unchanged, for comparing providers. Requests,
 * limits and retries are those of `RemoteCompliance`; rows are not evaluated.
 */
import type { Answer, Question, QuestionName } from '../../domain/compliance.js'
import { type BatchQuestion, withoutExpiry } from './batch-question.js'
import { ProviderConnection } from './provider-connection.js'
import { internalDncQuestion } from './questions/internal-dnc-question.js'
import { legalTimeQuestion } from './questions/legal-time-question.js'
import { litigatorQuestion } from './questions/litigator-question.js'
import { parseRows } from './questions/parse-rows.js'
import { scrubQuestion } from './questions/scrub-question.js'

/** The fields of a row by their published names. */
export type RawRow = Readonly<Record<string, unknown>>

/** Each question, with the field of its rows that contains the number. */
export const rawRowQuestions: Readonly<Record<QuestionName, BatchQuestion<Question, RawRow>>> = {
  scrub: createRawRowQuestion(scrubQuestion, 'Phone'),
  'internal-dnc': createRawRowQuestion(internalDncQuestion, 'phone'),
  litigator: createRawRowQuestion(litigatorQuestion, 'Phone'),
  'legal-time': createRawRowQuestion(legalTimeQuestion, 'PhoneNumber'),
}

function createRawRowQuestion<Asks extends Question, Value>(
  question: BatchQuestion<Asks, Value>,
  numberField: string,
): BatchQuestion<Asks, RawRow> {
  return {
    ...question,
    parseReply: (reply, questions) =>
      parseRows(reply, questions, {
        schema: { safeParse: parseRawRow },
        getNumber: (row) => String(row[numberField]),
        interpret: withoutExpiry,
      }),
  }
}

function parseRawRow(value: unknown) {
  const isRow = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isRow
    ? ({ success: true, data: value as RawRow } as const)
    : ({ success: false, error: { issues: [] } } as const)
}

export class RawRowClient extends ProviderConnection {
  readonly #clients = {
    scrub: this.openClient(rawRowQuestions.scrub),
    'internal-dnc': this.openClient(rawRowQuestions['internal-dnc']),
    litigator: this.openClient(rawRowQuestions.litigator),
    'legal-time': this.openClient(rawRowQuestions['legal-time']),
  }

  /** Never rejects; a row that is malformed or of another number is a failure. */
  async ask(name: QuestionName, question: Question): Promise<Answer<RawRow>> {
    return await this.#clients[name].ask(question)
  }
}
