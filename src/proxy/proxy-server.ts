/** The gating proxy: forwards a request that places calls only after the gate has allowed each of them. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Timers } from '../domain/time/clock.js'
import { getErrorCode } from '../errors.js'
import { createSampledLine, type Logger } from '../observability/log.js'
import { type Listener, listenOn } from '../runtime/listen.js'
import type { DeliveryQueue } from './delivery-queue.js'
import type { AllowedCalls, GateClient } from './gate-client.js'
import {
  type CallPlan,
  isObject,
  type JsonObject,
  type Platform,
  type PlatformRoute,
} from './platforms/platform.js'
import { Refusal } from './refusal.js'
import { type EncodedBody, encodeFields, parseFields, readBytes } from './request-body.js'
import { forwardedHeaders, readTarget, requireClearHeaders } from './request-head.js'
import { sendAndReadAnswer, sendAnswer, type Upstream } from './upstream.js'

export interface ProxyOptions {
  readonly platform: Platform
  readonly gate: Pick<GateClient, 'judge' | 'recordCalls'>
  readonly deliveries: Pick<DeliveryQueue, 'add'>
  /** Address for the events of calls, for a platform that sends events only on request. */
  readonly eventsUrl?: string | undefined
  readonly upstream: Upstream
  readonly allowScheduled: boolean
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  readonly timers: Timers
  readonly log: Logger
}

interface Proxy extends ProxyOptions {
  /** Of requests for which no call was judged: anybody who reaches the port can cause any number of them. */
  readonly logRefused: (refusal: Refusal) => void
  readonly logUnanswered: (code: string) => void
}

const maxCalls = 100
const headersTimeoutMs = 10_000
const requestTimeoutMs = 30_000

/** Rejects when it cannot listen, such as on a port in use. */
export async function openProxy(options: ProxyOptions): Promise<Listener> {
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
  })
  const proxy = { ...options, ...createLines(options) }
  server.on('request', (request, response) => void answer(request, response, proxy))
  // Without listeners `http` closes these connections; with one the client is told why.
  for (const event of ['upgrade', 'connect'] as const) {
    server.on(event, (_request, socket) => {
      socket.on('error', () => undefined)
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
    })
  }
  const running = await listenOn(server, options)
  return {
    url: running.url,
    async close() {
      await running.close()
      await options.upstream.close()
    },
  }
}

function createLines({ log, platform }: ProxyOptions): Pick<Proxy, 'logRefused' | 'logUnanswered'> {
  const often = { max: 10, per: 'minute' } as const
  return {
    logRefused: createSampledLine(log, {
      ...{ level: 'info', message: 'request refused', ...often },
      fields: ({ reason }: Refusal) => ({ platform: platform.name, reason }),
    }),
    logUnanswered: createSampledLine(log, {
      ...{ level: 'warn', message: 'no answer of the platform', ...often },
      fields: (code: string) => ({ platform: platform.name, code }),
    }),
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: Proxy,
): Promise<void> {
  try {
    await forward(request, response, options)
  } catch (cause) {
    if (cause instanceof Refusal) return sendRefusal(response, cause, options)
    options.log.error('the request failed', { code: getErrorCode(cause) ?? 'bug' })
    response.destroy()
  } finally {
    // What was not read of a refused request.
    request.resume()
  }
}

async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  options: Proxy,
): Promise<void> {
  requireClearHeaders(request)
  const { path, query } = readTarget(request)
  const route = options.platform.routes.find(
    (one) => one.method === request.method && one.path.test(path),
  )
  if (!route) {
    const message = `${request.method} ${path}: is not forwarded, since the proxy does not know whether it places calls`
    throw new Refusal('unknown-request', message)
  }
  if (query !== '' && route.body) {
    throw new Refusal('ambiguous-request', 'fields in the address are not forwarded; use the body')
  }
  const { body, plan } = await readBody(request, route, options)
  const allowed = plan && (await requireAllowed(plan, options))
  // An allow that has expired or that nobody waits for any more must not become a call.
  if (allowed && options.timers.monotonicMs() >= allowed.untilMs) {
    throw new Refusal('expired', 'the decision expired before the request was forwarded')
  }
  if (response.destroyed) return
  const headers = forwardedHeaders(request, { readsAnswer: plan !== undefined })
  const sent = { method: route.method, path: path + query, headers, body: body?.() }
  const started = options.upstream.send(sent)
  await relay(started, { response, options, placed: plan && allowed && { plan, allowed } })
}

interface RequestContent {
  /** Written when it is sent, after the ids of the decisions are in it. */
  readonly body?: () => EncodedBody
  readonly plan?: CallPlan | undefined
}

async function readBody(
  request: IncomingMessage,
  route: PlatformRoute,
  { allowScheduled }: ProxyOptions,
): Promise<RequestContent> {
  const bytes = await readBytes(request)
  const form = route.body
  if (bytes.length === 0 && !route.readCalls) return {}
  if (!form) {
    throw new Refusal('ambiguous-request', 'this request must not have a body')
  }
  const fields: JsonObject = await parseFields(bytes, form, request.headers['content-type'])
  route.requireHarmless?.(fields)
  const plan = route.readCalls?.(fields)
  if (plan && plan.calls.length > maxCalls) {
    throw new Refusal(
      'ambiguous-request',
      `at most ${maxCalls} numbers may be called by one request`,
    )
  }
  if (!allowScheduled && plan?.calls.some(({ at }) => at !== undefined)) {
    const advice = 'place the call when it is due, or start the proxy with --allow-scheduled'
    throw new Refusal('scheduled-call', `scheduled calls are refused; ${advice}`)
  }
  return { body: () => encodeFields(fields, form), plan }
}

async function requireAllowed(
  { calls, addDecisions }: CallPlan,
  { gate, eventsUrl }: ProxyOptions,
): Promise<AllowedCalls> {
  const judged = await gate.judge(calls)
  if (!('ids' in judged)) throw Refusal.ofCalls(judged, calls.length)
  addDecisions(judged.ids, eventsUrl)
  return judged
}

interface RelayContext {
  readonly response: ServerResponse
  readonly options: Proxy
  /** Absent for a request that places no call. */
  readonly placed?: { readonly plan: CallPlan; readonly allowed: AllowedCalls } | undefined
}

async function relay(
  started: ReturnType<Upstream['send']>,
  { response, options, placed }: RelayContext,
): Promise<void> {
  const { platform, log } = options
  const ids = placed?.allowed.ids
  try {
    const answer = await started
    const { statusCode: status } = answer
    if (!placed) return await sendAnswer(answer, response)
    log.info('call forwarded', { platform: platform.name, status, decisions: ids })
    const text = await sendAndReadAnswer(answer, response)
    if (status >= 200 && status < 300) reportCallIds(text, placed, options)
  } catch (cause) {
    const code = getErrorCode(cause) ?? 'no code'
    if (ids)
      log.warn('no answer of the platform', { platform: platform.name, code, decisions: ids })
    else options.logUnanswered(code)
    if (response.headersSent || response.destroyed) return void response.destroy()
    // The call may have been placed. Clients repeat a request after a 502, but not after a 424.
    sendError(response, options, {
      status: placed ? 424 : 502,
      reason: 'no-answer',
      message: `the platform did not answer (${code})`,
      details: {},
    })
  }
}

/** Reports the platform's id of the call to the gate, since some events identify the call by nothing else. */
function reportCallIds(
  text: string | undefined,
  { plan, allowed }: NonNullable<RelayContext['placed']>,
  { platform, gate, deliveries, log }: ProxyOptions,
): void {
  const ids = plan.readCallIds?.(parseAnswer(text))
  if (!ids) return
  const calls = plan.calls.flatMap(({ number }, index) => {
    const callIds = ids[index] ?? []
    const decisionId = allowed.ids[index] ?? ''
    return callIds.length > 0 ? [{ decisionId, number: number.slice(2), callIds }] : []
  })
  if (calls.length < plan.calls.length) {
    const problem = 'the answer of the platform has no call id'
    log.error(problem, { platform: platform.name, decisions: allowed.ids })
  }
  if (calls.length === 0) return
  deliveries.add({
    what: 'call ids of the platform',
    details: { calls: calls.map(({ decisionId, callIds }) => ({ decisionId, callIds })) },
    bytes: text?.length ?? 0,
    send: () => gate.recordCalls(calls),
  })
}

function parseAnswer(text: string | undefined): JsonObject {
  try {
    const answer: unknown = JSON.parse(text ?? '')
    return isObject(answer) ? answer : {}
  } catch {
    return {}
  }
}

function sendRefusal(response: ServerResponse, refusal: Refusal, options: Proxy): void {
  const { reason, message, calls } = refusal
  const refused = calls.map(({ message: _text, ...call }) => call)
  const decisionId = calls[0]?.decisionId
  const { platform, log } = options
  if (calls.length === 0) options.logRefused(refusal)
  else log.info('request refused', { platform: platform.name, reason, refused })
  sendError(response, options, {
    status: 403,
    reason,
    message,
    decisionId,
    details: { decisionId, ...(calls.length > 0 && { refused }) },
  })
}

function sendError(
  response: ServerResponse,
  { platform }: ProxyOptions,
  error: Parameters<Platform['encodeError']>[0],
): void {
  if (response.destroyed || response.headersSent) return
  response.writeHead(error.status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-should-retry': 'false',
    // The rest of a refused body is not worth reading.
    ...(!response.req.complete && { connection: 'close' }),
  })
  response.end(JSON.stringify(platform.encodeError(error)))
}
