/** Names whose addresses change between a check and a connection, and connections that lie. */
import { type AddressInfo, createServer, connect as openTcp, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { certificate } from './certificate.js'
import {
  failureOf,
  httpReceiver,
  httpsReceiver,
  notice,
  openSender,
  rawReceiver,
} from './receivers.js'

/** Answers each look-up with the next of these, and the last for ever. */
function changing(...answers: readonly (readonly string[])[]) {
  const asked: string[] = []
  const lookUp = async (host: string) => {
    asked.push(host)
    return answers[Math.min(asked.length, answers.length) - 1] ?? []
  }
  return { asked, lookUp }
}

/** A socket that leads to this machine, whatever address it was given. */
const astray = (port: number) =>
  ((_options: object) => openTcp(port, '127.0.0.1')) as typeof openTcp

describe('a name that resolves to a private address', () => {
  it.each([
    [['127.0.0.1']],
    [['169.254.169.254']],
    [['::ffff:127.0.0.1']],
    [['64:ff9b::7f00:1']],
    [['fe80::1%eth0']],
    [['::1']],
    [['8.8.8.8', '127.0.0.1']],
    [['127.0.0.1', '8.8.8.8']],
    [['2606:4700:4700::1111', '8.8.8.8', '10.0.0.1']],
    [['not an address']],
  ])('is not sent to: %j', async (addresses) => {
    let opened = 0
    const openSocket = ((options: { port: number }) => {
      opened += 1
      return openTcp(options.port, '127.0.0.1')
    }) as typeof openTcp
    const { lookUp: resolveHost } = changing(addresses)
    const sender = openSender({ allow: [], resolveHost, openSocket })
    expect(await failureOf(sender.post(notice('http://rebound.example/')))).toBe('blocked-address')
    expect(opened).toBe(0)
  })

  it('is looked up and judged at each attempt', async () => {
    const receiver = await httpReceiver((_, response) => response.end())
    const { asked, lookUp: resolveHost } = changing(['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1'])
    const sender = openSender({ resolveHost })
    const attempt = () => sender.post(notice(`http://rebound.example:${receiver.port}/`))
    expect((await attempt()).status).toBe(200)
    expect(await failureOf(attempt())).toBe('blocked-address')
    expect((await attempt()).status).toBe(200)
    expect([asked.length, receiver.connections]).toEqual([3, 2])
  })

  it('is not looked up again to connect', async () => {
    const checked = await httpReceiver((_, response) => response.end(), '127.0.0.2')
    const secrets = createServer((socket) => socket.end()).listen(checked.port, '127.0.0.1')
    let stolen = 0
    secrets.on('connection', () => {
      stolen += 1
    })
    try {
      const { asked, lookUp: resolveHost } = changing(['127.0.0.2'], ['127.0.0.1'])
      const sender = openSender({ allow: ['127.0.0.2'], resolveHost })
      const reply = await sender.post(notice(`http://rebound.example:${checked.port}/`))
      expect([reply.status, asked.length, checked.connections, stolen]).toEqual([200, 1, 1, 0])
    } finally {
      await new Promise((resolve) => secrets.close(resolve))
    }
  })
})

describe('a connection that leads to another address than was checked', () => {
  it('is ended before a byte of the request leaves', async () => {
    const inside = await rawReceiver('HTTP/1.1 200 OK\r\n\r\n')
    const { lookUp: resolveHost } = changing(['8.8.8.8'])
    const sender = openSender({ allow: [], resolveHost, openSocket: astray(inside.port) })
    for (const url of ['http://rebound.example/', 'https://rebound.example/', 'http://8.8.8.8/']) {
      expect(await failureOf(sender.post(notice(url)))).toBe('blocked-address')
    }
    await expect.poll(() => [inside.connections, inside.open.size]).toEqual([3, 0])
    expect(inside.bytes).toBe(0)
  })

  it('is ended before TLS begins, even with a certificate that would do', async () => {
    const inside = await httpsReceiver((_, response) => response.end())
    const { lookUp: resolveHost } = changing(['8.8.8.8'])
    const openSocket = astray(inside.port)
    const sender = openSender({ allow: ['8.8.8.8'], ca: certificate, resolveHost, openSocket })
    expect(await failureOf(sender.post(notice('https://hooks.example/')))).toBe('blocked-address')
    await expect.poll(() => [inside.connections, inside.open.size]).toEqual([1, 0])
    expect(inside.bytes).toBe(0)
  })

  it('is ended when its own address cannot be told', async () => {
    const inside = await rawReceiver('HTTP/1.1 200 OK\r\n\r\n')
    const untold = ((_options: object) => {
      const socket = openTcp(inside.port, '127.0.0.1')
      Object.defineProperty(socket, 'remoteAddress', { value: undefined })
      return socket
    }) as typeof openTcp
    const sender = openSender({ resolveHost: changing(['127.0.0.1']).lookUp, openSocket: untold })
    const reply = sender.post(notice(`http://rebound.example:${inside.port}/`))
    expect(await failureOf(reply)).toBe('blocked-address')
  })

  /** As of a socket that stands between a public address of this machine and the same. */
  function pretending(port: number, remote: string, local: string): typeof openTcp {
    return ((_options: object): Socket => {
      const socket = openTcp(port, '127.0.0.1')
      Object.defineProperty(socket, 'remoteAddress', { value: remote })
      Object.defineProperty(socket, 'localAddress', { value: local })
      return socket
    }) as typeof openTcp
  }

  it('is ended when it leads back to this machine by a public address of its own', async () => {
    const { port } = await httpReceiver((_, response) => response.end())
    const { lookUp: resolveHost } = changing(['8.8.8.8'])
    const own = pretending(port, '8.8.8.8', '8.8.8.8')
    const url = 'http://rebound.example/'
    const guarded = openSender({ allow: [], resolveHost, openSocket: own })
    expect(await failureOf(guarded.post(notice(url)))).toBe('blocked-address')
    const listing = openSender({ allow: ['8.8.8.8'], resolveHost, openSocket: own })
    expect((await listing.post(notice(url))).status).toBe(200)
    const other = pretending(port, '8.8.8.8', '192.168.0.2')
    const usual = openSender({ allow: [], resolveHost, openSocket: other })
    expect((await usual.post(notice(url))).status).toBe(200)
  })
})

it('reaches any address of a host that the operator lists by name, and of no other', async () => {
  const inside = createServer((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => inside.once('listening', resolve))
  const { port } = inside.address() as AddressInfo
  try {
    const resolveHost = async () => ['127.0.0.1']
    const sender = openSender({ allow: ['crm.lan'], resolveHost })
    expect((await sender.post(notice(`http://CRM.lan.:${port}/`))).status).toBe(200)
    for (const host of ['other.lan', 'x.crm.lan', '127.0.0.1']) {
      const reply = sender.post(notice(`http://${host}:${port}/`))
      expect(await failureOf(reply)).toBe('blocked-address')
    }
  } finally {
    await new Promise((resolve) => inside.close(resolve))
  }
})
