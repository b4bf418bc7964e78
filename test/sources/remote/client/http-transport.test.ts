/** Real sockets against servers that keep the rules and servers that do not. */
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { HttpTransport } from '../../../../src/sources/remote/client/http-transport.js'
import {
  type ProviderReply,
  TransportError,
} from '../../../../src/sources/remote/client/transport.js'

const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

interface Listening {
  url: string
  /** Connections that are open. */
  readonly sockets: Set<Socket>
  /** All that were ever made. */
  connections: number
}

async function listening(
  server: Server | ReturnType<typeof createSocketServer>,
): Promise<Listening> {
  const sockets = new Set<Socket>()
  const listens: Listening = { url: '', sockets, connections: 0 }
  server.on('connection', (socket: Socket) => {
    listens.connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  listens.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return listens
}

const httpServer = (listener: RequestListener) => listening(createServer(listener))

/** Says these bytes to each request, and what then. */
function rawServer(bytes: string, andThen: (socket: Socket) => void = () => undefined) {
  return listening(
    createSocketServer({ allowHalfOpen: true }, (socket) => {
      socket.on('data', () => socket.write(bytes, () => andThen(socket)))
      socket.on('end', () => socket.destroy())
    }),
  )
}

function transport(options: Partial<ConstructorParameters<typeof HttpTransport>[0]> = {}) {
  const made = new HttpTransport({ connections: 4, ...options })
  ends.push(() => made.close())
  return made
}

interface Send {
  readonly body?: string
  readonly abortMs?: number
  readonly path?: string
}

function send(over: HttpTransport, url: string, { body, abortMs, path = '/' }: Send = {}) {
  const controller = new AbortController()
  if (abortMs !== undefined) setTimeout(() => controller.abort(), abortMs).unref()
  const method = body === undefined ? 'GET' : 'POST'
  const headers = { loginId: 'the-secret-key', 'content-type': 'application/json' }
  return over.send({ method, url: url + path, headers, body }, controller.signal)
}

async function failureOf(reply: Promise<ProviderReply>): Promise<TransportError> {
  const failure: unknown = await reply.then(
    (found) => new Error(`answered ${found.status} ${found.body.slice(0, 40)}`),
    (cause: unknown) => cause,
  )
  if (failure instanceof TransportError) return failure
  throw failure
}

async function until(isSo: () => boolean): Promise<void> {
  for (let at = 0; at < 500 && !isSo(); at += 1) await wait(10)
  expect(isSo()).toBe(true)
}

const ok = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'

describe('a request', () => {
  it('takes its method, path, headers and body there, and the reply back', async () => {
    const { url } = await httpServer((request, response) => {
      let body = ''
      request.on('data', (part: Buffer) => {
        body += part.toString()
      })
      request.on('end', () => {
        const { method, url: path, headers } = request
        const coding = headers['accept-encoding']
        const type = 'Application/JSON; charset=UTF-8'
        response.writeHead(429, { 'content-type': type, 'retry-after': '7' })
        const seen = { method, path, key: headers.loginid, coding, body }
        response.end(`\u{feff}${JSON.stringify(seen)}`)
      })
    })
    const reply = await send(transport(), url, { body: '["ü"]', path: '/a/b?c=d%20e' })
    expect({ ...reply, body: JSON.parse(reply.body) as unknown }).toEqual({
      status: 429,
      contentType: 'application/json',
      retryAfter: '7',
      body: {
        method: 'POST',
        path: '/a/b?c=d%20e',
        key: 'the-secret-key',
        coding: 'identity',
        body: '["ü"]',
      },
    })
  })

  it('does not follow a redirect, so that the key stays with its provider', async () => {
    const thief = await httpServer((_, response) => response.end('stolen'))
    const { url } = await httpServer((_, response) => {
      response.writeHead(302, { location: thief.url }).end()
    })
    const reply = await send(transport(), url)
    expect([reply.status, reply.contentType, thief.connections]).toEqual([302, '', 0])
  })

  it('uses the connection of the one before', async () => {
    const server = await httpServer((_, response) => response.end('[]'))
    const over = transport()
    for (let at = 0; at < 20; at += 1) await send(over, server.url)
    // Two when the next request is there before the one before is put away.
    expect(server.connections).toBeLessThan(3)
  })

  it('waits for a connection when all are in use', async () => {
    const server = await httpServer((_, response) => void setTimeout(() => response.end('[]'), 20))
    const over = transport({ connections: 2 })
    await Promise.all(Array.from({ length: 6 }, () => send(over, server.url)))
    expect(server.connections).toBe(2)
  })

  it('does not notice that the connection before was closed meanwhile', async () => {
    const server = await httpServer((request, response) => {
      response.end('[]')
      // Promises to keep it, and closes it.
      setTimeout(() => request.socket.end(), 5)
    })
    const over = transport()
    for (let at = 0; at < 5; at += 1) {
      expect((await send(over, server.url, { body: '[]' })).status).toBe(200)
      await until(() => server.sockets.size === 0)
    }
    expect(server.connections).toBe(5)
  })

  it('on a connection that ends under it is cut off, and the next one is well', async () => {
    let requests = 0
    const server = await httpServer((request, response) => {
      requests += 1
      if (requests === 2) request.socket.destroy()
      else response.end('[]')
    })
    const over = transport()
    await send(over, server.url)
    expect((await failureOf(send(over, server.url))).why).toBe('cut-off')
    expect((await send(over, server.url)).body).toBe('[]')
  })

  it('reads a body that ends with its connection', async () => {
    const { url } = await rawServer(`${ok}\r\n[]`, (socket) => socket.end())
    expect((await send(transport(), url)).body).toBe('[]')
  })
})

const faults: readonly {
  readonly name: string
  readonly bytes: string
  readonly andThen?: (socket: Socket) => void
  readonly why: TransportError['why']
}[] = [
  {
    name: 'ends without a word',
    bytes: '',
    why: 'cut-off',
    andThen: (socket) => socket.end(),
  },
  {
    name: 'resets',
    bytes: '',
    why: 'cut-off',
    andThen: (socket) => void socket.resetAndDestroy(),
  },
  {
    name: 'ends in its headers',
    bytes: 'HTTP/1.1 200 OK\r\ncontent-',
    why: 'cut-off',
    andThen: (socket) => socket.end(),
  },
  {
    name: 'ends in its body',
    bytes: `${ok}content-length: 100\r\n\r\n[{`,
    why: 'cut-off',
    andThen: (socket) => socket.end(),
  },
  {
    name: 'resets in its body',
    bytes: `${ok}content-length: 100\r\n\r\n[{`,
    why: 'cut-off',
    andThen: (socket) => void setTimeout(() => socket.resetAndDestroy(), 20),
  },
  {
    name: 'ends in a chunk',
    bytes: `${ok}transfer-encoding: chunked\r\n\r\n64\r\n[{`,
    why: 'cut-off',
    andThen: (socket: Socket) => void socket.end(),
  },
  { name: 'says nothing', bytes: '', why: 'aborted' },
  { name: 'stops in its headers', bytes: 'HTTP/1.1 200 OK\r\nx: ', why: 'aborted' },
  { name: 'stops in its body', bytes: `${ok}content-length: 100\r\n\r\n[{`, why: 'aborted' },
  { name: 'is no HTTP', bytes: '\u0000\u0001garbage\r\n\r\n', why: 'unreadable' },
  { name: 'is another protocol', bytes: '220 mail.test ESMTP\r\n', why: 'unreadable' },
  {
    name: 'has a bad chunk',
    bytes: `${ok}transfer-encoding: chunked\r\n\r\nzz\r\n`,
    why: 'unreadable',
  },
  {
    name: 'has two lengths',
    bytes: `${ok}content-length: 2\r\ncontent-length: 3\r\n\r\n[]`,
    why: 'cut-off',
  },
  {
    name: 'has endless headers',
    bytes: `${ok}x: ${'y'.repeat(100_000)}\r\n\r\n`,
    why: 'unreadable',
  },
  {
    name: 'has too long a body',
    bytes: `${ok}content-length: 500000\r\n\r\n${'x'.repeat(5_000)}`,
    why: 'too-large',
  },
]

describe('a reply that', () => {
  for (const { name, bytes, andThen, why } of faults) {
    it(`${name}: ${why}`, async () => {
      const server = await rawServer(bytes, andThen)
      const over = transport({ maxBodyBytes: 4_000 })
      // On a slow machine, what is not to be aborted needs longer.
      const abortMs = why === 'aborted' ? 150 : 10_000
      const failure = await failureOf(send(over, server.url, { body: '[]', abortMs }))
      expect([failure.why, failure.message]).toEqual([why, expect.stringMatching(/^[\w ,()]+$/)])
      await until(() => server.sockets.size === 0)
    })
  }

  it('is compressed: unreadable', async () => {
    const { url } = await httpServer((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('[]'))
    })
    expect((await failureOf(send(transport(), url))).why).toBe('unreadable')
  })

  it('never ends, is given up at the bound', async () => {
    const server = await httpServer((_, response) => {
      const more = (failure?: Error | null) => {
        // A write to a closed socket fails at once, before the response is destroyed.
        if (!failure && !response.destroyed) response.write('x'.repeat(65_536), more)
      }
      more()
    })
    expect((await failureOf(send(transport(), server.url))).why).toBe('too-large')
    await until(() => server.sockets.size === 0)
  })

  it('is longer than it says, is read to where it says', async () => {
    const { url } = await rawServer(`${ok}content-length: 2\r\n\r\n[][]`)
    const over = transport()
    expect((await send(over, url)).body).toBe('[]')
    expect((await send(over, url)).body).toBe('[]')
  })
})

describe('a server that', () => {
  it('is not there: unreachable', async () => {
    const server = createSocketServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const failure = await failureOf(send(transport(), `http://127.0.0.1:${port}`))
    expect([failure.why, failure.message]).toEqual(['unreachable', 'no connection (ECONNREFUSED)'])
  })

  it('has no address: unreachable', async () => {
    const failure = await failureOf(send(transport(), 'http://no-such-host.invalid'))
    expect(failure.why).toBe('unreachable')
  })

  it('speaks no TLS: no reply', async () => {
    const { url } = await httpServer((_, response) => response.end('[]'))
    const failure = await failureOf(send(transport(), url.replace('http:', 'https:')))
    expect(['unreachable', 'cut-off']).toContain(failure.why)
  })

  it('answers after the request was given up, finds its connection closed', async () => {
    let late: (() => void) | undefined
    const server = await httpServer((_, response) => {
      late = () => response.end('[]')
    })
    const failure = await failureOf(send(transport(), server.url, { abortMs: 50 }))
    expect(failure.why).toBe('aborted')
    await until(() => server.sockets.size === 0)
    late?.()
  })

  it('is not asked when the request was given up before', async () => {
    const server = await httpServer((_, response) => response.end('[]'))
    const aborted = AbortSignal.abort()
    const reply = transport().send({ method: 'GET', url: server.url, headers: {} }, aborted)
    expect((await failureOf(reply)).why).toBe('aborted')
    expect(server.connections).toBe(0)
  })
})

describe('closing', () => {
  it('ends what is under way, and leaves no socket', async () => {
    const server = await httpServer(() => undefined)
    const over = new HttpTransport({ connections: 4 })
    const failures = [1, 2, 3].map(() => failureOf(send(over, server.url)))
    await until(() => server.sockets.size === 3)
    await over.close()
    expect((await Promise.all(failures)).map(({ why }) => why)).not.toContain('aborted')
    await until(() => server.sockets.size === 0)
    await over.close()
  })

  it('leaves no socket that is idle, or that has not connected yet', async () => {
    const before = process.getActiveResourcesInfo().filter((kind) => kind.startsWith('TCP')).length
    const server = await httpServer((_, response) => response.end('[]'))
    const over = new HttpTransport({ connections: 4 })
    await send(over, server.url)
    // An address that no network routes: it neither refuses nor answers.
    const lost = failureOf(send(over, 'http://192.0.2.1', { abortMs: 50 }))
    expect(['aborted', 'unreachable']).toContain((await lost).why)
    await over.close()
    await until(() => server.sockets.size === 0)
    const after = () =>
      process.getActiveResourcesInfo().filter((kind) => kind.startsWith('TCP')).length
    await until(() => after() <= before + 1)
  })
})
