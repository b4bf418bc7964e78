/** Opens and closes a plain HTTP server. */
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface Listener {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string
  /** Waits for the requests in progress, then cuts them off. */
  close(): Promise<void>
}

const maxConnections = 1_000
const closeGraceMs = 10_000

/** Rejects when it cannot listen, such as on a port in use. One connection too many closes the oldest that is idle. */
export async function listenOn(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Listener> {
  boundConnections(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const bound = server.address() as AddressInfo
  return {
    url: `http://${bound.address.includes(':') ? `[${bound.address}]` : bound.address}:${bound.port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeIdleConnections()
      const cutOff = setTimeout(() => server.closeAllConnections(), closeGraceMs)
      await closed
      clearTimeout(cutOff)
    },
  }
}

/** Without this, senders that send nothing, or a body slowly, would keep all others out. */
function boundConnections(server: Server): void {
  /** Oldest first, with the latest request. */
  const open = new Map<Socket, IncomingMessage | undefined>()
  server.on('connection', (socket: Socket) => {
    if (open.size >= maxConnections) {
      const [idle = socket] = [...open].find(([, request]) => !request?.complete) ?? []
      open.delete(idle)
      idle.destroy()
      if (idle === socket) return
    }
    open.set(socket, undefined)
    socket.once('close', () => open.delete(socket))
  })
  server.on('request', (request, response) => {
    const { socket } = request
    if (!open.has(socket)) return
    open.set(socket, request)
    response.once('close', () => {
      if (open.get(socket) === request) open.set(socket, undefined)
    })
  })
}
