/** Ports of the loopback address that nobody uses at the moment. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'

export async function freeTcpPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

export async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  await once(socket, 'close')
  return port
}

/** Whether some process of this machine has bound the UDP port. */
export function isUdpPortBound(port: number): boolean {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')} `
  return readFileSync('/proc/net/udp', 'utf8').includes(local)
}
