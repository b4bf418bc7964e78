/** Writes a request of a published endpoint, for questions that may go together. */
import type { Endpoint } from '../../api/endpoint.js'
import type { Question } from '../../domain/compliance.js'
import type { BatchQuestion, OutgoingRequest } from './batch-question.js'

/** The endpoint's first path is the one used. Throws for an endpoint that cannot be asked of others. */
export function outgoing<Request, Response>(
  endpoint: Endpoint<Request, Response>,
  request: Request,
): OutgoingRequest {
  const { method, send, name } = endpoint
  const [path] = endpoint.paths
  if (path === undefined || send === undefined) {
    throw new TypeError(`'${name}' is not asked of others`)
  }
  return { method, path, wire: send(request) }
}

/** The first of questions that may go in one request; throws where {@link BatchQuestion.compose} must. */
export function firstOfBatch<Asks extends Question>(
  { name, group }: Pick<BatchQuestion<Asks, unknown, string>, 'name' | 'group'>,
  questions: readonly Asks[],
): Asks {
  const [first] = questions
  if (first === undefined) throw new TypeError(`a ${name} request needs a question`)
  const itsGroup = group(first)
  if (questions.some((question) => group(question) !== itsGroup)) {
    throw new TypeError(`${name} questions of different groups cannot go in one request`)
  }
  if (new Set(questions.map(({ number }) => number)).size < questions.length) {
    throw new TypeError(`a ${name} request holds each number once`)
  }
  return first
}

/** A text that is the same only for the same values; absent and empty are the same. */
export function keyOf(...values: readonly (string | number | undefined)[]): string {
  return JSON.stringify(values.map((value) => (value === '' ? undefined : value)))
}

/** An id as the API takes it: empty text means not given. */
export function given(id: string | undefined): string | undefined {
  return id === '' ? undefined : id
}
