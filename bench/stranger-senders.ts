/** A child process that asks for one address without a key, on the given number of connections. */
import { connect } from 'node:net'

export interface Strangers {
  readonly url: string
  readonly path: string
  /** A fifth each: GET and HEAD as fast as they are answered, large headers, slow bodies, slow readers. */
  readonly connections: number
}

const kinds = ['get', 'head', 'large', 'slow-body', 'slow-reader'] as const

function send({ url, path, connections }: Strangers): void {
  const { hostname, port } = new URL(url)
  const request = (method: string, more = '') =>
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`
  const texts = {
    get: request('GET'),
    head: request('HEAD'),
    large: request('GET', `x: ${'y'.repeat(12_000)}\r\n`),
    'slow-body': `${request('POST', 'Content-Length: 900\r\n')}{`,
    'slow-reader': request('GET').repeat(3),
  }
  const open = (index: number): void => {
    const kind = kinds[index % kinds.length] as (typeof kinds)[number]
    const socket = connect(Number(port), hostname)
    const ask = () => void socket.write(texts[kind])
    socket.on('connect', ask).on('error', () => undefined)
    if (kind === 'slow-reader') socket.pause()
    else if (kind === 'slow-body') socket.resume()
    // The start of an answer; more than a few requests ahead would close the connection.
    else socket.on('data', (bytes) => bytes.includes('HTTP/1.1 ') && ask())
    socket.on('close', () => setTimeout(() => open(index), 10))
  }
  for (let index = 0; index < connections; index += 1) open(index)
}

process.on('message', send)
process.on('disconnect', () => process.exit())
