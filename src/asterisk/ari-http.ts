/**
 * HTTP to one Asterisk: its own credentials, its own connections, and an end for every request.
 * What a request means, and how long it may take, is left to its caller.
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
  /** As logs, metrics and readiness name it. */
  readonly name: string
  /** `http://host:port` or `https://host:port`; Asterisk serves below `/ari` alone. */
  readonly url: string
  readonly username: string
  readonly password: string
  /** Name of the Stasis application. */
  readonly app: string
}

export interface AriRequest {
  readonly method: string
  /** With the query, from the root: `/ari/channels?...`. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: string | undefined
  /** Ends the request, also one that still waits for a connection. */
  readonly signal?: AbortSignal | undefined
}

/** A request without an answer of 2xx; the status is absent when there was no whole answer. */
export class AriHttpError extends Error {
  readonly status: number | undefined
  /** Of the system, such as ECONNREFUSED; ENOTCONN when it was never sent. */
  readonly code: string | undefined

  constructor(message: string, about: { status?: number | undefined; code?: string | undefined }) {
    super(message)
    this.name = 'AriHttpError'
    this.status = about.status
    this.code = about.code
  }
}

/**
 * Asterisk cuts connections above `sessionlimit` of http.conf, 100 unless set, and event sockets and
 * other programs count too. 32 connections answer a thousand requests at once in a third of a second.
 */
const mostUnderWay = 32

/** Asterisk closes an idle connection after 15 s; ours close before they can race with that. */
const idleMs = 10_000

interface Exchange {
  readonly request: AriRequest
  readonly resolve: (text: string) => void
  readonly reject: (error: AriHttpError) => void
  sent: ClientRequest | undefined
}

export class AriHttp {
  readonly #send: typeof requestHttp
  readonly #agent: HttpAgent
  readonly #target: RequestOptions
  readonly #headers: Readonly<Record<string, string>>
  readonly #underWay = new Set<Exchange>()
  readonly #waiting: Exchange[] = []
  #destroyed = false

  constructor(server: Pick<AriServer, 'url' | 'username' | 'password'>) {
    const url = new URL(server.url)
    const isSecure = url.protocol === 'https:'
    const options = { keepAlive: true, maxSockets: mostUnderWay, timeout: idleMs }
    this.#send = isSecure ? requestHttps : requestHttp
    this.#agent = isSecure ? new HttpsAgent(options) : new HttpAgent(options)
    this.#target = urlToHttpOptions(url)
    const credentials = Buffer.from(`${server.username}:${server.password}`).toString('base64')
    this.#headers = { authorization: `Basic ${credentials}`, accept: 'application/json' }
  }

  /** Resolves with the text of a 2xx answer; rejects with an {@link AriHttpError} otherwise. */
  request(request: AriRequest): Promise<string> {
    return new Promise((resolve, reject) => {
      const exchange: Exchange = { request, resolve, reject, sent: undefined }
      const drop = () => this.#drop(exchange, new AriHttpError('no answer in time', {}))
      request.signal?.addEventListener('abort', drop, { once: true })
      this.#waiting.push(exchange)
      if (this.#destroyed) this.destroy()
      else this.#sendNext()
    })
  }

  /** Ends what is under way, for ever, and closes every connection. */
  destroy(): void {
    this.#destroyed = true
    for (const exchange of [...this.#waiting, ...this.#underWay]) {
      const code = exchange.sent ? undefined : 'ENOTCONN'
      this.#drop(exchange, new AriHttpError('the connection has ended', { code }))
    }
    this.#agent.destroy()
  }

  // Waiting is done here and not in the agent, which would send what was given up meanwhile.
  #sendNext(): void {
    while (this.#underWay.size < mostUnderWay) {
      const exchange = this.#waiting.shift()
      if (!exchange) return
      this.#underWay.add(exchange)
      this.#begin(exchange)
    }
  }

  #begin(exchange: Exchange): void {
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
      this.#underWay.delete(exchange)
      this.#sendNext()
    })
    sent.end(request.body)
  }

  #drop(exchange: Exchange, why: AriHttpError): void {
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
    else reject(new AriHttpError(messageOf(text) ?? statusMessage ?? '', { status }))
  })
}

/** Asterisk explains a refusal as `{"message":"Channel not found"}`, or `{"error":"..."}`. */
function messageOf(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body !== 'object' || body === null) return undefined
    const found: unknown = Reflect.get(body, 'message') ?? Reflect.get(body, 'error')
    return typeof found === 'string' && found !== '' ? found : undefined
  } catch {
    return undefined
  }
}
