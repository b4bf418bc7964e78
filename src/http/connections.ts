/**
 * The connections of a server: how many there are, which of them have shown a key, and what is under
 * way on each. Senders that are not known yet give way to newer connections when there are too many.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { keyInHeaders } from './authenticate.js'
import { type PacedSocket, pacedSocketOf } from './paced-socket.js'

export interface ConnectionsOptions {
  /**
   * With so many open, a new one takes the place of the oldest that has not shown a key, or else of the
   * oldest that waits for no answer.
   */
  readonly maxConnections: number
}

/** A client that sends requests ahead without reading the answers is cut beyond so many. */
const maxRequestsAhead = 16
const maxKeylessRequestsAhead = 4

type UnderWay = Map<ServerResponse, IncomingMessage>

export class Connections {
  readonly #maxConnections: number
  readonly #open = new Map<PacedSocket, UnderWay>()
  /** Have not shown a key; oldest first. */
  readonly #unknown = new Set<PacedSocket>()
  #isStopping = false
  #accepted = 0

  constructor({ maxConnections }: ConnectionsOptions) {
    this.#maxConnections = maxConnections
  }

  /** Connections accepted so far. */
  get accepted(): number {
    return this.#accepted
  }

  accept(socket: PacedSocket): void {
    this.#accepted += 1
    if (this.#open.size >= this.#maxConnections) {
      const [oldest = this.#oldestIdle()] = this.#unknown
      const dropped = oldest ?? socket
      this.#forget(dropped)
      dropped.destroy()
      if (dropped === socket) return
    }
    const underWay: UnderWay = new Map()
    this.#open.set(socket, underWay)
    this.#unknown.add(socket)
    socket.once('close', () => {
      this.#forget(socket)
      closeQueued(underWay)
    })
  }

  /** A request on this connection has shown a valid key. */
  markKnown(socket: PacedSocket): void {
    socket.markKnown()
    this.#unknown.delete(socket)
  }

  /** False for a request that is one too many on its connection, which is read no more and then cut. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const socket = pacedSocketOf(request)
    const underWay = this.#open.get(socket)
    const hasKey = !this.#unknown.has(socket) || keyInHeaders(request) !== undefined
    const most = hasKey ? maxRequestsAhead : maxKeylessRequestsAhead
    if (underWay === undefined || underWay.size >= most) {
      socket.holdThenCut()
      return false
    }
    underWay.set(response, request)
    response.once('close', () => underWay.delete(response))
    if (this.#isStopping) announceClose(response)
    return true
  }

  /** From now on every answer says that its connection closes after it. */
  stop(): void {
    this.#isStopping = true
    for (const underWay of this.#open.values()) {
      for (const response of underWay.keys()) announceClose(response)
    }
  }

  /** Cuts every connection without a request that is whole and not answered yet. */
  closeIdle(): void {
    for (const [socket, underWay] of this.#open) {
      if (isIdle(underWay)) socket.destroy()
    }
  }

  closeAll(): void {
    for (const socket of this.#open.keys()) socket.destroy()
  }

  #oldestIdle(): PacedSocket | undefined {
    for (const [socket, underWay] of this.#open) {
      if (isIdle(underWay)) return socket
    }
    return undefined
  }

  #forget(socket: PacedSocket): void {
    this.#open.delete(socket)
    this.#unknown.delete(socket)
  }
}

/** Without a request that is whole and not answered yet. */
function isIdle(underWay: UnderWay): boolean {
  for (const request of underWay.values()) {
    if (request.complete) return false
  }
  return true
}

/**
 * Node.js emits `close` for the response that is being sent alone. Those that wait behind it would hold
 * what is released on `close` for ever.
 */
function closeQueued(underWay: UnderWay): void {
  for (const response of underWay.keys()) {
    if (response.socket !== null) continue
    response.destroy()
    response.emit('close')
  }
}

function announceClose(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
}
