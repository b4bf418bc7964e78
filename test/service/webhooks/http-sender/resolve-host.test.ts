/** Look-ups at a name server of the test's own. */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createHostResolver } from '../../../../src/service/webhooks/http-sender/resolve-host.js'

const open: Socket[] = []
afterEach(async () => {
  for (const socket of open.splice(0)) await new Promise<void>((resolve) => socket.close(resolve))
})

const types = { 1: 'A', 28: 'AAAA' } as const

interface Asked {
  readonly name: string
  readonly type: string
}

interface Answer {
  /** Octets of each address; the reply's code where there is none. */
  readonly addresses?: readonly (readonly number[])[]
  readonly code?: number
}

/** Answers over UDP (RFC 1035, 4.1); says nothing where there is no answer. */
async function nameServer(answer: (asked: Asked) => Answer | undefined) {
  const socket = createSocket('udp4')
  const asked: Asked[] = []
  socket.on('message', (query: Buffer, from: RemoteInfo) => {
    const question = questionOf(query)
    asked.push(question)
    const given = answer(question)
    if (given) socket.send(replyTo(query, question, given), from.port, from.address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  open.push(socket)
  return { asked, servers: [`127.0.0.1:${(socket.address() as AddressInfo).port}`] }
}

function questionOf(query: Buffer): Asked & { readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let size = query.readUInt8(at); size > 0; size = query.readUInt8(at)) {
    labels.push(query.subarray(at + 1, at + 1 + size).toString('latin1'))
    at += 1 + size
  }
  const type = types[query.readUInt16BE(at + 1) as 1 | 28] ?? 'other'
  return { name: labels.join('.').toLowerCase(), type, end: at + 5 }
}

function replyTo(query: Buffer, { end }: { readonly end: number }, given: Answer): Buffer {
  const { addresses = [], code = 0 } = given
  const head = Buffer.from(query.subarray(0, end))
  head.writeUInt16BE(0x8180 | code, 2)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt32BE(0, 8)
  const records = addresses.map((octets) => {
    const type = octets.length === 4 ? 1 : 28
    return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, octets.length, ...octets])
  })
  return Buffer.concat([head, ...records])
}

const four = [8, 8, 4, 4]
const six = [0x26, 0x06, ...Array<number>(13).fill(0), 1]

describe('a name of a stranger', () => {
  const never = new AbortController().signal

  it.each([
    ['both families', { A: { addresses: [four] }, AAAA: { addresses: [six] } }],
    ['IPv4 alone', { A: { addresses: [four] }, AAAA: {} }],
    ['IPv6 alone', { A: {}, AAAA: { addresses: [six] } }],
    ['IPv4, and a failure for IPv6', { A: { addresses: [four] }, AAAA: { code: 2 } }],
    ['private addresses too', { A: { addresses: [four, [10, 0, 0, 1]] }, AAAA: {} }],
  ])('has %s', async (_, answers: Readonly<Record<string, Answer>>) => {
    const { servers, asked } = await nameServer(({ type }) => answers[type])
    const lookUp = createHostResolver({ isTrusted: () => false, servers })
    const texts = Object.values(answers).flatMap(({ addresses = [] }) =>
      addresses.map((octets) => (octets.length === 4 ? octets.join('.') : '2606::1')),
    )
    expect(await lookUp('hooks.example', never)).toEqual(texts)
    expect(new Set(asked.map(({ name }) => name))).toEqual(new Set(['hooks.example']))
  })

  it('is not completed with the domains that the machine searches', async () => {
    const { servers, asked } = await nameServer(() => ({ code: 3 }))
    const lookUp = createHostResolver({ isTrusted: () => false, servers })
    await expect(lookUp('intranet', never)).rejects.toMatchObject({ code: 'ENOTFOUND' })
    expect(new Set(asked.map(({ name }) => name))).toEqual(new Set(['intranet']))
  })

  it('is not read from the hosts file', async () => {
    const { servers } = await nameServer(() => ({ code: 3 }))
    const lookUp = createHostResolver({ isTrusted: () => false, servers })
    await expect(lookUp('localhost', never)).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })

  it('is given up when the request is', async () => {
    const { servers, asked } = await nameServer(() => undefined)
    const lookUp = createHostResolver({ isTrusted: () => false, servers })
    const closing = new AbortController()
    const found = lookUp('hooks.example', closing.signal)
    found.catch(() => undefined)
    await expect.poll(() => asked.length).toBeGreaterThan(1)
    closing.abort()
    await expect(found).rejects.toMatchObject({ code: 'ECANCELLED' })
    await expect(lookUp('hooks.example', closing.signal)).rejects.toThrow()
  })
})

it('a name that the operator lists is one for the system, with its hosts file', async () => {
  const { servers, asked } = await nameServer(() => ({ addresses: [four] }))
  const lookUp = createHostResolver({ isTrusted: (host) => host === 'localhost', servers })
  const found = await lookUp('localhost', new AbortController().signal)
  expect(found.every((address) => ['127.0.0.1', '::1'].includes(address))).toBe(true)
  expect([found.length > 0, asked]).toEqual([true, []])
})
