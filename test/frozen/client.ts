/** A client of one kept connection, one request at a time: what a dialer sends, with little cost. */
import { connect, type Socket } from 'node:net'

export interface Answer {
  readonly status: number
  readonly text: string
}

export interface Request {
  readonly method: string
  readonly path: string
  readonly key: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export class Client {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #waiting: { resolve(answer: Answer): void; reject(cause: Error): void } | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk) => this.#receive(chunk))
    socket.on('error', (cause) => this.#waiting?.reject(cause))
    socket.on('close', () => this.#waiting?.reject(new Error('the connection was closed')))
  }

  static connect(port: number): Promise<Client> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new Client(socket)))
      socket.once('error', reject)
    })
  }

  send({ method, path, key, body, headers = {} }: Request): Promise<Answer> {
    const text = body === undefined ? '' : JSON.stringify(body)
    let head = `${method} ${path} HTTP/1.1\r\nHost: gate\r\n`
    if (key !== '') head += `loginId: ${key}\r\n`
    for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`
    if (body !== undefined) {
      head += `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
    }
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket.write(`${head}\r\n${text}`)
    })
  }

  close(): void {
    this.#waiting = undefined
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const end = this.#received.indexOf('\r\n\r\n')
    if (end === -1) return
    const head = this.#received.toString('latin1', 0, end)
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
    const whole = end + 4 + length
    if (this.#received.length < whole) return
    const text = this.#received.toString('utf8', end + 4, whole)
    this.#received = this.#received.subarray(whole)
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve({ status: Number(head.slice(9, 12)), text })
  }
}
