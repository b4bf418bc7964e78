/**
 * The two deciding calls, answered on bare `node:http`: they stand in the way of every call, and
 * express would cost several times the decision itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorShape } from '../api/endpoint.js'
import {
  type DecisionRequest,
  decideCall,
  type PredialAnswer,
  predialGet,
  predialLine,
  predialPost,
} from '../api/gate.js'
import type { EndpointDescription } from '../api/route.js'
import { type Decision, degradedBy } from '../domain/decision.js'
import { AppError } from '../errors.js'
import { pathOf } from './bind.js'
import {
  type DecidingCall,
  type DecidingTools,
  decidingHandlers,
  type Handler,
  type RequestContext,
} from './deciding.js'
import { errorReply } from './error-body.js'
import { measureResponse, type OnRequest } from './measure.js'
import { sendReply } from './send-reply.js'

export interface FrontDoorOptions extends DecidingTools {
  readonly onRequest?: OnRequest
}

/** Those answered here. */
export const frontDoorEndpoints: readonly EndpointDescription[] = [
  decideCall,
  predialGet,
  predialPost,
]

export type FrontDoor = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
) => boolean

interface Door {
  readonly shape: ErrorShape
  /** By method. */
  readonly handlers: Readonly<Record<string, { readonly name: string; readonly handler: Handler }>>
}

/** Gives a function that says `true` when it has taken a request over. */
export function createFrontDoor(options: FrontDoorOptions): FrontDoor {
  const doors = doorsByPath(options)
  return (request, response, context) => {
    const door = doors.get(normalPath(request))
    if (!door) return false
    const found = door.handlers[request.method ?? '']
    const name = found?.name ?? 'unmatched'
    measureResponse(response, name, options.onRequest)
    if (found) void found.handler(request, response, context)
    else refuseMethod(request, response, { door, options })
    return true
  }
}

function doorsByPath(options: FrontDoorOptions): ReadonlyMap<string, Door> {
  const deciding = decidingHandlers(options)
  const handlerOf = <Answer>(call: DecidingCall<Answer>) => ({
    name: call.endpoint.name,
    handler: deciding(call),
  })
  const predial = { via: 'predial', answerOf: predialAnswer } as const
  return new Map<string, Door>([
    [
      '/v1/decisions',
      {
        shape: decideCall.errors,
        handlers: {
          POST: handlerOf({ endpoint: decideCall, via: 'http', answerOf: options.document }),
        },
      },
    ],
    [
      '/v1/predial',
      {
        shape: predialGet.errors,
        handlers: {
          GET: handlerOf({ endpoint: predialGet, ...predial }),
          POST: handlerOf({ endpoint: predialPost, ...predial }),
        },
      },
    ],
  ])
}

/** A decision that could not be made or kept is a failure, told by the status as well. */
function predialAnswer(decision: Decision, { asSent }: DecisionRequest): PredialAnswer {
  const { dialed } = decision.request
  // What else a URI or punctuation holds would not stay one part of the line.
  const number = asSent && /^\+?\d+$/.test(dialed) ? dialed : decision.number
  const failed = decision.reason === 'overloaded' || decision.reason === 'not-recorded'
  const status = failed ? 503 : 200
  return { line: predialLine({ ...decision, number }), status, degraded: degradedBy(decision) }
}

function normalPath(request: IncomingMessage): string {
  const path = pathOf(request).toLowerCase()
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

function refuseMethod(
  request: IncomingMessage,
  response: ServerResponse,
  { door, options }: { readonly door: Door; readonly options: FrontDoorOptions },
): void {
  response.setHeader('Allow', Object.keys(door.handlers).join(', '))
  const error = new AppError('method-not-allowed', `${request.method} is not allowed here`)
  const path = pathOf(request)
  const context = { shape: door.shape, jsonRequested: false, path, endpoint: 'unmatched' }
  sendReply(response, errorReply(error, context, options.logger))
}
