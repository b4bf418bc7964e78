/**
 * A child process that puts load on a server when its parent asks. Each connection has one request in
 * progress. The requests are bytes made beforehand, and of an answer only the status, the length and one
 * text are read, so that the server and not this program sets the pace.
 */
import { connect, type Socket } from 'node:net'
import type { LoadOrder, LoadResult } from './load.js'

interface Connection {
  readonly socket: Socket
  /** What has arrived of an answer. */
  received: Buffer | undefined
  sentAtMs: number
  isPending: boolean
}

interface Expected {
  readonly name: string
  readonly status: number
  readonly text: Buffer
  readonly latenciesMs: number[]
}

/** Answers to a request that is still open then count as missing. */
const lastAnswerWithinMs = 10_000
const headEnd = Buffer.from('\r\n\r\n')
const chunkedEnd = Buffer.from('0\r\n\r\n')

class Load {
  readonly #order: LoadOrder
  readonly #requests: readonly Buffer[]
  readonly #expected: readonly Expected[]
  readonly #connections = new Set<Connection>()
  readonly #idle: Connection[] = []
  #sent = 0
  #pending = 0
  #wrong = 0
  #cut = 0
  #firstWrong = ''
  #isOver = false
  #onLast: () => void = () => undefined

  constructor(order: LoadOrder) {
    this.#order = order
    this.#requests = order.requests.map((request) => encode(order, request))
    this.#expected = Object.entries(order.expected).map(([name, { status = 200, text }]) => ({
      name,
      status,
      text: Buffer.from(text),
      latenciesMs: [],
    }))
  }

  async run(): Promise<LoadResult> {
    const { perSecond, connections, seconds } = this.#order
    const cpuBefore = process.cpuUsage()
    for (let opened = 0; opened < connections; opened += 1) await this.#open()
    const startedAt = performance.now()
    let latestMs = 0
    if (perSecond === undefined) {
      for (const connection of this.#idle.splice(0)) this.#send(connection)
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
    } else latestMs = await this.#sendOnSchedule(perSecond, seconds)
    this.#isOver = true
    const elapsed = (performance.now() - startedAt) / 1_000
    const expectedCount = this.#expected.reduce((sum, one) => sum + one.latenciesMs.length, 0)
    await this.#waitForLast()
    for (const { socket } of this.#connections) socket.destroy()
    const { user, system } = process.cpuUsage(cpuBefore)
    const answers = this.#expected.map(({ name, latenciesMs }): [string, Float64Array] => [
      name,
      Float64Array.from(latenciesMs),
    ])
    return {
      answers: Object.fromEntries(answers),
      perSecond: expectedCount / elapsed,
      wrong: this.#wrong,
      firstWrong: this.#firstWrong,
      cut: this.#cut + this.#pending,
      latestMs,
      cpuShare: (user + system) / 1e6 / elapsed,
    }
  }

  /** Whether or not earlier requests have been answered. Returns how late the latest was sent. */
  async #sendOnSchedule(perSecond: number, seconds: number): Promise<number> {
    const startedAt = performance.now()
    let latestMs = 0
    for (let sent = 0; sent < seconds * perSecond; sent += 1) {
      const dueAt = startedAt + (sent * 1_000) / perSecond
      const waitMs = dueAt - performance.now()
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
      latestMs = Math.max(latestMs, performance.now() - dueAt)
      const idle = this.#idle.pop()
      if (idle) this.#send(idle)
      else void this.#open().then(() => this.#send(this.#idle.pop()))
    }
    return latestMs
  }

  #open(): Promise<void> {
    const { hostname, port } = new URL(this.#order.url)
    return new Promise((resolve) => {
      const socket = connect(Number(port), hostname).setNoDelay(true)
      const connection = { socket, received: undefined, sentAtMs: 0, isPending: false }
      this.#connections.add(connection)
      socket.on('connect', () => {
        this.#idle.push(connection)
        resolve()
      })
      socket.on('data', (bytes) => this.#receive(connection, bytes))
      socket.on('error', () => undefined)
      socket.on('close', () => this.#close(connection, resolve))
    })
  }

  #close(connection: Connection, opened: () => void): void {
    this.#connections.delete(connection)
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
    if (connection.isPending) {
      this.#pending -= 1
      this.#cut += 1
    }
    // Without a rate, each connection is replaced, since the load would be less otherwise.
    if (this.#isOver || this.#order.perSecond !== undefined) {
      opened()
      if (this.#pending === 0) this.#onLast()
      return
    }
    setTimeout(() => void this.#open().then(() => this.#send(this.#idle.pop())), 1)
    opened()
  }

  #send(connection: Connection | undefined): void {
    const request = this.#requests[this.#sent % this.#requests.length]
    if (request === undefined) return
    this.#sent += 1
    if (connection === undefined) {
      this.#cut += 1
      return
    }
    connection.isPending = true
    connection.sentAtMs = performance.now()
    this.#pending += 1
    connection.socket.write(request)
  }

  #receive(connection: Connection, bytes: Buffer): void {
    const { received } = connection
    const all = received === undefined ? bytes : Buffer.concat([received, bytes])
    if (!isWhole(all)) {
      connection.received = all
      return
    }
    connection.received = undefined
    connection.isPending = false
    this.#pending -= 1
    this.#count(all, performance.now() - connection.sentAtMs)
    if (this.#isOver) {
      if (this.#pending === 0) this.#onLast()
    } else if (this.#order.perSecond === undefined) this.#send(connection)
    else this.#idle.push(connection)
  }

  #count(answer: Buffer, ms: number): void {
    const status = Number(answer.toString('latin1', 9, 12))
    for (const expected of this.#expected) {
      if (expected.status !== status || !answer.includes(expected.text)) continue
      expected.latenciesMs.push(ms)
      return
    }
    this.#wrong += 1
    this.#firstWrong ||= answer.toString()
  }

  #waitForLast(): Promise<void> {
    if (this.#pending === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, lastAnswerWithinMs)
      this.#onLast = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

function encode({ url, headers }: LoadOrder, { method, path, body }: LoadOrder['requests'][0]) {
  const { host } = new URL(url)
  const given = { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) }
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${lines.join('')}${length}\r\n${body ?? ''}`,
  )
}

/** Whether a whole answer has arrived; there is never more than one. */
function isWhole(bytes: Buffer): boolean {
  const end = bytes.indexOf(headEnd)
  if (end < 0) return false
  const head = bytes.toString('latin1', 0, end + 2)
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1]
  if (length !== undefined) return bytes.length >= end + headEnd.length + Number(length)
  return bytes.subarray(-chunkedEnd.length).equals(chunkedEnd)
}

process.on('message', (order: LoadOrder) => {
  void new Load(order).run().then((result) => process.send?.(result))
})
process.on('disconnect', () => process.exit())
