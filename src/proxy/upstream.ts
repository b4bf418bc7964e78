/** Sends requests on to the platform, and its answers back as they come. */
import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { Agent, type Dispatcher } from 'undici'
import type { EncodedBody } from './request-body.js'
import { namedByConnection } from './request-head.js'

export interface UpstreamRequest {
  readonly method: Dispatcher.HttpMethod
  /** With its query. */
  readonly path: string
  readonly headers: readonly (readonly [string, readonly string[]])[]
  readonly body?: EncodedBody | undefined
}

export interface UpstreamOptions {
  /** `https://host`, without a path. */
  readonly origin: string
  /** Until the headers of an answer; a platform may wait until the call is answered. */
  readonly headersTimeoutMs?: number
}

const defaultHeadersTimeoutMs = 120_000
const bodyTimeoutMs = 120_000
const connectTimeoutMs = 5_000

export class Upstream {
  readonly #agent: Agent
  readonly #origin: string

  constructor({ origin, headersTimeoutMs = defaultHeadersTimeoutMs }: UpstreamOptions) {
    this.#origin = origin
    this.#agent = new Agent({
      connect: { timeout: connectTimeoutMs },
      headersTimeout: headersTimeoutMs,
      bodyTimeout: bodyTimeoutMs,
      // A request is never repeated, since the first one may have placed its call.
      pipelining: 1,
      allowH2: false,
    })
  }

  /** Does not follow redirects. Rejects if there is no answer. */
  send({ method, path, headers, body }: UpstreamRequest): Promise<Dispatcher.ResponseData> {
    const own = body && ['content-type', body.contentType]
    return this.#agent.request({
      origin: this.#origin,
      path,
      method,
      headers: [
        ...headers.flatMap(([name, values]) => values.flatMap((value) => [name, value])),
        ...(own ?? []),
      ],
      body: body?.text ?? null,
    })
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }
}

const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'trailer', 'upgrade'])

/** Passes on status, headers and body without reading them. */
export async function sendAnswer(
  answer: Dispatcher.ResponseData,
  response: ServerResponse,
): Promise<void> {
  sendHead(answer, response)
  await pipeline(answer.body, response)
}

/**
 * Passes on the answer as it arrives, and returns its text. Keeps reading after the client has disconnected, since the
 * call has been placed. Returns `undefined` for an answer that is too long to be about a call.
 */
export async function sendAndReadAnswer(
  answer: Dispatcher.ResponseData,
  response: ServerResponse,
): Promise<string | undefined> {
  if (!response.destroyed) sendHead(answer, response)
  const parts: Buffer[] = []
  let size = 0
  for await (const part of answer.body as AsyncIterable<Buffer>) {
    size += part.length
    if (size <= maxReadBytes) parts.push(part)
    if (!response.destroyed && !response.write(part)) await waitForRoom(response)
  }
  response.end()
  return size <= maxReadBytes ? Buffer.concat(parts).toString() : undefined
}

const maxReadBytes = 4_194_304

function waitForRoom(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      response.off('drain', end)
      response.off('close', end)
      resolve()
    }
    response.on('drain', end)
    response.on('close', end)
  })
}

function sendHead(
  { statusCode, headers }: Dispatcher.ResponseData,
  response: ServerResponse,
): void {
  const connection = headers.connection
  const named = namedByConnection(Array.isArray(connection) ? connection.join(',') : connection)
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !hopByHop.has(name) && !named.has(name))
      response.setHeader(name, value)
  }
  response.writeHead(statusCode)
}
