/**
 * Tables of routes as one request handler: which route a request means, and what is said when it
 * means none. The one door to express, which matches paths and nothing more.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import express, { type NextFunction, type Request, type Response } from 'express'
import type { ErrorShape, Page } from '../api/endpoint.js'
import type { Route } from '../api/route.js'
import { AppError } from '../errors.js'
import type { Logger } from '../log.js'
import { type BindTools, bind, pathOf } from './bind.js'
import { errorReply } from './error-body.js'
import { measureResponse, type OnRequest } from './measure.js'
import { type Ops, opsAnswers } from './ops.js'
import { isJsonRequest } from './read-fields.js'
import { sendReply } from './send-reply.js'

export interface AppOptions extends BindTools {
  readonly routes: readonly Route[]
  readonly ops: Ops
  /** Further answers that need no key, by path. */
  readonly pages?: ReadonlyMap<string, () => Page> | undefined
  readonly onRequest?: OnRequest | undefined
}

/** Paths are compared without letter case, and a slash at their end is ignored. */
export function createApp(options: AppOptions): RequestListener {
  const { logger } = options
  const app = express()
  app.disable('x-powered-by')
  for (const [path, answer] of [...opsAnswers(options.ops, logger), ...(options.pages ?? [])]) {
    app.get(path, async (_request, response) => sendReply(response, await answer()))
  }
  for (const [path, routes] of routesByPath(options.routes)) {
    app.all(path, methodsOf(routes, options))
  }
  app.use((request: Request, response: Response) => {
    measureResponse(response, 'unmatched', options.onRequest)
    refuse(new AppError('not-found', `There is nothing at ${pathOf(request)}`), {
      ...{ request, response, logger },
      shape: shapeByPath(pathOf(request)),
    })
  })
  // Express tells handlers of errors by their four parameters.
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    refuse(addressProblem(error), { request, response, logger, shape: shapeByPath(request.path) })
  })
  return app
}

/** Paths that differ in letter case alone are one. */
function routesByPath(routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> {
  const byPath = new Map<string, readonly Route[]>()
  for (const route of routes) {
    for (const path of route.endpoint.paths) {
      const key = path.toLowerCase()
      byPath.set(key, [...(byPath.get(key) ?? []), route])
    }
  }
  return byPath
}

/** The routes of one path by method. HEAD means none: some calls by GET write, and HEAD never may. */
function methodsOf(routes: readonly Route[], options: AppOptions) {
  const byMethod = new Map<string, { readonly name: string; readonly handle: Handler }>()
  for (const route of routes) {
    const { method, name } = route.endpoint
    byMethod.set(method, { name, handle: bind(route, options) })
  }
  const allow = [...byMethod.keys()].join(', ')
  const shape = routes[0]?.endpoint.errors ?? 'problem'
  return async (request: Request<Record<string, string>>, response: Response) => {
    const bound = byMethod.get(request.method)
    measureResponse(response, bound?.name ?? 'unmatched', options.onRequest)
    if (bound) return await bound.handle(request, response, request.params)
    response.setHeader('Allow', allow)
    const problem = `${request.method} is not allowed here; use ${allow}`
    const error = new AppError('method-not-allowed', problem)
    refuse(error, { request, response, shape, logger: options.logger })
  }
}

type Handler = ReturnType<typeof bind>

/** Where no endpoint says how its errors look, its neighbours do. */
function shapeByPath(path: string): ErrorShape {
  const start = path.toLowerCase()
  if (start.startsWith('/app/main/rpc/')) return 'text'
  return start.startsWith('/v1.5/geoscrub/') ? 'reason-phrase' : 'problem'
}

/** Express refuses an address whose percent signs mean nothing with an error of status 400. */
function addressProblem(error: unknown): unknown {
  const isRefusal = error instanceof Error && 'status' in error && error.status === 400
  return isRefusal ? new AppError('invalid-request', 'The address is not well formed') : error
}

interface Refused {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly shape: ErrorShape
  readonly logger: Logger
}

function refuse(error: unknown, { request, response, shape, logger }: Refused): void {
  if (response.headersSent) return void response.destroy()
  const jsonRequested = isJsonRequest(request)
  const context = { shape, jsonRequested, path: pathOf(request), endpoint: 'unmatched' }
  sendReply(response, errorReply(error, context, logger))
}
