/** A caller and a trunk over plain UDP, for more calls than SIPp can tell apart, each as exact as the test writes it. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { freeUdpPort } from '../asterisk/lab/ports.js'

interface TrunkInvite {
  /** Of the request line. */
  readonly uri: string
  readonly text: string
}

export interface UdpTrunk {
  readonly port: number
  /** Each once, in their order. */
  readonly invites: readonly TrunkInvite[]
  /** Methods of all requests within a call. */
  readonly withinCalls: readonly string[]
  close(): void
}

/** Answers each call with a status: 486 shows a caller that his call has arrived. */
export async function openUdpTrunk(status = 486): Promise<UdpTrunk> {
  const port = await freeUdpPort()
  const socket = createSocket('udp4')
  socket.bind(port, '127.0.0.1')
  await once(socket, 'listening')
  const invites: TrunkInvite[] = []
  const withinCalls: string[] = []
  const known = new Set<string>()
  socket.on('message', (bytes, from) => {
    const text = bytes.toString('latin1')
    const [, method, uri = ''] = /^([A-Z]+) (\S+) SIP\/2\.0/.exec(text) ?? []
    if (method !== 'INVITE') {
      withinCalls.push(method ?? '')
      if (method === 'BYE') socket.send(answerTo(text, 200), from.port, from.address)
      return
    }
    const branch = /^Via:.*branch=([^;\s]+)/im.exec(text)?.[1] ?? ''
    if (!known.has(branch)) invites.push({ uri, text })
    known.add(branch)
    socket.send(answerTo(text, status), from.port, from.address)
  })
  return { port, invites, withinCalls, close: () => void socket.close() }
}

function answerTo(request: string, status: number): string {
  const copied = request
    .split('\r\n')
    .filter((line) => /^(?:via|from|to|call-id|cseq|record-route):/i.test(line))
    .map((line) => (/^to:(?!.*;tag=)/i.test(line) ? `${line};tag=trunk` : line))
  const contact = `Contact: <${/^\S+ (\S+)/.exec(request)?.[1]}>`
  const head = [`SIP/2.0 ${status} Trunk`, ...copied, contact]
  return [...head, 'Content-Length: 0', '', ''].join('\r\n')
}

interface UdpCall {
  /** User part of the request URI. */
  readonly number: string
  /** User part of From. */
  readonly callerId: string
  /** Further header lines, such as that of a permit. */
  readonly headers?: readonly string[]
  /** The whole request URI. */
  readonly uri?: string
  /** `<sip:anyone@127.0.0.1>` unless given. */
  readonly to?: string
}

/** Of a final answer. */
interface UdpAnswer {
  readonly status: number
  readonly reason: string
  /** The whole answer. */
  readonly text: string
}

export interface UdpCaller {
  /** Resolves to the final answer. Sends again while there is none, as a telephone does. */
  call(call: UdpCall): Promise<UdpAnswer>
  /** Confirms an answered call, and sends another request within it; resolves to its final answer. */
  request(method: string, answered: UdpAnswer, follows: boolean): Promise<UdpAnswer>
  /** Sends an INVITE several times, and resolves to all final answers within the time. */
  repeat(call: UdpCall, times: number, forMs: number): Promise<readonly UdpAnswer[]>
  close(): void
}

const repeatAfterMs = 1_000
const giveUpAfterMs = 15_000

export async function openUdpCaller(edgePort: number): Promise<UdpCaller> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4_000_000 })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const waiting = new Map<string, (answer: UdpAnswer) => void>()
  socket.on('message', (bytes) => {
    const text = bytes.toString('latin1')
    const [, status = '0', reason = ''] = /^SIP\/2\.0 (\d+) (.*)\r\n/.exec(text) ?? []
    if (Number(status) < 200) return
    const id = /^Call-ID: *(\S+)/im.exec(text)?.[1] ?? ''
    const [, method = ''] = /^CSeq: *\d+ (\w+)/im.exec(text) ?? []
    if (method === 'INVITE' && Number(status) >= 300)
      socket.send(ackTo(text), edgePort, '127.0.0.1')
    waiting.get(`${id} ${method}`)?.({ status: Number(status), reason, text })
  })
  let calls = 0
  const newId = () => {
    calls += 1
    return `${process.pid}-${socket.address().port}-${calls}`
  }
  const exchange = async (id: string, text: string) => {
    let repeating: NodeJS.Timeout | undefined
    let givingUp: NodeJS.Timeout | undefined
    try {
      return await new Promise<UdpAnswer>((resolve, reject) => {
        waiting.set(id, resolve)
        const send = () => socket.send(text, edgePort, '127.0.0.1')
        repeating = setInterval(send, repeatAfterMs)
        givingUp = setTimeout(() => reject(new Error(`no answer to ${id}`)), giveUpAfterMs)
        send()
      })
    } finally {
      clearInterval(repeating)
      clearTimeout(givingUp)
      waiting.delete(id)
    }
  }
  return {
    async call(call) {
      const id = newId()
      return await exchange(`${id} INVITE`, invite(socket, call, id))
    },
    async request(method, answered, follows) {
      const { text } = answered
      const within = (name: string) => requestWithin(socket, { name, answer: text, follows })
      socket.send(within('ACK'), edgePort, '127.0.0.1')
      const id = /^Call-ID: *(\S+)/im.exec(text)?.[1] ?? ''
      return await exchange(`${id} ${method}`, within(method))
    },
    async repeat(call, times, forMs) {
      const id = newId()
      const answers: UdpAnswer[] = []
      waiting.set(`${id} INVITE`, (answer) => answers.push(answer))
      const text = invite(socket, call, id)
      for (let sent = 0; sent < times; sent += 1) socket.send(text, edgePort, '127.0.0.1')
      await new Promise((resolve) => setTimeout(resolve, forMs))
      waiting.delete(`${id} INVITE`)
      return answers
    },
    close: () => void socket.close(),
  }
}

function invite(socket: Socket, call: UdpCall, id: string): string {
  const { port } = socket.address()
  const {
    number,
    callerId,
    headers = [],
    uri = `sip:${number}@127.0.0.1`,
    to = '<sip:anyone@127.0.0.1>',
  } = call
  return [
    `INVITE ${uri} SIP/2.0`,
    `Via: SIP/2.0/UDP 127.0.0.1:${port};branch=z9hG4bK-${id}`,
    `From: <sip:${callerId}@127.0.0.1>;tag=${id}`,
    `To: ${to}`,
    `Call-ID: ${id}`,
    'CSeq: 1 INVITE',
    `Contact: <sip:caller@127.0.0.1:${port}>`,
    'Max-Forwards: 70',
    ...headers,
    'Content-Length: 0',
    '',
    '',
  ].join('\r\n')
}

interface RequestWithin {
  readonly name: string
  readonly answer: string
  /** Through the proxies of the call, as a telephone sends it. */
  readonly follows: boolean
}

function requestWithin(socket: Socket, { name, answer, follows }: RequestWithin): string {
  const line = (header: string) => new RegExp(`^${header}:.*$`, 'im').exec(answer)?.[0] ?? ''
  const uri = /^Contact: *<([^>]*)>/im.exec(answer)?.[1] ?? ''
  const routes = [...answer.matchAll(/^Record-Route:(.*)$/gim)].map(([, route]) => `Route:${route}`)
  const { port } = socket.address()
  return [
    `${name} ${uri} SIP/2.0`,
    `Via: SIP/2.0/UDP 127.0.0.1:${port};branch=z9hG4bK-${name}-${port}-${Math.random()}`,
    ...(follows ? routes.reverse() : []),
    line('From'),
    line('To'),
    line('Call-ID'),
    `CSeq: ${name === 'ACK' ? 1 : 2} ${name}`,
    `Contact: <sip:caller@127.0.0.1:${port}>`,
    'Max-Forwards: 70',
    'Content-Length: 0',
    '',
    '',
  ].join('\r\n')
}

function ackTo(answer: string): string {
  const line = (name: string) => new RegExp(`^${name}:.*$`, 'im').exec(answer)?.[0] ?? ''
  const head = [
    'ACK sip:ack@127.0.0.1 SIP/2.0',
    line('Via'),
    line('From'),
    line('To'),
    line('Call-ID'),
  ]
  return [...head, 'CSeq: 1 ACK', 'Max-Forwards: 70', 'Content-Length: 0', '', ''].join('\r\n')
}
