/**
 * The right answers: the routes of the compliance service, asked one by one and held back, so that
 * what is sent, and how, is decided elsewhere.
 */
import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Route } from '../api/route.js'
import { AppError } from '../errors.js'
import type { Authenticate } from '../http/authenticate.js'
import { bind, pathOf } from '../http/bind.js'
import { errorReply } from '../http/error-body.js'
import type { Logger } from '../log.js'
import { type VendorReply, vendorReply } from './vendor-reply.js'

export interface ServiceRepliesOptions {
  /** Without parameters in their paths. */
  readonly routes: readonly Route[]
  readonly authenticate: Authenticate
  readonly logger: Logger
}

export interface AskedService {
  /** Told how many telephone numbers a request holds, once they are read. */
  readonly onNumbers: (numbers: number) => void
  /** The request is read and the service is not asked: another reply will go out. */
  readonly unasked: boolean
}

const largestBody = 8 * 1024 * 1024

export class ServiceReplies {
  readonly #tools
  readonly #logger: Logger
  readonly #routes: ReadonlyMap<string, readonly Route[]>

  constructor({ routes, authenticate, logger }: ServiceRepliesOptions) {
    this.#logger = logger
    this.#tools = { authenticate, logger, maxBodyBytes: largestBody }
    const byPath = new Map<string, readonly Route[]>()
    for (const route of routes) {
      for (const path of route.endpoint.paths) {
        const key = path.toLowerCase()
        byPath.set(key, [...(byPath.get(key) ?? []), route])
      }
    }
    this.#routes = byPath
  }

  /** The service's reply to a request, refusals included. The path is normal: see `targetOf`. */
  async reply(request: IncomingMessage, path: string, asked: AskedService): Promise<VendorReply> {
    const routes = this.#routes.get(path) ?? []
    const route = routes.find(({ endpoint }) => endpoint.method === request.method)
    if (!route) return this.#noRoute(request, routes)
    const held = new HeldResponse(request)
    await bind(counted(route, asked), this.#tools)(request, held, {})
    return held.reply()
  }

  #noRoute(request: IncomingMessage, routes: readonly Route[]): VendorReply {
    const allow = routes.map(({ endpoint }) => endpoint.method).join(', ')
    const error =
      routes.length === 0
        ? new AppError('not-found', `There is nothing at ${pathOf(request)}`)
        : new AppError('method-not-allowed', `${request.method} is not allowed here; use ${allow}`)
    const shape = routes[0]?.endpoint.errors ?? 'problem'
    const path = pathOf(request)
    const context = { shape, jsonRequested: false, path, endpoint: 'unmatched' } as const
    return vendorReply(
      errorReply(error, context, this.#logger),
      allow === '' ? {} : { Allow: allow },
    )
  }
}

/** The same route, which tells of its numbers before it answers. */
function counted(route: Route, { onNumbers, unasked }: AskedService): Route {
  return {
    ...route,
    async answer(fields, context) {
      onNumbers(numbersIn(fields))
      return unasked ? { text: '' } : await route.answer(fields, context)
    },
  }
}

/** Numbers by the two names the API lists them under, in any letter case. */
function numbersIn(fields: unknown): number {
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

/** Takes a reply as `node:http` is handed it, and keeps it instead of sending it. */
class HeldResponse extends ServerResponse {
  #status = 200
  #headers: Readonly<Record<string, string>> = {}
  readonly #body: Buffer[] = []

  override writeHead(status: number, ...more: readonly unknown[]): this {
    this.#status = status
    this.#headers = textHeaders(more.at(-1) as OutgoingHttpHeaders | undefined)
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

/** The length is counted anew from what is sent. */
function textHeaders(headers: OutgoingHttpHeaders = {}): Readonly<Record<string, string>> {
  const kept = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-length')
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]))
}
