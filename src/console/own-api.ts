/** The API of this process as the pages of the console use it: with the rights, limits and audit rows of who is signed in. */
import type { BytesReply, Endpoint, Reply, StreamedReply } from '../api/endpoint.js'
import { type Route, requirePersonMay } from '../api/route.js'
import type { Caller } from '../domain/caller.js'
import { AppError } from '../errors.js'
import { answerOwnRequest, type OwnRequest, type RouteHandlerDeps } from '../http/route-handler.js'

export type OwnReply = Reply | BytesReply | StreamedReply

export class OwnApi {
  readonly #routes: ReadonlyMap<string, Route>
  readonly #deps: RouteHandlerDeps

  constructor(routes: readonly Route[], deps: RouteHandlerDeps) {
    this.#routes = new Map(routes.map((route) => [route.endpoint.name, route]))
    this.#deps = deps
  }

  /** Whether the caller may make some request to an endpoint. */
  permits(caller: Caller, endpoint: Pick<Endpoint<never, unknown>, 'name'>): boolean {
    try {
      this.require(caller, endpoint)
      return true
    } catch (cause) {
      if (cause instanceof AppError) return false
      throw cause
    }
  }

  /** Throws `forbidden` unless the caller may make some request to an endpoint. */
  require(caller: Caller, endpoint: Pick<Endpoint<never, unknown>, 'name'>): void {
    const route = this.#find(endpoint)
    route.requireRights(caller)
    requirePersonMay(caller, route.endpoint)
  }

  /**
   * The answer as it is sent; of an endpoint with an encoding of its own, `response` reads it. Rejects with refusals, as
   * {@link OwnApi.send} does.
   */
  async call<Response>(
    caller: Caller,
    endpoint: Pick<Endpoint<never, Response>, 'name' | 'response'>,
    request: OwnRequest = {},
  ): Promise<Response> {
    const reply = await this.send(caller, endpoint, request)
    if ('json' in reply) return reply.json as Response
    if ('bytes' in reply) return JSON.parse(reply.bytes.toString('utf8'))
    if ('text' in reply) return JSON.parse(reply.text)
    throw new Error(`${endpoint.name} answered with a stream`)
  }

  /** Rejects with the refusals of the API, which name its fields. */
  async send(
    caller: Caller,
    endpoint: Pick<Endpoint<never, unknown>, 'name'>,
    request: OwnRequest = {},
  ): Promise<OwnReply> {
    const route = this.#find(endpoint)
    requirePersonMay(caller, route.endpoint)
    return await answerOwnRequest(route, { ...request, caller }, this.#deps)
  }

  #find({ name }: { readonly name: string }): Route {
    const route = this.#routes.get(name)
    if (!route) throw new Error(`there is no endpoint ${name}`)
    return route
  }
}
