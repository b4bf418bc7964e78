/** A line to a server that a test can hold up or cut. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** Nothing passes in either direction, and no connection ends; new ones get no answer. */
  pause(): void
  /** What was held up passes. */
  resume(): void
  /** Ends all connections. */
  cut(): void
  close(): void
}

export async function openTcpProxy(port: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let isPaused = false
  const server = createServer((from) => {
    const to = connect(port, '127.0.0.1')
    for (const socket of [from, to]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        from.destroy()
        to.destroy()
      })
    }
    from.on('data', (bytes) => void to.write(bytes))
    to.on('data', (bytes) => void from.write(bytes))
    if (isPaused) {
      from.pause()
      to.pause()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    pause() {
      isPaused = true
      for (const socket of sockets) socket.pause()
    },
    resume() {
      isPaused = false
      for (const socket of sockets) socket.resume()
    },
    cut,
    close() {
      server.close()
      cut()
    },
  }
}
