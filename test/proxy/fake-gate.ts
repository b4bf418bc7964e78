/** The endpoints of a gate that the proxy uses besides decisions, which a real callgate makes. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import { platformNames } from '../../src/platform-events/call-event.js'

const platform = z.enum(platformNames)
const schemas = {
  '/v1/platform-calls': z.strictObject({
    platform,
    calls: z
      .array(
        z.strictObject({
          decisionId: z.string().regex(/^[\w-]{2,64}$/),
          number: z.string().regex(/^\d{10}$/),
          callIds: z.array(z.string().min(1)).min(1).optional(),
          fetchedAt: z.iso.datetime().optional(),
        }),
      )
      .min(1),
  }),
  '/v1/platform-events': z.strictObject({
    platform,
    receivedAt: z.iso.datetime(),
    body: z.string().max(4_000_000),
    query: z.string(),
    delivery: z.enum(['fetched', 'late']).optional(),
  }),
  '/v1/platform-reports': z.strictObject({
    platform,
    refusedSignatures: z.int().positive().optional(),
    canFetch: z.boolean().optional(),
  }),
} as const

type Path = keyof typeof schemas
type Stored = { readonly [P in Path]: z.infer<(typeof schemas)[P]>[] }

export interface FakeGate {
  readonly url: string
  readonly key: string
  /** What it has stored, by path. */
  readonly stored: Stored
  /** What `GET /v1/platform-calls` answers. */
  due: readonly object[]
  /** How often each path has been asked for, also in vain. */
  readonly asked: Record<string, number>
  /** Paths that fail, with the status of their answer and how often; always if absent. */
  readonly failing: Map<string, { readonly status: number; times?: number }>
  /** Resolves when the condition holds after a request. */
  until(condition: () => boolean): Promise<void>
  close(): Promise<void>
}

/** Decisions are made by the real gate. */
export async function openFakeGate(real: { url: string; key: string }): Promise<FakeGate> {
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    void answer(request).then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(body)
      for (const check of waiting) check()
    })
  })

  async function answer(request: IncomingMessage): Promise<{ status: number; body: string }> {
    const { method = '', url = '', headers } = request
    const parts: Buffer[] = []
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
    const text = Buffer.concat(parts).toString()
    const [path = ''] = url.split('?')
    gate.asked[path] = (gate.asked[path] ?? 0) + 1
    const failure = gate.failing.get(path)
    if (failure) {
      if (failure.times !== undefined && --failure.times === 0) gate.failing.delete(path)
      return { status: failure.status, body: '{}' }
    }
    if (headers.loginid !== real.key) return { status: 401, body: '{}' }
    if (method === 'GET' && /^\/v1\/platform-calls\?platform=\w+&due=fetch$/.test(url)) {
      return { status: 200, body: JSON.stringify({ calls: gate.due }) }
    }
    if (method === 'POST' && path in schemas) {
      const known = path as Path
      const read = schemas[known].safeParse(JSON.parse(text))
      if (!read.success) return { status: 400, body: JSON.stringify(read.error.issues) }
      ;(gate.stored[known] as unknown[]).push(read.data)
      return { status: 200, body: '{"recorded":true}' }
    }
    const passed = await fetch(real.url + url, {
      method,
      headers: { loginId: real.key, 'content-type': 'application/json' },
      ...(method === 'POST' && { body: text }),
    }).catch(() => undefined)
    return { status: passed?.status ?? 502, body: (await passed?.text()) ?? '' }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const gate: FakeGate = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: real.key,
    stored: { '/v1/platform-calls': [], '/v1/platform-events': [], '/v1/platform-reports': [] },
    due: [],
    asked: {},
    failing: new Map(),
    until: (condition) =>
      new Promise((resolve) => {
        const check = () => {
          if (!condition()) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return gate
}
