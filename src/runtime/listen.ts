/** Opens and closes a plain HTTP server. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Listener {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string
  /** Waits for the requests in progress, then cuts them off. */
  close(): Promise<void>
}

const maxConnections = 1_000
const closeGraceMs = 10_000

/** Rejects when it cannot listen, such as on a port in use. */
export async function listenOn(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Listener> {
  server.maxConnections = maxConnections
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
