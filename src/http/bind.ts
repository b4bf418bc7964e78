/**
 * A route as a handler: find the caller, read the fields, let the route answer, write the reply.
 * Every outcome, refusals and bugs included, leaves in the shape the endpoint declares.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Reply } from '../api/endpoint.js'
import type { EndpointFacts, Route } from '../api/route.js'
import type { Caller } from '../domain/caller.js'
import { invalidRequest, shorten } from '../errors.js'
import type { Logger } from '../log.js'
import { type Authenticate, callerOf, keyInHeaders, takeKey } from './authenticate.js'
import { errorReply } from './error-body.js'
import {
  isJsonRequest,
  joinFields,
  type RawFields,
  readBodyFields,
  readQuery,
} from './read-fields.js'
import { sendReply } from './send-reply.js'

export interface BindTools {
  readonly authenticate: Authenticate
  readonly maxBodyBytes: number
  readonly logger: Logger
}

/** Path parameters come decoded, by name. */
export type RouteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  parameters: Readonly<Record<string, string>>,
) => Promise<void>

/** The handler never rejects. */
export function bind(route: Route, tools: BindTools): RouteHandler {
  return async (request, response, parameters) => {
    sendReply(response, await replyTo(request, parameters, { route, tools }))
  }
}

interface Bound {
  readonly route: Route
  readonly tools: BindTools
}

async function replyTo(
  request: IncomingMessage,
  parameters: RawFields,
  { route, tools }: Bound,
): Promise<Reply> {
  const jsonRequested = isJsonRequest(request)
  try {
    const { caller, fields } = await readRequest(request, route.endpoint, tools)
    return await route.answer(joinFields([parameters, fields]), { caller, jsonRequested })
  } catch (error) {
    const { errors: shape, name } = route.endpoint
    const path = pathOf(request)
    return errorReply(error, { shape, jsonRequested, path, endpoint: name }, tools.logger)
  }
}

/**
 * A key in the headers or the address is checked before the body is read, so that a stranger
 * cannot make us read one unless the endpoint takes its key there.
 */
async function readRequest(
  request: IncomingMessage,
  endpoint: EndpointFacts,
  { authenticate, maxBodyBytes }: BindTools,
): Promise<{ readonly caller: Caller; readonly fields: RawFields }> {
  const { accepts, keyAlsoIn } = endpoint
  const query = splitKey(readQuery(request), keyAlsoIn.includes('query'))
  const earlyKey = keyInHeaders(request) ?? query.key
  const keyMayBeInBody = keyAlsoIn.some((source) => source !== 'query')
  const early =
    earlyKey === undefined && keyMayBeInBody ? undefined : await callerOf(earlyKey, authenticate)
  const { form, fields } =
    endpoint.method === 'GET'
      ? { form: undefined, fields: {} }
      : await readBodyFields(request, { accepts, maxBytes: maxBodyBytes })
  if (!accepts.includes('query')) refuseFields(query.rest)
  const body = splitKey(fields, form !== undefined && keyAlsoIn.includes(form))
  const caller = early ?? (await callerOf(body.key, authenticate))
  return { caller, fields: joinFields([query.rest, body.rest]) }
}

function splitKey(fields: RawFields, keyAllowed: boolean) {
  return keyAllowed ? takeKey(fields) : { key: undefined, rest: fields }
}

/** On a call whose fields are in the body, a field in the address would otherwise be overlooked. */
function refuseFields(query: RawFields): void {
  const rule = 'is not read from the address; send it in the body'
  const problems = Object.keys(query).map((name) => ({ field: shorten(name), rule }))
  if (problems.length > 0) throw invalidRequest(problems)
}

/** The path of a request as sent, without its query. */
export function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? ''
}
