/** Puts a reply on the wire, whole or as a fault says; and what is put there when there is none. */
import type { ServerResponse } from 'node:http'
import type { Timers } from '../domain/clock.js'
import { type ConnectionFault, type DeliveryFault, defaultSlowBodyMs } from './fault.js'
import { pause } from './pause.js'
import type { VendorReply } from './vendor-reply.js'

const slowBodyPieces = 10
const noHttpBytes = 32

/** Resolves when all is sent that will be; never rejects. */
export async function deliver(
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
      return await drip(response, body, { ms: fault.ms ?? defaultSlowBodyMs, timers })
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

async function drip(
  response: ServerResponse,
  body: Buffer,
  { ms, timers }: { readonly ms: number; readonly timers: Timers },
): Promise<void> {
  response.flushHeaders()
  const size = Math.ceil(body.length / slowBodyPieces)
  for (let start = 0; start < body.length; start += size) {
    if (!(await pause(response, ms / slowBodyPieces, timers))) return
    response.write(body.subarray(start, start + size))
  }
  response.end()
}

/** The end, or the endlessness, of a request that gets no reply. */
export function refuseReply(
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
      // Begins as a TLS record does, which is what a mistaken port sends.
      socket?.write(Buffer.concat([Buffer.of(0x16, 0x03, 0x01), randomBytes(noHttpBytes)]))
      socket?.destroySoon()
  }
}
