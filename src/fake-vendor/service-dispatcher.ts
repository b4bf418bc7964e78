/**
 * Produces the correct answers: calls the routes of the compliance service and buffers their replies,
 * so that a fault can be applied before sending.
 */
import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Route } from '../api/route.js'
import { AppError } from '../errors.js'
import type { Authenticate } from '../http/authenticate.js'
import { createErrorReply } from '../http/error-reply.js'
import { createRouteHandler } from '../http/route-handler.js'
import { pathOf } from '../http/router.js'
import type { Logger } from '../observability/log.js'
import { toVendorReply, type VendorReply } from './vendor-reply.js'

export interface ServiceDispatcherOptions {
  /** Must not have parameters in their paths. */
  readonly routes: readonly Route[]
  readonly authenticate: Authenticate
  readonly logger: Logger
}

export interface DispatchOptions {
  /** Called with the count of telephone numbers in a request, once they are read. */
  readonly onNumbers: (numbers: number) => void
  /** Read the request without calling the service, since another reply will be sent. */
  readonly isSkipped: boolean
}

const maxBodyBytes = 8 * 1024 * 1024

export class ServiceDispatcher {
  readonly #bindDeps
  readonly #logger: Logger
  readonly #routes: ReadonlyMap<string, readonly Route[]>

  constructor({ routes, authenticate, logger }: ServiceDispatcherOptions) {
    this.#logger = logger
    this.#bindDeps = { authenticate, logger, maxBodyBytes }
    const byPath = new Map<string, readonly Route[]>()
    for (const route of routes) {
      for (const path of route.endpoint.paths) {
        const key = path.toLowerCase()
        byPath.set(key, [...(byPath.get(key) ?? []), route])
      }
    }
    this.#routes = byPath
  }

  /** The service's reply to a request, including errors. The path is normalized as for `findTarget`. */
  async dispatch(
    request: IncomingMessage,
    path: string,
    options: DispatchOptions,
  ): Promise<VendorReply> {
    const routes = this.#routes.get(path) ?? []
    const route = routes.find(({ endpoint }) => endpoint.method === request.method)
    if (!route) return this.#createNoRouteReply(request, routes)
    const held = new BufferedResponse(request)
    const handle = createRouteHandler(withNumberCount(route, options), this.#bindDeps)
    await handle(request, held, { path: pathOf(request), parameters: {} })
    return held.reply()
  }

  #createNoRouteReply(request: IncomingMessage, routes: readonly Route[]): VendorReply {
    const allow = routes.map(({ endpoint }) => endpoint.method).join(', ')
    const error =
      routes.length === 0
        ? new AppError('not-found', `${pathOf(request)} not found`)
        : new AppError('method-not-allowed', `${request.method} is not allowed here; use ${allow}`)
    const shape = routes[0]?.endpoint.errors ?? 'problem'
    const path = pathOf(request)
    const context = { shape, jsonRequested: false, path, endpoint: 'unmatched' } as const
    return toVendorReply(
      createErrorReply(error, context, this.#logger),
      allow === '' ? {} : { Allow: allow },
    )
  }
}

/** Wraps a route so that it reports its count of numbers before it answers. */
function withNumberCount(route: Route, { onNumbers, isSkipped }: DispatchOptions): Route {
  return {
    ...route,
    async handle(fields, context) {
      onNumbers(countNumbers(fields))
      return isSkipped ? { text: '' } : await route.handle(fields, context)
    },
  }
}

/** Counts the numbers in the two fields that the API uses for them, in any letter case. */
function countNumbers(fields: unknown): number {
  if (typeof fields !== 'object' || fields === null) return 0
  for (const [name, value] of Object.entries(fields)) {
    const field = name.toLowerCase()
    if (field === 'phonelist' && typeof value === 'string') {
      return value.split(',').filter((part) => part.trim() !== '').length
    }
    if (field === 'istimelegaltocall' && Array.isArray(value)) return value.length
  }
  return 0
}

/** Keeps a reply instead of sending it. */
class BufferedResponse extends ServerResponse {
  #status = 200
  #headers: Readonly<Record<string, string>> = {}
  readonly #body: Buffer[] = []

  override writeHead(status: number, ...more: readonly unknown[]): this {
    this.#status = status
    this.#headers = toTextHeaders(more.at(-1) as OutgoingHttpHeaders | undefined)
    return this
  }

  override write(...parts: readonly unknown[]): boolean {
    const [piece] = parts
    if (typeof piece === 'string' || Buffer.isBuffer(piece)) this.#body.push(Buffer.from(piece))
    return true
  }

  override end(...parts: readonly unknown[]): this {
    this.write(...parts)
    return this
  }

  reply(): VendorReply {
    return { status: this.#status, headers: this.#headers, body: Buffer.concat(this.#body) }
  }
}

/** Without the length, which is set when the reply is sent. */
function toTextHeaders(headers: OutgoingHttpHeaders = {}): Readonly<Record<string, string>> {
  const kept = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-length')
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]))
}
