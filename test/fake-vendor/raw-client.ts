/** Requests written byte by byte, so that nothing of a reply is smoothed over by a client. */
import { connect, type Socket } from 'node:net'

/** How the other side left the connection. */
type Ending = 'open' | 'fin' | 'reset'

export interface RawReply {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

export interface RawConnection {
  send(request: string): void
  received(): Buffer
  ending(): Ending
  /** Resolves when the other side has ended the connection. */
  ended(): Promise<Ending>
  /** Resolves with the next reply once its announced body is there; rejects when it ends before. */
  reply(): Promise<RawReply>
  close(): void
}

export function openRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(rawOver(socket))
    })
  })
}

function rawOver(socket: Socket): RawConnection {
  let received = Buffer.alloc(0)
  let ending: Ending = 'open'
  let read = 0
  const changed = new Set<() => void>()
  const note = () => {
    for (const look of [...changed]) look()
  }
  const end = (how: Ending) => {
    if (ending === 'open') ending = how
    note()
  }
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes])
    note()
  })
  socket.on('end', () => end('fin'))
  socket.on('error', () => end('reset'))
  const when = <T>(look: () => T | undefined) =>
    new Promise<T>((resolve, reject) => {
      const check = () => {
        const found = look()
        if (found === undefined && ending === 'open') return
        changed.delete(check)
        if (found === undefined) reject(new Error(`ended by ${ending} after: ${received}`))
        else resolve(found)
      }
      changed.add(check)
      check()
    })
  return {
    send: (request) => void socket.write(request),
    received: () => received,
    ending: () => ending,
    ended: () => when(() => (ending === 'open' ? undefined : ending)),
    reply: () =>
      when(() => {
        const parsed = parseReply(received.subarray(read))
        if (parsed) read += parsed.size
        return parsed?.reply
      }),
    close: () => void socket.destroy(),
  }
}

/** `undefined` while the reply is not whole. */
function parseReply(bytes: Buffer): { reply: RawReply; size: number } | undefined {
  const head = parseHead(bytes)
  if (!head) return undefined
  const size = head.size + Number(head.headers.get('content-length') ?? 0)
  if (bytes.length < size) return undefined
  return { reply: { ...head, body: bytes.subarray(head.size, size) }, size }
}

/** The head of a reply, and how many bytes it takes up. */
export function parseHead(
  bytes: Buffer,
): { status: number; headers: ReadonlyMap<string, string>; size: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const [first = '', ...lines] = bytes.subarray(0, end).toString().split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]
  if (status === undefined) throw new Error(`is no HTTP: ${first}`)
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  return { status: Number(status), headers: new Map(headers), size: end + 4 }
}
