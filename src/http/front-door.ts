/**
 * The two deciding calls, answered on bare `node:http`: they stand in the way of every call, and
 * express would cost several times the decision itself. Whatever goes wrong on the pre-dial path
 * is a `block:...:end` line, except for emergency and service codes, which pass even without a key.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type DecisionBody,
  type DecisionRequest,
  decideCall,
  predialGet,
  predialLine,
  predialPost,
} from '../api/gate.js'
import { route } from '../api/route.js'
import type { Caller } from '../domain/caller.js'
import { monotonicSeconds } from '../domain/clock.js'
import type { CallRequest, Decision } from '../domain/decision.js'
import { parseDialed } from '../domain/phone-number.js'
import { AppError } from '../errors.js'
import { callerOf, keyInHeaders } from './authenticate.js'
import { type BindTools, bind, pathOf } from './bind.js'
import { errorReply } from './error-body.js'
import { joinFields, type RawFields, readBodyFields, readQuery } from './read-fields.js'
import { sendReply } from './send-reply.js'
import type { RequestMeasure } from './server.js'

export interface FrontDoorOptions extends BindTools {
  readonly decide: (call: CallRequest) => Promise<Decision>
  /** The decision as the HTTP caller reads it. */
  readonly document: (decision: Decision) => DecisionBody
  readonly serviceCodes: ReadonlySet<string>
  /** Judged for an emergency call that comes without a valid key. */
  readonly defaultAccount: string
  readonly onRequest?: (measure: RequestMeasure) => void
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Gives a function that says `true` when it has taken a request over. */
export function createFrontDoor(
  options: FrontDoorOptions,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const decisions = decisionHandler(options)
  const predial = predialHandler(options)
  const handlers: ReadonlyMap<string, { readonly name: string; readonly handler: Handler }> =
    new Map([
      ['POST /v1/decisions', { name: decideCall.name, handler: decisions }],
      ['GET /v1/predial', { name: predialGet.name, handler: predial }],
      ['POST /v1/predial', { name: predialPost.name, handler: predial }],
    ])
  const wrongMethod = { name: predialGet.name, handler: refuseMethod(options) }
  return (request, response) => {
    const path = normalPath(request)
    const found =
      handlers.get(`${request.method} ${path}`) ??
      (path === '/v1/predial' ? wrongMethod : undefined)
    if (!found) return false
    measure(response, found.name, options.onRequest)
    void found.handler(request, response)
    return true
  }
}

function normalPath(request: IncomingMessage): string {
  const path = pathOf(request).toLowerCase()
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

function measure(
  response: ServerResponse,
  endpoint: string,
  onRequest: FrontDoorOptions['onRequest'],
): void {
  if (!onRequest) return
  const started = monotonicSeconds()
  response.once('close', () => {
    const status = response.writableFinished ? response.statusCode : 499
    onRequest({ endpoint, status, seconds: monotonicSeconds() - started })
  })
}

function decisionHandler(options: FrontDoorOptions): Handler {
  const answered = route(decideCall, async (caller, request) =>
    options.document(await options.decide(callOf(caller, request, 'http'))),
  )
  const handler = bind(answered, options)
  return (request, response) => handler(request, response, {})
}

function predialHandler(options: FrontDoorOptions): Handler {
  const answered = route(predialGet, async (caller, request) => {
    return { line: predialLine(await options.decide(callOf(caller, request, 'predial'))) }
  })
  return async (request, response) => {
    const context = {
      shape: predialGet.errors,
      jsonRequested: false,
      path: pathOf(request),
      endpoint: predialGet.name,
    }
    try {
      const fields = await predialFields(request, options)
      const caller = await predialCaller(request, fields, options)
      sendReply(response, await answered.answer(fields, { caller, jsonRequested: false }))
    } catch (error) {
      sendReply(response, errorReply(error, context, options.logger))
    }
  }
}

/** An emergency call needs nothing but its number. */
async function predialFields(
  request: IncomingMessage,
  { maxBodyBytes, serviceCodes }: FrontDoorOptions,
): Promise<RawFields> {
  const query = readQuery(request)
  const body =
    request.method === 'GET'
      ? {}
      : (await readBodyFields(request, { accepts: predialPost.accepts, maxBytes: maxBodyBytes }))
          .fields
  const fields = joinFields([query, body])
  return isServiceCode(fields, serviceCodes) ? { number: fields.number, kind: 'manual' } : fields
}

async function predialCaller(
  request: IncomingMessage,
  fields: RawFields,
  { authenticate, defaultAccount, serviceCodes }: FrontDoorOptions,
): Promise<Caller> {
  try {
    return await callerOf(keyInHeaders(request), authenticate)
  } catch (error) {
    if (!isServiceCode(fields, serviceCodes)) throw error
    return { accountId: defaultAccount, role: 'Agent', keyId: 'none' }
  }
}

function isServiceCode({ number }: RawFields, serviceCodes: ReadonlySet<string>): boolean {
  return typeof number === 'string' && parseDialed(number, serviceCodes).kind === 'service-code'
}

function callOf(caller: Caller, request: DecisionRequest, via: CallRequest['via']): CallRequest {
  const { number: dialed, ...rest } = request
  return { ...rest, dialed, accountId: caller.accountId, via }
}

function refuseMethod({ logger }: FrontDoorOptions): Handler {
  return async (request, response) => {
    response.setHeader('Allow', 'GET, POST')
    const error = new AppError('method-not-allowed', `${request.method} is not allowed here`)
    const context = { shape: predialGet.errors, jsonRequested: false, path: pathOf(request) }
    sendReply(response, errorReply(error, { ...context, endpoint: predialGet.name }, logger))
  }
}
