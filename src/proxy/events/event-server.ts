/** Receives the events of a platform, and passes on outcomes and spoken opt-outs. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { OptOutReader } from '../../domain/opt-out-words.js'
import type { Clock } from '../../domain/time/clock.js'
import { getErrorMessage } from '../../errors.js'
import type { Logger } from '../../observability/log.js'
import type { CallEvent } from '../../platform-events/call-event.js'
import type { ReadEvent } from '../../platform-events/read-event.js'
import { type SignatureSettings, verifyEvent } from '../../platform-events/signatures.js'
import { type Listener, listenOn } from '../../runtime/listen.js'
import type { PlatformName } from '../platforms/platform.js'
import { Refusal } from '../refusal.js'
import { readBytes } from '../request-body.js'
import { type EventClient, EventNotStored } from './event-client.js'

export interface EventServerOptions {
  readonly platform: PlatformName
  readonly signature: SignatureSettings
  readonly readEvent: ReadEvent
  readonly client: Pick<EventClient, 'noteOutcome' | 'optOut'>
  readonly readWords: OptOutReader
  /** The address of this server as the platform knows it: `https://host`, without a path. */
  readonly publicOrigin: string
  readonly host: string
  readonly port: number
  readonly clock: Clock
  readonly log: Logger
}

/** Transcripts are long. */
const maxEventBytes = 4_194_304
const headersTimeoutMs = 10_000
const requestTimeoutMs = 30_000

/** Listens for `POST /v1/platforms/<platform>/events`. Rejects when it cannot listen. */
export function openEventServer(options: EventServerOptions): Promise<Listener> {
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
  })
  const ignored = new Map<string, number>()
  server.on('request', (request, response) => {
    void receive(request, options, ignored)
      .catch((cause: unknown) => {
        if (cause instanceof Refusal) return 400
        // The platform sends it again.
        const problem = cause instanceof EventNotStored ? cause.message : getErrorMessage(cause)
        options.log.error('an event was not stored', { platform: options.platform, problem })
        return 503
      })
      .then((status) => finish(response, status))
  })
  return listenOn(server, options)
}

function finish(response: ServerResponse, status: number): void {
  if (response.destroyed) return
  const isWhole = response.req.complete
  response.writeHead(status, { 'content-length': 0, ...(!isWhole && { connection: 'close' }) })
  response.end()
  response.req.resume()
}

async function receive(
  request: IncomingMessage,
  options: EventServerOptions,
  ignored: Map<string, number>,
): Promise<number> {
  const { platform, signature, log, clock } = options
  const [path, query = ''] = (request.url ?? '').split('?', 2)
  if (path !== `/v1/platforms/${platform}/events`) return 404
  if (request.method !== 'POST') return 405
  const body = await readBytes(request, maxEventBytes)
  const url = options.publicOrigin + request.url
  const signed = { headers: request.headers, body, url }
  if (verifyEvent(platform, signed, signature, clock.now()) !== 'timely') {
    log.warn('an event has no valid signature', { platform })
    return 401
  }
  for (const event of options.readEvent(platform, { body: body.toString(), query })) {
    if (await passOn(event, options)) continue
    const count = (ignored.get(event.type) ?? 0) + 1
    if (ignored.size < maxCountedTypes || ignored.has(event.type)) ignored.set(event.type, count)
    log.info('an event was ignored', { platform, type: event.type.slice(0, 60), count })
  }
  return 200
}

const maxCountedTypes = 100

/** False if there was nothing in it. The opt-out is first, since it must not be lost. */
async function passOn(event: CallEvent, options: EventServerOptions): Promise<boolean> {
  const { client, readWords, log, platform } = options
  const heard = event.utterances.flatMap(({ speaker, text }) => (speaker === 'agent' ? [] : [text]))
  const said = readWords(heard.join(' '))
  const words = event.optOut?.said ?? (said.reading === 'stop' ? said.words : undefined)
  const { type, decisionId } = event
  if (words !== undefined) {
    const isStored = await client.optOut(event, words)
    if (isStored) log.info('an opt-out was heard', { platform, type, decisionId })
    else log.error('an opt-out has neither a decision nor a number', { platform, type })
  }
  const isNoted = await client.noteOutcome(event)
  return isNoted || words !== undefined
}
