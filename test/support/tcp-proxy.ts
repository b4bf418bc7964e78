/** A line to a server that a test can hold up or cut. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /**
   * Nothing passes in either direction, and no connection ends; new ones get no answer. With a mark, only on connections
   * over which the client sends that text.
   */
  pause(mark?: string): void
  /** What was held up passes; connections that have lost something end. */
  resume(): void
  /** What one side sends is lost until {@link TcpProxy.resume}; what the other sends arrives, and no connection ends. */
  swallow(from: 'server' | 'client'): void
  /** Everything that is sent from now on arrives so many milliseconds later. */
  delay(ms: number): void
  /** Ends all connections. */
  cut(): void
  /** New connections go to another port; those that are open stay. */
  moveTo(port: number): void
  close(): void
}

interface Connection {
  readonly sockets: readonly [from: Socket, to: Socket]
  /** Of what the client has sent, in its order, the beginning. */
  sent: string
}

/** A mark comes early. */
const maxRemembered = 2_000

export async function openTcpProxy(port: number): Promise<TcpProxy> {
  const connections = new Set<Connection>()
  let paused: string | undefined
  let swallowed: 'server' | 'client' | undefined
  let target = port
  let delayMs = 0
  const send = (to: Socket, bytes: Buffer) => {
    if (delayMs === 0) to.write(bytes)
    else setTimeout(() => to.write(bytes), delayMs)
  }
  const hold = ({ sockets, sent }: Connection) => {
    const isHeld = paused !== undefined && sent.includes(paused)
    if (isHeld) for (const socket of sockets) socket.pause()
    return isHeld
  }
  const server = createServer((from) => {
    const to = connect(target, '127.0.0.1')
    const connection: Connection = { sockets: [from, to], sent: '' }
    connections.add(connection)
    for (const socket of [from, to]) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        connections.delete(connection)
        from.destroy()
        to.destroy()
      })
    }
    from.on('data', (bytes) => {
      if (connection.sent.length < maxRemembered) connection.sent += bytes.toString('latin1')
      hold(connection)
      if (swallowed !== 'client') send(to, bytes)
    })
    to.on('data', (bytes) => {
      if (swallowed !== 'server') send(from, bytes)
    })
    hold(connection)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const { sockets } of connections) sockets[0].destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    pause(mark = '') {
      paused = mark
      for (const connection of connections) hold(connection)
    },
    resume() {
      paused = undefined
      if (swallowed !== undefined) cut()
      swallowed = undefined
      for (const { sockets } of connections) for (const socket of sockets) socket.resume()
    },
    cut,
    delay(ms) {
      delayMs = ms
    },
    swallow(from) {
      swallowed = from
    },
    moveTo(to) {
      target = to
    },
    close() {
      server.close()
      cut()
    },
  }
}
