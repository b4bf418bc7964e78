/** Ports of this machine on which nothing listens. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** As many different ports, free at this moment. */
export async function findFreePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports: number[] = []
  for (const server of servers) {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    ports.push((server.address() as AddressInfo).port)
  }
  for (const server of servers) await once(server.close(), 'close')
  return ports
}

/** An address that refuses connections. */
export async function findClosedAddress(): Promise<string> {
  const [port] = await findFreePorts(1)
  return `http://127.0.0.1:${port}`
}
