/** Real sockets against receivers that keep the rules and receivers that do not. */
import type { IncomingMessage } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { systemTimers } from '../../../../src/runtime/runtime.js'
import { certificate } from './certificate.js'
import {
  failureOf,
  foundAt,
  httpReceiver,
  httpsReceiver,
  notice,
  openSender,
  rawReceiver,
} from './receivers.js'

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of request) text += String(part)
  return text
}

const environment = { ...process.env }
afterEach(() => {
  process.env = { ...environment }
})

describe('a notification', () => {
  it('takes its path, headers and body there, and the status back', async () => {
    let seen: unknown
    const { url, port } = await httpReceiver(async (request, response) => {
      const { method, url: path, headers } = request
      seen = { method, path, headers, body: await textOf(request) }
      response.writeHead(202, { 'retry-after': '7' }).end('thanks')
    })
    const body = '{"ü":1}'
    const reply = await openSender().post(notice(`${url}/a/b?c=d%20e#f`, { body }))
    expect(reply).toEqual({ status: 202, retryAfter: '7' })
    expect(seen).toEqual({
      method: 'POST',
      path: '/a/b?c=d%20e',
      body,
      headers: {
        host: `127.0.0.1:${port}`,
        connection: 'close',
        'accept-encoding': 'identity',
        'content-type': 'application/json',
        'x-api-key': 'the-key',
        'content-length': '8',
      },
    })
  })

  it('goes by the name of its address, in lower case and without the last dot', async () => {
    let host: string | undefined
    const { port } = await httpReceiver((request, response) => {
      host = request.headers.host
      response.end()
    })
    const asked: string[] = []
    const resolveHost = async (name: string) => {
      asked.push(name)
      return ['127.0.0.1']
    }
    await openSender({ resolveHost }).post(notice(`http://Hooks.Example.:${port}/`))
    expect([asked, host]).toEqual([['hooks.example'], `hooks.example:${port}`])
  })

  it('has a connection of its own, which ends with it', async () => {
    const receiver = await httpReceiver((_, response) => response.end('ok'))
    const sender = openSender()
    for (let at = 0; at < 3; at += 1) await sender.post(notice(receiver.url))
    await expect.poll(() => receiver.open.size).toBe(0)
    expect(receiver.connections).toBe(3)
  })

  it('goes past the proxies of the environment', async () => {
    const proxy = await httpReceiver((_, response) => response.end('stolen'))
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'all_proxy']) {
      process.env[name] = proxy.url
    }
    process.env.NODE_USE_ENV_PROXY = '1'
    const receiver = await httpReceiver((_, response) => response.end())
    await openSender({ resolveHost: foundAt('127.0.0.1') }).post(
      notice(`http://hooks.example:${receiver.port}/`),
    )
    expect([proxy.connections, receiver.connections]).toEqual([0, 1])
  })

  it('reaches a receiver that has IPv6 alone', async () => {
    const { url, port } = await httpReceiver((_, response) => response.end(), '::1')
    const sender = openSender({ allow: ['::1'], resolveHost: foundAt('::1') })
    expect((await sender.post(notice(url))).status).toBe(200)
    expect((await sender.post(notice(`http://hooks.example:${port}/`))).status).toBe(200)
  })

  it('tries the next address when one does not answer', async () => {
    const { port } = await httpReceiver((_, response) => response.end(), '127.0.0.2')
    const resolveHost = foundAt('127.0.0.3', '::1', '127.0.0.2')
    const sender = openSender({ allow: ['127.0.0.0/8', '::1'], resolveHost })
    expect((await sender.post(notice(`http://hooks.example:${port}/`))).status).toBe(200)
  })

  it('finds this machine by name where the operator lists that', async () => {
    const { port } = await httpReceiver((_, response) => response.end())
    const sender = openSender({ allow: ['localhost'] })
    expect((await sender.post(notice(`http://localhost:${port}/`))).status).toBe(200)
  })

  it.each([301, 302, 303, 307, 308])('does not follow a %i', async (status) => {
    const inside = await httpReceiver((_, response) => response.end('secrets'))
    const { url } = await httpReceiver((_, response) => {
      response.writeHead(status, { location: inside.url }).end()
    })
    expect((await openSender().post(notice(url))).status).toBe(status)
    expect(inside.connections).toBe(0)
  })

  it.each([200, 204, 400, 410, 429, 500, 599])('brings back a %i', async (status) => {
    const { url } = await httpReceiver((_, response) => response.writeHead(status).end())
    expect((await openSender().post(notice(url))).status).toBe(status)
  })
})

describe('a receiver over TLS', () => {
  const resolveHost = foundAt('127.0.0.1')

  it('is reached when its certificate proves its name, or its address', async () => {
    const { port } = await httpsReceiver((_, response) => response.end())
    const sender = openSender({ ca: certificate, resolveHost })
    for (const host of ['hooks.example', 'HOOKS.example.', '127.0.0.1']) {
      expect((await sender.post(notice(`https://${host}:${port}/`))).status).toBe(200)
    }
  })

  it('is not spoken to when it proves another name', async () => {
    let requests = 0
    const { port } = await httpsReceiver((_, response) => {
      requests += 1
      response.end()
    })
    const sender = openSender({ ca: certificate, resolveHost })
    expect(await failureOf(sender.post(notice(`https://other.example:${port}/`)))).toBe(
      'unreachable',
    )
    expect(requests).toBe(0)
  })

  it('is not spoken to when nobody vouches for it, whatever the environment says', async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    let requests = 0
    const { port } = await httpsReceiver((_, response) => {
      requests += 1
      response.end()
    })
    const reply = openSender({ resolveHost }).post(notice(`https://hooks.example:${port}/`))
    expect([await failureOf(reply), requests]).toEqual(['unreachable', 0])
  })

  it('is unreachable when it speaks no TLS', async () => {
    const { port } = await rawReceiver('HTTP/1.1 400 Bad Request\r\n\r\n', (socket) => socket.end())
    expect(await failureOf(openSender().post(notice(`https://127.0.0.1:${port}/`)))).toBe(
      'unreachable',
    )
  })

  it('has to finish the handshake in time', async () => {
    const { port } = await rawReceiver('')
    const late = notice(`https://127.0.0.1:${port}/`, { timeoutMs: 100 })
    expect(await failureOf(openSender().post(late))).toBe('timeout')
  })
})

const ok = 'HTTP/1.1 200 OK\r\n'

/** Writes for ever, a little at a time. */
const drip = (text: string) => (socket: { write(text: string): unknown; destroyed: boolean }) => {
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer)
    else socket.write(text)
  }, 5)
}

describe('a bad receiver', () => {
  it.each([
    ['says nothing', '', undefined],
    ['drips a head', ok, drip('x: y\r\n')],
    ['drips a body', `${ok}content-length: 9999999\r\n\r\n`, drip('a')],
    ['drips chunks', `${ok}transfer-encoding: chunked\r\n\r\n`, drip('1\r\na\r\n')],
    ['has only news', 'HTTP/1.1 103 Early Hints\r\n\r\n', drip('HTTP/1.1 103 Early Hints\r\n\r\n')],
    ['stops half way', `${ok}content-length: 10\r\n\r\nhalf`, undefined],
  ])('that %s takes its time and no more', async (_, bytes, andThen) => {
    const receiver = await rawReceiver(bytes, andThen)
    const late = openSender().post(notice(receiver.url, { timeoutMs: 200 }))
    expect(await failureOf(late)).toBe('timeout')
    await expect.poll(() => receiver.open.size).toBe(0)
  })

  it.each([
    ['a head without end', `${ok}x: ${'a'.repeat(20_000)}`, 'too-large'],
    ['too many headers', ok + 'x: y\r\n'.repeat(20_000), 'too-large'],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'unreadable'],
    ['no HTTP at all', '\u0000\u0001\u0002\u0003', 'unreadable'],
    ['another protocol after an upgrade', 'HTTP/1.1 101 Go\r\nupgrade: x\r\n\r\n', 'cut-off'],
    [
      'another protocol in its form',
      'HTTP/1.1 101 Go\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
      'cut-off',
    ],
    ['two lengths', `${ok}content-length: 1\r\ncontent-length: 2\r\n\r\na`, 'unreadable'],
    ['a bad chunk', `${ok}transfer-encoding: chunked\r\n\r\nzz\r\n`, 'unreadable'],
  ])('that says %s', async (_, bytes, failure) => {
    const receiver = await rawReceiver(bytes)
    expect(await failureOf(openSender().post(notice(receiver.url)))).toBe(failure)
    await expect.poll(() => receiver.open.size).toBe(0)
  })

  it.each([
    ['without a word', ''],
    ['within the head', 'HTTP/1.1 20'],
    ['within the body', `${ok}content-length: 10\r\n\r\nhalf`],
    ['within a chunk', `${ok}transfer-encoding: chunked\r\n\r\n5\r\nha`],
  ])('that hangs up %s cuts off', async (_, bytes) => {
    const ended = await rawReceiver(bytes, (socket) => socket.end())
    expect(await failureOf(openSender().post(notice(ended.url)))).toBe('cut-off')
    const reset = await rawReceiver(bytes, (socket) => socket.resetAndDestroy())
    expect(await failureOf(openSender().post(notice(reset.url)))).toBe('cut-off')
  })

  it('that sends a body without end has answered, and is left', async () => {
    const receiver = await httpReceiver((_, response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write('a'.repeat(16_384)));
      }
      response.on('drain', more)
      more()
    })
    expect((await openSender().post(notice(receiver.url))).status).toBe(200)
    await expect.poll(() => receiver.open.size).toBe(0)
  })

  it('that is not there is unreachable', async () => {
    expect(await failureOf(openSender().post(notice('http://127.0.0.1:1/')))).toBe('unreachable')
  })

  it('whose name is looked up for ever takes its time and no more', async () => {
    const sender = openSender({ resolveHost: () => new Promise(() => undefined) })
    const late = notice('http://hooks.example/', { timeoutMs: 50 })
    expect(await failureOf(sender.post(late))).toBe('timeout')
  })

  it.each([
    ['has no address', async () => [] as string[]],
    ['is not found', () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' }))],
    [
      'has name servers that fail',
      () => Promise.reject(Object.assign(new Error('x'), { code: 'ESERVFAIL' })),
    ],
  ])('whose name %s is unreachable', async (_, resolveHost) => {
    expect(await failureOf(openSender({ resolveHost }).post(notice('http://hooks.example/')))).toBe(
      'unreachable',
    )
  })
})

describe('what cannot be sent', () => {
  it.each([
    ['a line end', 'a\r\nx: y'],
    ['a zero', 'a\u0000b'],
    ['a letter beyond Latin', 'ключ'],
  ])('is a header with %s', async (_, key) => {
    const receiver = await httpReceiver((_request, response) => response.end())
    const reply = openSender().post(notice(receiver.url, { headers: { 'x-api-key': key } }))
    expect(await failureOf(reply)).toBe('bad-header')
    await expect.poll(() => receiver.open.size).toBe(0)
    expect(receiver.bytes).toBe(0)
  })
})

describe('a request that is given up by its caller', () => {
  it('is aborted, before and while it is under way, and leaves nothing', async () => {
    const receiver = await rawReceiver('')
    const timers: (() => void)[] = []
    const sender = openSender({
      timers: {
        ...systemTimers,
        after: (ms, run) => {
          const callOff = systemTimers.after(ms, run)
          timers.push(callOff)
          return () => {
            timers.splice(timers.indexOf(callOff), 1)
            callOff()
          }
        },
      },
    })
    const closing = new AbortController()
    const { signal } = closing
    const reply = sender.post(notice(receiver.url, { signal }))
    await expect.poll(() => receiver.open.size).toBe(1)
    closing.abort()
    expect(await failureOf(reply)).toBe('aborted')
    expect(await failureOf(sender.post(notice(receiver.url, { signal })))).toBe('aborted')
    await expect.poll(() => receiver.open.size).toBe(0)
    expect(timers).toEqual([])
  })
})
