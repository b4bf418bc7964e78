/** Passes requests for a decision to their routes, before all others. */
import type { RequestListener } from 'node:http'
import { type AnswerPlain, throttledSocketOf } from './limits/connections.js'
import type { HttpRoute } from './router.js'

/** What the server asks first, since a dialer waits for the answers. */
export interface DecisionListener {
  /** Passes all other requests to the router, also those that spell a path of these in another way. */
  readonly answer: RequestListener
  readonly answerPlain: AnswerPlain
}

export function createDecisionListener(
  routes: readonly HttpRoute[],
  router: RequestListener,
): DecisionListener {
  const byTarget = new Map<string, HttpRoute>()
  for (const route of routes) {
    const { method, paths } = route.endpoint
    for (const path of paths) byTarget.set(`${method} ${path}`, route)
  }
  return {
    answer(request, response) {
      const [path = ''] = (request.url ?? '').split('?', 1)
      const route = byTarget.get(`${request.method} ${path}`)
      if (!route) return router(request, response)
      const pending = throttledSocketOf(request).pending.get(response)
      if (pending) pending.endpoint = route.endpoint.name
      // A handler that rejects could not even write a refusal.
      route.handle(request, response, { path, parameters: {} }).catch(() => response.destroy())
    },
    answerPlain(request, socket) {
      const { target } = request
      const queryStart = target.indexOf('?')
      const name = queryStart === -1 ? target : target.slice(0, queryStart)
      return byTarget.get(name)?.answerPlain?.(request, socket) ?? false
    },
  }
}
