/** Servers on this machine that stand for receivers, good and bad, and a sender that may reach them. */
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import {
  type AddressInfo,
  createServer as createSocketServer,
  type Server,
  type Socket,
} from 'node:net'
import { systemTimers } from '../../../../src/runtime/runtime.js'
import {
  GuardedSender,
  type GuardedSenderOptions,
} from '../../../../src/service/webhooks/http-sender/guarded-sender.js'
import {
  SendError,
  type SendReply,
  type SendRequest,
} from '../../../../src/service/webhooks/webhook-sender.js'
import { closeAtEnd } from '../../../support/close-at-end.js'
import { certificate, certificateKey } from './certificate.js'

export interface Receiver {
  readonly port: number
  /** `http://127.0.0.1:port`, or as its kind is. */
  readonly url: string
  /** All that were ever made. */
  connections: number
  /** Connections that are open. */
  readonly open: ReadonlySet<Socket>
  /** Bytes that came in, over all connections. */
  bytes: number
}

async function listening(server: Server, scheme: string, host: string): Promise<Receiver> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    receiver.connections += 1
    open.add(socket)
    socket.on('close', () => {
      receiver.bytes += socket.bytesRead
      open.delete(socket)
    })
    socket.on('error', () => undefined)
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, resolve)
  })
  const { port } = server.address() as AddressInfo
  const at = host.includes(':') ? `[${host}]` : host
  const url = `${scheme}://${at}:${port}`
  const receiver: Receiver = { port, url, open, connections: 0, bytes: 0 }
  closeAtEnd(async () => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return receiver
}

export const httpReceiver = (listener: RequestListener, host = '127.0.0.1') =>
  listening(createHttpServer(listener), 'http', host)

export const httpsReceiver = (listener: RequestListener) =>
  listening(
    createHttpsServer({ cert: certificate, key: certificateKey }, listener),
    ...(['https', '127.0.0.1'] as const),
  )

/** Says these bytes when it is first spoken to, and what then. */
export const rawReceiver = (bytes: string, andThen: (socket: Socket) => void = () => undefined) =>
  listening(
    createSocketServer((socket) => {
      socket.once('data', () => socket.write(bytes, () => andThen(socket)))
    }),
    ...(['http', '127.0.0.1'] as const),
  )

/** Finds every name at these addresses. */
export const foundAt =
  (...addresses: readonly string[]) =>
  async () =>
    addresses

export function openSender(options: Partial<GuardedSenderOptions> = {}): GuardedSender {
  return new GuardedSender({ allow: ['127.0.0.0/8'], timers: systemTimers, ...options })
}

export function notice(url: string, more: Partial<SendRequest> = {}): SendRequest {
  const headers = { 'content-type': 'application/json', 'x-api-key': 'the-key' }
  return { url, headers, body: '{"JobId":"1"}', timeoutMs: 5_000, ...more }
}

/** What a request that must fail fails with. */
export async function failureOf(reply: Promise<SendReply>): Promise<string> {
  const failure: unknown = await reply.then(
    ({ status }) => new Error(`answered ${status}`),
    (cause: unknown) => cause,
  )
  if (failure instanceof SendError) return failure.failure
  throw failure
}
