/** A real server over a table of routes on a free port, and a client that reads whole answers. */
import type { Route } from '../../src/api/route.js'
import { type Caller, noLimits } from '../../src/domain/caller.js'
import { openServer, type ServerOptions } from '../../src/http/server.js'
import { createSystemEventLoopMonitor, silentLogger } from '../../src/runtime/runtime.js'
import { closeAtEnd } from './close-at-end.js'

export const adminKey = 'k'.repeat(44)

export const admin: Caller = {
  accountId: 'main',
  role: 'Administrator',
  keyId: 'key-test',
  limits: noLimits,
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The text as JSON; throws when it is none. */
  json(): unknown
}

export interface TestApp {
  readonly url: string
  /** Sends the administrator's key unless `key` says otherwise; `null` sends none. */
  send(path: string, init?: RequestInit & { key?: string | null }): Promise<Answer>
  post(path: string, body: unknown, more?: RequestInit & { key?: string | null }): Promise<Answer>
  close(): Promise<void>
}

/** Closed after the test file's last test. */
export async function openTestApp(
  options: { readonly routes: readonly Route[] } & Partial<ServerOptions>,
): Promise<TestApp> {
  const server = await openServer({
    host: '127.0.0.1',
    port: 0,
    authenticate: (key) => (key === adminKey ? admin : undefined),
    ops: { checks: [], renderMetrics: async () => ({ contentType: 'text/plain', body: '' }) },
    logger: silentLogger,
    eventLoop: createSystemEventLoopMonitor(),
    ...options,
  })
  closeAtEnd(() => server.close(0))
  return { url: server.url, close: () => server.close(0), ...clientOf(server.url) }
}

/** A client for any server that speaks the API. */
function clientOf(url: string): Pick<TestApp, 'send' | 'post'> {
  const send: TestApp['send'] = async (path, { key = adminKey, ...init } = {}) => {
    const headers = new Headers(init.headers)
    if (key !== null && !headers.has('loginId')) headers.set('loginId', key)
    const response = await fetch(`${url}${path}`, { ...init, headers })
    const text = await response.text()
    const { status, headers: answered } = response
    return { status, headers: answered, text, json: () => JSON.parse(text) as unknown }
  }
  const post: TestApp['post'] = (path, body, more = {}) => {
    const headers = new Headers(more.headers)
    if (!headers.has('content-type')) headers.set('content-type', 'application/json')
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return send(path, { method: 'POST', body: text, ...more, headers })
  }
  return { send, post }
}
