/** A local socket in the data folder through which `callgate reload` starts a reload and gets its result. */
import { rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Reloader } from '../../app/reloader.js'
import { getErrorMessage } from '../../errors.js'
import type { Logger } from '../../observability/log.js'

export const resolveReloadSocket = (dataDir: string): string => join(dataDir, 'reload.sock')

/** The request; the answer is the result as JSON, and the end of the connection. */
export const reloadRequest = 'reload\n'

const maxConnections = 16
const requestTimeoutMs = 5_000

/**
 * Only the user that runs callgate, and root, can connect (umask 077). If the socket cannot be opened, for
 * example since its path is too long, this is logged and SIGHUP still works. Returns a function that closes it.
 */
export async function openReloadSocket(
  dataDir: string,
  reloader: Pick<Reloader, 'reload'>,
  log: Logger,
): Promise<() => Promise<void>> {
  const path = resolveReloadSocket(dataDir)
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    answer(socket, reloader)
  })
  server.maxConnections = maxConnections
  try {
    // One is left when the server was killed; only one server uses the folder.
    await rm(path, { force: true })
    await listen(server, path)
  } catch (cause) {
    const detail = getErrorMessage(cause)
    log.warn('callgate reload cannot reach this server; send SIGHUP instead', { path, detail })
  }
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of open) socket.destroy()
    })
}

function answer(socket: Socket, reloader: Pick<Reloader, 'reload'>): void {
  let received = ''
  socket.setTimeout(requestTimeoutMs, () => socket.destroy())
  socket.on('error', () => socket.destroy())
  socket.on('data', (bytes: Buffer) => {
    received += bytes.toString()
    if (received === reloadRequest) {
      socket.setTimeout(0)
      void reloader.reload().then((result) => socket.end(JSON.stringify(result)))
    } else if (!reloadRequest.startsWith(received)) socket.destroy()
  })
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.removeListener('error', reject)
      server.on('error', () => undefined)
      resolve()
    })
  })
}
