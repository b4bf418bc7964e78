/** Defines a {@link BatchQuestion} from the parts that differ between questions. */
import type { Endpoint } from '../../../api/endpoint.js'
import type { Question, QuestionName } from '../../../domain/compliance.js'
import type { BatchQuestion, EndpointRequest } from '../batch-question.js'

/** Absent and empty are equivalent. */
type KeyPart = string | number | undefined

interface QuestionDescription<Asks extends Question, Value, Name extends string>
  extends Pick<BatchQuestion<Asks, Value, Name>, 'name' | 'maxRowBytes' | 'parseReply'>,
    Partial<Pick<BatchQuestion<Asks, Value, Name>, 'findRefusal'>> {
  /** Values that all questions of one request share. */
  readonly group: (question: Asks) => readonly KeyPart[]
  /** Values that, together with those of the group, identify a question. */
  readonly item: (question: Asks) => readonly KeyPart[]
  /** `first` is any question of the group, for the values that they share. */
  readonly buildRequest: (first: Asks, questions: readonly Asks[]) => EndpointRequest
}

export function defineQuestion<Asks extends Question, Value, Name extends string = QuestionName>({
  group,
  item,
  buildRequest,
  ...question
}: QuestionDescription<Asks, Value, Name>): BatchQuestion<Asks, Value, Name> {
  const getGroup = (asks: Asks) => buildQuestionKey(group(asks))
  return {
    findRefusal: () => undefined,
    ...question,
    getGroup,
    getIdentity: (asks) => buildQuestionKey([...group(asks), ...item(asks)]),
    buildRequest(questions) {
      const [first] = questions
      if (first === undefined) throw new TypeError(`a ${question.name} request needs a question`)
      if (new Set(questions.map(getGroup)).size > 1) {
        throw new TypeError(
          `${question.name} questions of different groups cannot go in one request`,
        )
      }
      if (new Set(questions.map(({ number }) => number)).size < questions.length) {
        throw new TypeError(`a ${question.name} request must contain each number only once`)
      }
      return buildRequest(first, questions)
    },
  }
}

export type RequestedEndpoint<Request> = Pick<
  Endpoint<Request, unknown>,
  'name' | 'method' | 'paths' | 'encodeRequest'
>

/** Uses the endpoint's first path. Throws for an endpoint that this program does not call as a client. */
export function createEndpointRequest<Request>(
  { method, paths, encodeRequest, name }: RequestedEndpoint<Request>,
  request: Request,
): EndpointRequest {
  const [path] = paths
  if (path === undefined || encodeRequest === undefined) {
    throw new TypeError(`'${name}' cannot be requested from a provider`)
  }
  return { method, path, wire: encodeRequest(request) }
}

/** A text that is unique to the values. */
function buildQuestionKey(values: readonly KeyPart[]): string {
  return JSON.stringify(values.map((value) => (value === '' ? undefined : value)))
}

/** The API treats an empty id as absent. */
export function omitEmpty(id: string | undefined): string | undefined {
  return id === '' ? undefined : id
}
