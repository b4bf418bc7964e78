/** Receives the events of a platform, verifies their signatures, and passes them to the gate unread. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Clock, Timers } from '../../domain/time/clock.js'
import { AppError, getErrorMessage } from '../../errors.js'
import { BodyBudget, type BodyCharge } from '../../http/limits/body-budget.js'
import { createSampledLine, type Logger } from '../../observability/log.js'
import { mayBeSigned, verifyEvent } from '../../platform-events/signatures.js'
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
/** Of which an eighth is for senders that are not known yet, as all are here: 64 MiB of bodies in progress. */
const bodyBudgetBytes = 8 * 67_108_864
const headersTimeoutMs = 10_000
const requestTimeoutMs = 30_000
const reportDelayMs = 1_000

interface Reply {
  readonly status: number
  readonly body?: object | undefined
  /** Why the event is taken for a stranger's. */
  readonly unsigned?: string
}

/** Listens for `POST /v1/platforms/<platform>/events`. Rejects when it cannot listen. */
export function openEventServer(options: EventServerOptions): Promise<Listener> {
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
  })
  const countRefusal = createRefusalCounter(options)
  const warnUnsigned = createLine(options, 'an event has no valid signature')
  const warnNotReceived = createLine(options, 'an event could not be received')
  const bodies = new BodyBudget(bodyBudgetBytes)
  server.on('request', (request, response) => {
    const charge = bodies.openCharge()
    void receive(request, charge, options)
      .catch((cause: unknown): Reply => {
        const isFull = cause instanceof AppError && cause.kind === 'overloaded'
        const problem = isFull
          ? 'too many bytes of events are being received'
          : getErrorMessage(cause)
        warnNotReceived(problem)
        // The platform may send it again.
        return { status: 503 }
      })
      .then((reply) => {
        charge.release()
        if (reply.unsigned !== undefined) {
          countRefusal()
          warnUnsigned(reply.unsigned)
        }
        finish(response, reply)
      })
  })
  return listenOn(server, options)
}

/** Strangers can cause any number of them. */
function createLine({ log, platform }: EventServerOptions, message: string) {
  const fields = (problem: string) => ({ platform: platform.name, problem })
  return createSampledLine(log, { level: 'warn', message, fields, max: 10, per: 'minute' })
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

async function receive(
  request: IncomingMessage,
  charge: BodyCharge,
  options: EventServerOptions,
): Promise<Reply> {
  const { platform, clock } = options
  const receivedAt = clock.now()
  const [path, query = ''] = (request.url ?? '').split('?', 2)
  if (path !== eventsPath(platform)) return { status: 404 }
  if (request.method !== 'POST') return { status: 405 }
  if (!mayBeSigned(platform.name, signedHead(request, options), options.secrets)) {
    return { status: 401, unsigned: 'its headers have none' }
  }
  const body = await readBody(request, charge)
  if (!body) {
    const unsigned = `it is too long to verify its signature (more than ${maxReadBytes} bytes) and is not stored`
    return { status: 200, unsigned }
  }
  const age = verifyEvent(
    platform.name,
    { ...signedHead(request, options), body },
    options.secrets,
    receivedAt,
  )
  if (age === undefined) return { status: 401, unsigned: 'no secret fits' }
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

const signedHead = ({ headers, url }: IncomingMessage, { publicOrigin }: EventServerOptions) => ({
  headers,
  url: publicOrigin + url,
})

/** `undefined` for a body that is too long to be read. Rejects with `overloaded`. */
async function readBody(request: IncomingMessage, charge: BodyCharge): Promise<Buffer | undefined> {
  const parts: Buffer[] = []
  let size = 0
  // A refusal would otherwise destroy the connection before the answer.
  for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += part.length
    if (size <= maxReadBytes) parts.push(part)
    else parts.length = 0
    charge.resize(size <= maxReadBytes ? size : 0)
  }
  return size <= maxReadBytes ? Buffer.concat(parts) : undefined
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
