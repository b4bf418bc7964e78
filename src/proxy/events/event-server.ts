/** Receives the events of a platform, verifies their signatures, and passes them to the gate unread. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Clock, Timers } from '../../domain/time/clock.js'
import { getErrorMessage } from '../../errors.js'
import type { Logger } from '../../observability/log.js'
import { type SignatureAge, verifyEvent } from '../../platform-events/signatures.js'
import { type Listener, listenOn } from '../../runtime/listen.js'
import type { DeliveryQueue } from '../delivery-queue.js'
import {
  describeFailure,
  type GateClient,
  maxEventLength,
  type PlatformEvent,
} from '../gate-client.js'
import { isObject, type JsonObject, type Platform, requireNumber } from '../platforms/platform.js'
import { Refusal } from '../refusal.js'

export interface EventServerOptions {
  readonly platform: Platform
  /** An event may be signed with any of them. */
  readonly secrets: readonly string[]
  readonly gate: Pick<GateClient, 'judge' | 'recordEvent' | 'report'>
  readonly deliveries: Pick<DeliveryQueue, 'add'>
  /** The address of this server as the platform knows it: `https://host`, without a path. */
  readonly publicOrigin: string
  readonly host: string
  readonly port: number
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Logger
}

export const eventsPath = (platform: Platform) => `/v1/platforms/${platform.name}/events`

/** Longer events are not read, so their signature cannot be verified. */
const maxReadBytes = 16_777_216
const headersTimeoutMs = 10_000
const requestTimeoutMs = 30_000
const reportDelayMs = 1_000

interface Reply {
  readonly status: number
  readonly body?: object | undefined
  /** Whether the signature was wrong or could not be verified. */
  readonly isUnsigned?: true
}

/** Listens for `POST /v1/platforms/<platform>/events`. Rejects when it cannot listen. */
export function openEventServer(options: EventServerOptions): Promise<Listener> {
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
  })
  const countRefusal = createRefusalCounter(options)
  server.on('request', (request, response) => {
    void receive(request, options)
      .catch((cause: unknown): Reply => {
        // The platform may send it again.
        const problem = getErrorMessage(cause)
        options.log.error('an event could not be received', {
          platform: options.platform.name,
          problem,
        })
        return { status: 503 }
      })
      .then((reply) => {
        if (reply.isUnsigned) countRefusal()
        finish(response, reply)
      })
  })
  return listenOn(server, options)
}

function finish(response: ServerResponse, { status, body }: Reply): void {
  if (response.destroyed) return
  const isWhole = response.req.complete
  const text = body === undefined ? '' : JSON.stringify(body)
  response.writeHead(status, {
    'content-length': Buffer.byteLength(text),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(!isWhole && { connection: 'close' }),
  })
  response.end(text)
  response.req.resume()
}

/** Reports wrong signatures a second after the first one, since the gate raises an alert for them. */
function createRefusalCounter({ gate, deliveries, timers }: EventServerOptions): () => void {
  let count = 0
  return () => {
    count += 1
    if (count > 1) return
    timers.after(reportDelayMs, () => {
      const refusedSignatures = count
      count = 0
      deliveries.add({
        what: 'count of refused signatures',
        details: { refusedSignatures },
        bytes: 0,
        send: () => gate.report({ refusedSignatures }),
      })
    })
  }
}

async function receive(request: IncomingMessage, options: EventServerOptions): Promise<Reply> {
  const { platform, log, clock } = options
  const receivedAt = clock.now()
  const [path, query = ''] = (request.url ?? '').split('?', 2)
  if (path !== eventsPath(platform)) return { status: 404 }
  if (request.method !== 'POST') return { status: 405 }
  const body = await readBody(request)
  if (!body) {
    log.error('an event was not stored, because it is too long to verify its signature', {
      platform: platform.name,
      maxBytes: maxReadBytes,
    })
    return { status: 200, isUnsigned: true }
  }
  const age = readAge(request, body, options)
  if (age === undefined) {
    log.warn('an event has no valid signature', { platform: platform.name })
    return { status: 401, isUnsigned: true }
  }
  const fields = parseEvent(body)
  const predial = platform.readPredial?.(fields)
  if (predial) {
    const eligible = age === 'timely' && (await isEligible(predial, options))
    return { status: 200, body: { eligible } }
  }
  const delivery = age === 'late' ? age : undefined
  const event = { receivedAt, body: readHead(body, options), query, delivery }
  const isStored = await passOn(event, options)
  return isStored ? { status: 200, body: platform.answerEvent?.(fields) } : { status: 503 }
}

/** `undefined` for a body that is too long to be read. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size <= maxReadBytes) parts.push(part)
    else parts.length = 0
  }
  return size <= maxReadBytes ? Buffer.concat(parts) : undefined
}

/** `undefined` if no secret matches. */
function readAge(
  { headers, url }: IncomingMessage,
  body: Buffer,
  { platform, secrets, publicOrigin, clock }: EventServerOptions,
): SignatureAge | undefined {
  return verifyEvent(
    platform.name,
    { headers, body, url: publicOrigin + url },
    secrets,
    clock.now(),
  )
}

/** Cuts an event that is longer than the gate accepts: nearly all of such an event is a recording. */
function readHead(body: Buffer, { platform, log }: EventServerOptions): string {
  if (body.length > maxEventLength) {
    const size = { bytes: body.length, kept: maxEventLength }
    log.error('an event is too long; only its beginning is stored', {
      platform: platform.name,
      ...size,
    })
  }
  // With `stream`, a character that was cut in two is left out.
  return new TextDecoder().decode(body.subarray(0, maxEventLength), { stream: true })
}

/** Only shows whether the platform waits for more than a status; the gate reads the event. */
function parseEvent(body: Buffer): JsonObject {
  try {
    const event: unknown = JSON.parse(body.toString())
    return isObject(event) ? event : {}
  } catch {
    return {}
  }
}

/** The platform calls the person only after a valid allow. */
async function isEligible(
  { number }: { readonly number: unknown },
  { gate, platform, timers, log }: EventServerOptions,
): Promise<boolean> {
  try {
    const judged = await gate.judge([{ number: requireNumber(number, 'contact.number') }])
    const isAllowed = 'ids' in judged && timers.monotonicMs() < judged.untilMs
    const decisions = 'ids' in judged ? judged.ids : judged.map(({ decisionId }) => decisionId)
    log.info('a campaign call was decided', { platform: platform.name, isAllowed, decisions })
    return isAllowed
  } catch (cause) {
    const problem = cause instanceof Refusal ? cause.message : describeFailure(cause)
    log.warn('a campaign call could not be decided', { platform: platform.name, problem })
    return false
  }
}

/** Platforms seldom send an event again, so the proxy itself also retries an event that was not stored. */
async function passOn(
  event: PlatformEvent,
  { gate, deliveries, platform, log }: EventServerOptions,
): Promise<boolean> {
  try {
    await gate.recordEvent(event)
    return true
  } catch (cause) {
    const problem = describeFailure(cause)
    log.error('an event was not stored; trying again', { platform: platform.name, problem })
    deliveries.add({
      what: 'an event',
      details: { platform: platform.name, receivedAt: event.receivedAt },
      bytes: event.body.length,
      send: () => gate.recordEvent(event),
    })
    return false
  }
}
