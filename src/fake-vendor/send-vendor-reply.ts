/** Sends a reply, possibly with a delivery fault, or applies a connection fault instead. */
import type { ServerResponse } from 'node:http'
import type { Timers } from '../domain/time/clock.js'
import { type ConnectionFault, type DeliveryFault, defaultSlowBodyMs } from './fault.js'
import type { VendorReply } from './vendor-reply.js'

const slowBodyPieces = 10
const garbageBytes = 32

/** Resolves when everything that will be sent has been sent; never rejects. */
export async function sendVendorReply(
  response: ServerResponse,
  reply: VendorReply,
  how: { readonly fault: DeliveryFault | undefined; readonly timers: Timers },
): Promise<void> {
  const { fault, timers } = how
  const { status, headers, body } = reply
  const { socket } = response
  response.writeHead(status, { ...headers, 'Content-Length': body.length })
  switch (fault?.kind) {
    case 'half-closed':
      response.write(firstHalf(body), () => socket?.destroySoon())
      return
    case 'half-silent':
      response.write(firstHalf(body))
      return
    case 'slow-body':
      return await sendSlowly(response, body, { ms: fault.ms ?? defaultSlowBodyMs, timers })
    case 'stale-keepalive':
      response.end(body, () => socket?.destroySoon())
      return
    case 'slow':
    case undefined:
      response.end(body)
  }
}

function firstHalf(body: Buffer): Buffer {
  return body.subarray(0, Math.floor(body.length / 2))
}

async function sendSlowly(
  response: ServerResponse,
  body: Buffer,
  { ms, timers }: { readonly ms: number; readonly timers: Timers },
): Promise<void> {
  response.flushHeaders()
  const size = Math.ceil(body.length / slowBodyPieces)
  for (let start = 0; start < body.length; start += size) {
    if (!(await waitWhileOpen(response, ms / slowBodyPieces, timers))) return
    response.write(body.subarray(start, start + size))
  }
  response.end()
}

/** Ends a request without a reply, or leaves it open. */
export function applyConnectionFault(
  response: ServerResponse,
  { kind }: ConnectionFault,
  randomBytes: (size: number) => Buffer,
): void {
  const { socket } = response
  switch (kind) {
    case 'silent':
      return
    case 'reset':
      socket?.resetAndDestroy()
      return
    case 'hang-up':
      socket?.destroySoon()
      return
    case 'garbage-http':
      // Begins like a TLS record, as from a wrong port.
      socket?.write(Buffer.concat([Buffer.of(0x16, 0x03, 0x01), randomBytes(garbageBytes)]))
      socket?.destroySoon()
  }
}

/** Waits, at most until the connection closes. Resolves to whether it is still open. */
export function waitWhileOpen(
  response: ServerResponse,
  ms: number,
  timers: Timers,
): Promise<boolean> {
  const isOpen = () => !response.destroyed && response.socket?.destroyed === false
  if (ms <= 0 || !isOpen()) return Promise.resolve(isOpen())
  return new Promise((resolve) => {
    const end = () => {
      cancel()
      response.off('close', end)
      resolve(isOpen())
    }
    const cancel = timers.after(ms, end)
    response.once('close', end)
  })
}
