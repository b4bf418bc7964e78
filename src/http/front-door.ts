/**
 * The two deciding calls, answered on bare `node:http`: they stand in the way of every call, and
 * express would cost several times the decision itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DecisionBody } from '../api/decision-body.js'
import type { ErrorShape } from '../api/endpoint.js'
import {
  type DecisionRequest,
  decideCall,
  predialGet,
  predialPost,
  refuseFarInstant,
} from '../api/gate.js'
import { type EndpointDescription, route } from '../api/route.js'
import type { Caller } from '../domain/caller.js'
import type { Clock } from '../domain/clock.js'
import type { Decision } from '../domain/decision.js'
import { parseDialed } from '../domain/phone-number.js'
import { AppError } from '../errors.js'
import { type BindTools, bind, pathOf } from './bind.js'
import { errorReply } from './error-body.js'
import { measureResponse, type OnRequest } from './measure.js'
import { callOf, isQueued, type PredialOptions, predialHandler } from './predial.js'
import { sendReply } from './send-reply.js'

export interface FrontDoorOptions extends PredialOptions {
  /** The decision as the HTTP caller reads it. */
  readonly document: (decision: Decision) => DecisionBody
  readonly clock: Clock
  readonly onRequest?: OnRequest
}

/** Those answered here. */
export const frontDoorEndpoints: readonly EndpointDescription[] = [
  decideCall,
  predialGet,
  predialPost,
]

type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
) => Promise<void>

/** What the server adds to a request: when it arrived, and whom to notify once its key is valid. */
export interface RequestContext extends Pick<BindTools, 'onKnown'> {
  /** The earliest that it can have arrived, on the monotonic clock. */
  readonly arrivedAtMs: number
}

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
  const predial = predialHandler(options)
  const decide = decisionHandler(options)
  return new Map<string, Door>([
    [
      '/v1/decisions',
      {
        shape: decideCall.errors,
        handlers: { POST: { name: decideCall.name, handler: decide } },
      },
    ],
    [
      '/v1/predial',
      {
        shape: predialGet.errors,
        handlers: {
          GET: { name: predialGet.name, handler: predial },
          POST: { name: predialPost.name, handler: predial },
        },
      },
    ],
  ])
}

function decisionHandler(options: FrontDoorOptions): Handler {
  const isEmergency = ({ number }: DecisionRequest) =>
    parseDialed(number, options.serviceCodes).kind === 'service-code'
  return (request, response, { arrivedAtMs, onKnown }) => {
    const decide = async (caller: Caller, fields: DecisionRequest) => {
      refuseFarInstant(fields.at, options.clock.now())
      const deliver = await options.judge(callOf(caller, fields, 'http'), arrivedAtMs)
      return () => options.document(deliver(isQueued(response)))
    }
    const answered = route(decideCall, decide, isEmergency)
    return bind(answered, { ...options, onKnown })(request, response, {})
  }
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
