/** The server itself: health, readiness, metrics, router, opening and closing. */
import { createServer, request } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { defineEndpoint } from '../../src/api/endpoint.js'
import { fields } from '../../src/api/fields.js'
import { createRoute, type Route } from '../../src/api/route.js'
import type { Readiness, ReadinessCheck } from '../../src/http/health.js'
import type { HttpRoute } from '../../src/http/router.js'
import { until } from '../e2e/asterisk/lab/until.js'
import { adminKey, openTestApp } from '../support/test-app.js'

/** Answers with its `id`, once `gate` lets it. */
function echo(gate: () => Promise<void> = async () => undefined): Route {
  const descriptor = defineEndpoint({
    name: 'echo',
    summary: 'Says what it was asked.',
    spec: 'none',
    method: 'GET',
    paths: ['/v1/echo/:id'],
    accepts: ['query'],
    keyAlsoIn: [],
    rights: [],
    scopes: 'none',
    request: fields({ id: z.string(), more: z.string().optional() }),
    response: z.object({ id: z.string() }),
    errors: 'problem',
  })
  return createRoute(descriptor, async (_caller, { id }) => {
    await gate()
    return { id }
  })
}

/** A promise that is kept when somebody opens it. */
function latch(): { readonly open: () => void; readonly opened: Promise<void> } {
  let keep: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    keep = resolve
  })
  return { open: () => keep(), opened }
}

function refusesConnections(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true))
  }).finally(() => socket.destroy()) as Promise<boolean>
}

const renderMetrics = async () => ({ contentType: 'text/plain; version=0.0.4', body: 'up 1\n' })

describe('for operators, without a key', () => {
  const checks = (...results: readonly boolean[]): ReadinessCheck[] =>
    results.map((ready, index) => ({
      name: `check-${index}`,
      check: () => ({ ready, detail: 'why' }),
    }))
  const broken: ReadinessCheck = {
    name: 'broken',
    check: () => {
      throw new Error('no answer')
    },
  }
  test.each<[string, ReadinessCheck[], number, unknown]>([
    ['nothing to check', [], 200, { ready: true, checks: [] }],
    [
      'all ready',
      checks(true),
      200,
      { ready: true, checks: [{ name: 'check-0', ready: true, detail: 'why' }] },
    ],
    ['one not ready', checks(true, false), 503, { ready: false }],
    [
      'a check that fails',
      [broken],
      503,
      { ready: false, checks: [{ name: 'broken', ready: false }] },
    ],
  ])('/readyz with %s', async (_case, checked, status, body) => {
    const app = await openTestApp({
      routes: [],
      ops: { checks: checked, renderMetrics },
    })
    const answer = await app.send('/readyz', { key: null })
    expect(answer.status).toBe(status)
    expect(answer.json()).toMatchObject(body as object)
    expect((await app.send('/healthz', { key: null })).status).toBe(200)
  })

  test('/readyz does not wait for a check that hangs, which is then not ready', async () => {
    let asked = 0
    const hanging: ReadinessCheck = {
      name: 'hanging',
      check: () => {
        asked += 1
        return new Promise(() => undefined)
      },
    }
    const ops = { checks: [...checks(true), hanging], renderMetrics }
    const app = await openTestApp({ routes: [], ops })
    for (let request = 0; request < 3; request += 1) {
      const answer = await app.send('/readyz', { key: null })
      expect(answer.status).toBe(503)
      expect(answer.json()).toMatchObject({
        checks: [
          { ready: true },
          { name: 'hanging', ready: false, detail: expect.stringContaining('300 ms') },
        ],
      })
    }
    expect(asked).toBe(1)
  })

  test('/readyz never repeats an old result: a check that takes too long is not ready', async () => {
    let end: (() => void) | undefined
    let isSlow = false
    const check = (): Promise<Readiness> =>
      new Promise((resolve) => {
        end = () => resolve({ ready: true, detail: 'fine' })
        if (!isSlow) end()
      })
    const ops = { checks: [{ name: 'slow', check }], renderMetrics }
    const app = await openTestApp({ routes: [], ops })
    expect((await app.send('/readyz')).status).toBe(200)
    isSlow = true
    expect((await app.send('/readyz')).status).toBe(503)
    end?.()
    isSlow = false
    expect((await app.send('/readyz')).status).toBe(200)
  })

  test('/metrics hands on text and type', async () => {
    const app = await openTestApp({ routes: [], ops: { checks: [], renderMetrics } })
    const answer = await app.send('/metrics', { key: null })
    expect(answer.text).toBe('up 1\n')
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4')
  })

  test('metrics that cannot be had are a 500 that tells nothing', async () => {
    const ops = { checks: [], renderMetrics: () => Promise.reject(new Error('secret cause')) }
    const answer = await (await openTestApp({ routes: [], ops })).send('/metrics')
    expect(answer.status).toBe(500)
    expect(answer.text).not.toContain('secret cause')
  })
})

describe('routes', () => {
  test('a path parameter is a field; the same field in the address as well is refused', async () => {
    const app = await openTestApp({ routes: [echo()] })
    expect((await app.send('/V1/Echo/A%20b?more=1')).json()).toEqual({ id: 'A b' })
    expect((await app.send('/v1/echo/a?id=b')).status).toBe(400)
    expect((await app.send('/v1/echo/%E0%A4%A')).status).toBe(400)
  })

  test('HEAD is refused and acts on nothing: a call by GET may write', async () => {
    let acted = 0
    const act = async () => {
      acted += 1
    }
    const app = await openTestApp({ routes: [echo(act)] })
    const answer = await app.send('/v1/echo/a', { method: 'HEAD' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET'])
    expect(acted).toBe(0)
    expect((await app.send('/v1/echo/a')).status).toBe(200)
    expect(acted).toBe(1)
  })

  test.each(['/healthz', '/readyz', '/metrics'])('HEAD %s is answered as GET', async (path) => {
    const app = await openTestApp({ routes: [] })
    const answer = await app.send(path, { key: null, method: 'HEAD' })
    expect([answer.status, answer.text]).toEqual([200, ''])
  })

  test.each([
    ['/v1/echo/a%20b', 200],
    ['/V1/ECHO/a/', 200],
    ['http://callgate.example/v1/echo/a', 200],
    ['/v1/%65cho/a', 404],
    ['/%6Detrics', 404],
    ['/v1/echo/a//', 404],
    ['/v1/echo/%zz', 400],
  ])('GET %s is %i: paths are compared as sent, parameters decoded', async (path, status) => {
    const app = await openTestApp({ routes: [echo()] })
    const { hostname, port } = new URL(app.url)
    const answered = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { loginId: adminKey }
      const sent = request({ hostname, port, path, headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      sent.on('error', reject).end()
    })
    expect(answered).toBe(status)
  })

  test('a path without parameters goes first', async () => {
    const front: HttpRoute = {
      endpoint: { name: 'front', method: 'GET', paths: ['/v1/echo/front'], errors: 'problem' },
      handle: async (_request, response) => void response.end('front'),
    }
    const app = await openTestApp({ routes: [echo()], decisionRoutes: [front] })
    expect((await app.send('/v1/echo/front')).text).toBe('front')
    expect((await app.send('/v1/echo/back')).json()).toEqual({ id: 'back' })
    // The router finds another spelling of its path.
    expect((await app.send('/V1/echo/Front/?a=1')).text).toBe('front')
  })
})

describe('opening and closing', () => {
  test('a port in use is an error of openServer', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as { port: number }
    await expect(openTestApp({ routes: [], port })).rejects.toThrow('EADDRINUSE')
  })

  test('close waits for requests under way, takes no new ones, and may be called twice', async () => {
    const [entered, released] = [latch(), latch()]
    const app = await openTestApp({
      routes: [
        echo(() => {
          entered.open()
          return released.opened
        }),
      ],
    })
    const underWay = app.send('/v1/echo/slow')
    await entered.opened
    const closing = Promise.all([app.close(), app.close()])
    await until('new connections are refused', () => refusesConnections(app.url))
    released.open()
    expect((await underWay).json()).toEqual({ id: 'slow' })
    await closing
  })

  test('a request that outlasts the grace is cut off', async () => {
    const entered = latch()
    const app = await openTestApp({
      closeGraceMs: 20,
      routes: [
        echo(() => {
          entered.open()
          return new Promise<void>(() => undefined)
        }),
      ],
    })
    const cutOff = expect(app.send('/v1/echo/stuck')).rejects.toThrow()
    await entered.opened
    await app.close()
    await cutOff
  })
})
