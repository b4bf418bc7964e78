/**
 * HTTP client for one Asterisk with its own credentials and connections. The caller sets the time
 * limit of each request.
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
} from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { urlToHttpOptions } from 'node:url'

export interface AriServer {
  /** Name in logs, metrics and readiness. */
  readonly name: string
  /** `http://host:port` or `https://host:port`; Asterisk serves only below `/ari`. */
  readonly url: string
  readonly username: string
  readonly password: string
  /** Name of the Stasis application. */
  readonly app: string
}

export interface AriRequest {
  readonly method: string
  /** Path from the root, including the query: `/ari/channels?...`. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: string | undefined
  /** Cancels the request, even while it waits for a connection. */
  readonly signal?: AbortSignal | undefined
}

/** A request without a 2xx answer; the status is absent when there was no complete answer. */
export class AriHttpError extends Error {
  readonly status: number | undefined
  /** System error code, such as ECONNREFUSED; ENOTCONN when the request was never sent. */
  readonly code: string | undefined

  constructor(message: string, about: { status?: number | undefined; code?: string | undefined }) {
    super(message)
    this.name = 'AriHttpError'
    this.status = about.status
    this.code = about.code
  }
}

/**
 * Asterisk closes connections above `sessionlimit` in http.conf (default 100), which event sockets and
 * other programs share. With 32 connections a thousand concurrent requests take a third of a second.
 */
const maxInFlightRequests = 32

/** Asterisk closes idle connections after 15 s; closing earlier avoids a race with it. */
const idleTimeoutMs = 10_000

interface PendingAriRequest {
  readonly request: AriRequest
  readonly resolve: (text: string) => void
  readonly reject: (error: AriHttpError) => void
  sent: ClientRequest | undefined
}

export class AriHttpClient {
  readonly #send: typeof requestHttp
  readonly #agent: HttpAgent
  readonly #target: RequestOptions
  readonly #headers: Readonly<Record<string, string>>
  readonly #inFlight = new Set<PendingAriRequest>()
  readonly #waiting: PendingAriRequest[] = []
  #isDestroyed = false

  constructor(server: Pick<AriServer, 'url' | 'username' | 'password'>) {
    const url = new URL(server.url)
    const isSecure = url.protocol === 'https:'
    const options = { keepAlive: true, maxSockets: maxInFlightRequests, timeout: idleTimeoutMs }
    this.#send = isSecure ? requestHttps : requestHttp
    this.#agent = isSecure ? new HttpsAgent(options) : new HttpAgent(options)
    this.#target = urlToHttpOptions(url)
    const credentials = Buffer.from(`${server.username}:${server.password}`).toString('base64')
    this.#headers = { authorization: `Basic ${credentials}`, accept: 'application/json' }
  }

  /** Resolves with the text of a 2xx answer; rejects with an {@link AriHttpError} otherwise. */
  request(request: AriRequest): Promise<string> {
    return new Promise((resolve, reject) => {
      const exchange: PendingAriRequest = { request, resolve, reject, sent: undefined }
      const cancel = () => this.#cancel(exchange, new AriHttpError('no answer in time', {}))
      request.signal?.addEventListener('abort', cancel, { once: true })
      this.#waiting.push(exchange)
      if (this.#isDestroyed) this.destroy()
      else this.#sendNext()
    })
  }

  /** Fails all requests, including future ones, and closes every connection. */
  destroy(): void {
    this.#isDestroyed = true
    for (const exchange of [...this.#waiting, ...this.#inFlight]) {
      const code = exchange.sent ? undefined : 'ENOTCONN'
      this.#cancel(exchange, new AriHttpError('the connection has ended', { code }))
    }
    this.#agent.destroy()
  }

  // Requests are queued here and not in the agent, which would still send canceled ones.
  #sendNext(): void {
    while (this.#inFlight.size < maxInFlightRequests) {
      const exchange = this.#waiting.shift()
      if (!exchange) return
      this.#inFlight.add(exchange)
      this.#start(exchange)
    }
  }

  #start(exchange: PendingAriRequest): void {
    const { request, resolve, reject } = exchange
    const sent = this.#send(this.#optionsOf(request))
    exchange.sent = sent
    const fail = (error: NodeJS.ErrnoException) =>
      reject(new AriHttpError(error.message, { code: error.code }))
    sent.on('error', fail)
    sent.on('response', (answer) => {
      answer.on('error', fail)
      readAnswer(answer, resolve, reject)
    })
    sent.on('close', () => {
      this.#inFlight.delete(exchange)
      this.#sendNext()
    })
    sent.end(request.body)
  }

  #cancel(exchange: PendingAriRequest, why: AriHttpError): void {
    exchange.reject(why)
    exchange.sent?.destroy()
    const at = this.#waiting.indexOf(exchange)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  #optionsOf({ method, path, body }: AriRequest): RequestOptions {
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const length = { 'content-length': Buffer.byteLength(body ?? '') }
    const headers = { ...this.#headers, ...json, ...length }
    return { ...this.#target, agent: this.#agent, method, path, headers }
  }
}

function readAnswer(
  answer: IncomingMessage,
  resolve: (text: string) => void,
  reject: (error: AriHttpError) => void,
): void {
  const { statusCode: status = 0, statusMessage } = answer
  let text = ''
  answer.setEncoding('utf8')
  answer.on('data', (part: string) => {
    text += part
  })
  answer.on('end', () => {
    if (status >= 200 && status < 300) resolve(text)
    else reject(new AriHttpError(parseErrorMessage(text) ?? statusMessage ?? '', { status }))
  })
}

/** Asterisk explains a refusal as `{"message":"Channel not found"}`, or `{"error":"..."}`. */
export function parseErrorMessage(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body !== 'object' || body === null) return undefined
    const message: unknown = Reflect.get(body, 'message') ?? Reflect.get(body, 'error')
    return typeof message === 'string' && message !== '' ? message : undefined
  } catch {
    return undefined
  }
}
