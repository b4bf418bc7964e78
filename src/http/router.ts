/**
 * Finds the handler of a request by path and method. Only this file uses express, for its paths; the
 * deciding calls, which a dialer waits for, reach it only when their path is spelled in another way.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import express, { type NextFunction, type Request, type Response } from 'express'
import type { ErrorShape, Page } from '../api/endpoint.js'
import type { EndpointDescriptor, Route } from '../api/route.js'
import { AppError } from '../errors.js'
import type { Logger } from '../observability/log.js'
import { createErrorReply } from './error-reply.js'
import { createHealthPages, type HealthOptions } from './health.js'
import { KeptReply } from './kept-reply.js'
import { type AnswerPlain, type ThrottledSocket, throttledSocketOf } from './limits/connections.js'
import type { StrangersAllowance } from './limits/strangers-allowance.js'
import { isJsonRequest } from './request/read-body.js'
import {
  createRouteHandler,
  type RequestContext,
  type RequestHandler,
  type RouteHandlerDeps,
} from './route-handler.js'
import { sendReply } from './send-reply.js'

/** An endpoint with a handler of its own, in place of that of {@link createRouteHandler}. */
export interface HttpRoute {
  readonly endpoint: Pick<EndpointDescriptor, 'name' | 'method' | 'paths' | 'errors'>
  readonly handle: RequestHandler
  /** Answers those requests to the endpoint that need no more than a glance. */
  readonly answerPlain?: AnswerPlain
}

export interface RouterOptions extends RouteHandlerDeps {
  readonly routes: readonly Route[]
  readonly decisionRoutes?: readonly HttpRoute[] | undefined
  readonly ops: HealthOptions
  /** Further answers that need no key, by path. */
  readonly pages?: ReadonlyMap<string, Page> | undefined
  readonly strangers: StrangersAllowance
  /** Answers everything below `/console`; absent if that does not exist. */
  readonly console?: ConsoleHandler | undefined
}

/** A handler of Express; `next` takes an error that was not expected. */
export type ConsoleHandler = (request: Request, response: Response, next: NextFunction) => unknown

type RoutesByMethod = ReadonlyMap<string, HttpRoute>

/** Paths are compared without letter case, and a slash at their end is ignored. */
export function createRouter(options: RouterOptions): RequestListener {
  const { logger } = options
  const app = express()
  app.disable('x-powered-by')
  const health = createHealthPages(options.ops, logger)
  for (const [path, page] of [...health, ...(options.pages ?? [])]) {
    const kept = new KeptReply(path, page, options)
    app.get(path, (request, response) => kept.answer(request, response))
  }
  const { console } = options
  if (console) {
    app.use('/console', (request, response, next) => {
      nameEndpoint({ request, response }, 'console')
      return console(request, response, next)
    })
  } else {
    app.use('/console', (request, response) => {
      const message = 'The console is off, since the setting console.enabled is false'
      sendRefusal(new AppError('not-found', message), { request, response, logger })
    })
  }
  const routes = options.routes.map((route) => ({
    endpoint: route.endpoint,
    handle: createRouteHandler(route, options),
  }))
  for (const [path, methods] of groupByPath([...(options.decisionRoutes ?? []), ...routes])) {
    app.all(path, (request: Request<Record<string, string>>, response: Response) =>
      dispatch(methods, { request, response, logger, parameters: request.params }),
    )
  }
  app.use((request: Request, response: Response) =>
    dispatch(new Map(), { request, response, logger, parameters: {} }),
  )
  // Express recognizes handlers of errors by their four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    const shape = errorShapeForPath(request.path)
    sendRefusal(toAddressError(error), { request, response, logger }, shape)
  })
  return app
}

/** HEAD means no route: some calls by GET write, and HEAD never may. */
async function dispatch(
  methods: RoutesByMethod,
  { parameters, ...exchange }: Exchange & Pick<RequestContext, 'parameters'>,
): Promise<void> {
  const { request, response } = exchange
  const route = methods.get(request.method ?? '')
  const connection = nameEndpoint(exchange, route?.endpoint.name ?? 'unmatched')
  if (!route) return void refuseRequest(methods, exchange)
  await route.handle(request, response, { path: pathOf(request), parameters, connection })
}

/** For the metrics. Returns the connection. */
function nameEndpoint(
  { request, response }: Pick<Exchange, 'request' | 'response'>,
  name: string,
): ThrottledSocket {
  const connection = throttledSocketOf(request)
  const pending = connection.pending.get(response)
  if (pending) pending.endpoint = name
  return connection
}

function groupByPath(routes: readonly HttpRoute[]): ReadonlyMap<string, RoutesByMethod> {
  const byPath = new Map<string, Map<string, HttpRoute>>()
  for (const route of routes) {
    for (const path of route.endpoint.paths.map((one) => one.toLowerCase())) {
      const methods = byPath.get(path) ?? new Map<string, HttpRoute>()
      byPath.set(path, methods.set(route.endpoint.method, route))
    }
  }
  return byPath
}

/** Express refuses an address whose percent signs mean nothing with an error of status 400. */
function toAddressError(error: unknown): unknown {
  const isRefusal = error instanceof Error && 'status' in error && error.status === 400
  return isRefusal ? new AppError('invalid-request', 'The address is not well formed') : error
}

/** The path of a request as sent, without its query. */
export function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? ''
}

/** The errors of a path without an endpoint look like those of its neighbors. */
function errorShapeForPath(path: string): ErrorShape {
  const start = path.toLowerCase()
  if (start.startsWith('/app/main/rpc/')) return 'text'
  return start.startsWith('/v1.5/geoscrub/') ? 'reason-phrase' : 'problem'
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly logger: Logger
}

/** Refuses a path that has no methods, or a method that is none of its. */
function refuseRequest(methods: RoutesByMethod, exchange: Exchange): void {
  const { request, response } = exchange
  const [route] = methods.values()
  if (!route) {
    const problem = `${pathOf(request)} not found; /docs lists all endpoints`
    return void sendRefusal(new AppError('not-found', problem), exchange)
  }
  const allow = [...methods.keys()].join(', ')
  response.setHeader('Allow', allow)
  const problem = `${request.method} is not allowed here; use ${allow}`
  const error = new AppError('method-not-allowed', problem)
  sendRefusal(error, exchange, route.endpoint.errors)
}

function sendRefusal(
  error: unknown,
  { request, response, logger }: Exchange,
  shape: ErrorShape = errorShapeForPath(pathOf(request)),
): void {
  if (response.headersSent) return void response.destroy()
  const jsonRequested = isJsonRequest(request)
  const context = { shape, jsonRequested, path: pathOf(request), endpoint: 'unmatched' }
  sendReply(response, createErrorReply(error, context, logger))
}
