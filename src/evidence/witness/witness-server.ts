/** The HTTP server of a witness: `POST /add-checkpoint`, and `GET /<SHA-256 of the origin>/checkpoint`. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createSampledLine, type Logger } from '../../observability/log.js'
import { type Listener, listenOn } from '../../runtime/listen.js'
import type { Witness, WitnessAnswer } from './witness.js'

export interface WitnessServerOptions {
  readonly witness: Witness
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly log: Logger
  /** How long a client may take to send its request. */
  readonly requestTimeoutMs?: number
}

/** A proof of 63 hashes, and a checkpoint with more signatures than a log has witnesses. */
const maxBodyBytes = 65_536
const defaultRequestTimeoutMs = 10_000

/** Rejects when it cannot listen, such as on a port in use. */
export function openWitnessServer(options: WitnessServerOptions): Promise<Listener> {
  const { requestTimeoutMs = defaultRequestTimeoutMs } = options
  const server = createServer({
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, requestTimeoutMs),
  })
  const logFailure = createSampledLine(options.log, {
    ...{ level: 'error', message: 'a request failed', max: 10, per: 'minute' },
    fields: (err: unknown) => ({ err }),
  })
  server.on('request', (request, response) => {
    void handle(request, response, { ...options, logFailure })
  })
  return listenOn(server, options)
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  {
    witness,
    logFailure,
  }: Pick<WitnessServerOptions, 'witness'> & { readonly logFailure: (err: unknown) => void },
): Promise<void> {
  try {
    const { status, contentType, text } = await answer(request, witness)
    // What was not read of a body that is too long is not waited for.
    if (!request.complete) response.setHeader('Connection', 'close')
    response.writeHead(status, {
      'Content-Type': contentType,
      'Content-Length': Buffer.byteLength(text),
      'Cache-Control': 'no-store',
    })
    response.end(text)
  } catch (err) {
    if (request.destroyed && !request.complete) return
    logFailure(err)
    response.writeHead(500, { 'Content-Type': 'text/plain; charset=utf-8' })
    response.end('the witness could not answer; see its log\n')
  }
}

async function answer(request: IncomingMessage, witness: Witness): Promise<WitnessAnswer> {
  const { method, url = '' } = request
  const originHash = /^\/([0-9a-f]{64})\/checkpoint$/.exec(url)?.[1]
  if (originHash !== undefined) {
    return method === 'GET'
      ? witness.find(originHash)
      : refuse(405, 'a checkpoint is read with GET')
  }
  if (url !== '/add-checkpoint') return refuse(404, 'there is POST /add-checkpoint')
  if (method !== 'POST') return refuse(405, 'a checkpoint is added with POST')
  const body = await readBody(request)
  return body === undefined
    ? refuse(413, `the body is longer than ${maxBodyBytes} bytes`)
    : witness.add(body)
}

const refuse = (status: number, problem: string): WitnessAnswer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  text: `${problem}\n`,
})

/** `undefined` if it is too long. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  // An early end of the loop would destroy the connection before the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += (chunk as Buffer).length
    if (bytes > maxBodyBytes) return undefined
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}
