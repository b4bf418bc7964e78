/**
 * Wraps ari-client, which reads the API description of an Asterisk and opens its event socket. The
 * wrapper removes behavior that would end the process: the library throws on a failed start and on
 * unknown events, waits without a limit, reconnects by itself, and shares one set of credentials among
 * all servers. Operations are sent as the description has them, not by the library, which takes about 50 µs
 * more for each.
 */
import { createRequire } from 'node:module'
import { connect } from 'ari-client'
import {
  type AriHttpClient,
  AriHttpError,
  type AriRequest,
  type AriServer,
} from './ari-http-client.js'
import { AriSocketRequests, answerEventType } from './ari-socket-requests.js'

/** The operations in use, named as in the API description: resource and nickname. */
export type AriOperation =
  | 'applications.filter'
  | 'channels.list'
  | 'channels.setChannelVar'
  | 'channels.getChannelVar'
  | 'channels.continueInDialplan'
  | 'channels.hangup'
  | 'events.claimChannel'

/** Always sent over HTTP: before the socket is in use, or with an answer that may be large. */
const httpOperations: ReadonlySet<AriOperation> = new Set(['applications.filter', 'channels.list'])

type Parameters = Readonly<Record<string, unknown>>

interface AriSocketObserver {
  /** Called once, as soon as events may arrive. */
  onOpen(): void
  /** One event as Asterisk sent it. Errors thrown here are passed to `onUnreadable`. */
  onEvent(raw: unknown): void
  /** A message could not be read or handled; later ones still arrive. */
  onUnreadable(error: unknown): void
  onPong(): void
  /** Called once and last; the socket is not reopened. */
  onClose(why: string): void
}

export interface AriSocket {
  ping(): void
  /** Closes the connection without a closing handshake. */
  terminate(): void
}

export interface AriClient {
  /** Whether this Asterisk has the operation. */
  has(operation: AriOperation): boolean
  /** Rejects with an {@link AriHttpError}, or with another error if a part of the path is missing. */
  call(operation: AriOperation, parameters: Parameters, signal?: AbortSignal): Promise<unknown>
  /** Requests go over the socket too where this Asterisk takes them there (22.4 and newer). */
  openSocket(app: string, observer: AriSocketObserver): AriSocket
}

/** A request of the library for a part of the description, with its callbacks. */
interface LibraryRequest {
  readonly url: string
  readonly method: string
  readonly on: {
    response(answer: { status: number; data: string }): void
    error(problem: AriHttpError): void
  }
}

interface LibrarySocket {
  ping(): void
  send(text: string): void
  terminate(): void
  removeAllListeners(event: 'message'): void
  on(event: 'message', listener: (message: unknown) => void): void
  on(event: 'close', listener: (code: number) => void): void
  on(event: 'error', listener: (error: Error) => void): void
}

interface LibraryClient {
  readonly _ws: LibrarySocket
  readonly _swagger: {
    /** By resource, and then by nickname. */
    readonly apis: Readonly<
      Partial<
        Record<
          string,
          { readonly operations: Readonly<Partial<Record<string, DescribedOperation>>> }
        >
      >
    >
  }
  start(app: string, subscribeAll: boolean): Promise<void>
  on(event: 'pong' | 'WebSocketConnected', listener: () => void): void
}

/** As the API description has it. */
interface DescribedOperation {
  readonly method: string
  /** Below `/ari`, with `{names}`. */
  readonly path: string
  readonly parameters: readonly {
    readonly name: string
    readonly paramType: 'path' | 'query' | 'body'
  }[]
}

interface SwaggerLibrary {
  readonly SwaggerApi: {
    prototype: { fail: (this: { failure(why: string): void }, why: string) => void }
  }
  readonly authorizations: { apply: () => unknown }
  readonly SwaggerHttp: { prototype: { execute: (request: LibraryRequest) => void } }
}

const requireFromHere = createRequire(import.meta.url)
const swagger: SwaggerLibrary = createRequire(requireFromHere.resolve('ari-client'))(
  'swagger-client',
)

// The library's own version throws after reporting the failure, where nothing can catch it.
swagger.SwaggerApi.prototype.fail = function reportFailure(why) {
  this.failure(why)
}
// `AriHttpClient` has the credentials of its own server; the library only keeps those of the last one.
swagger.authorizations.apply = () => undefined
swagger.SwaggerHttp.prototype.execute = executeRequest
muteVersionWarning()

interface DescriptionRequest {
  readonly http: AriHttpClient
  problem?: AriHttpError
}

/** API descriptions being read, by host of the server. */
const descriptionRequests = new Map<string, DescriptionRequest>()

/**
 * Reads the API description. Rejects on failure but may also never settle: the caller sets the time
 * limit and gives up by destroying `http`. Call {@link requireAri} first.
 */
export async function openAriClient(
  server: AriServer,
  http: AriHttpClient,
  features: AriFeatures,
): Promise<AriClient> {
  const { host, origin } = new URL(server.url)
  const reading: DescriptionRequest = { http }
  descriptionRequests.set(host, reading)
  try {
    const client: unknown = await connect(origin, server.username, server.password)
    return wrapClient(client as LibraryClient, http, features)
  } catch (error) {
    throw reading.problem ?? error
  } finally {
    if (descriptionRequests.get(host) === reading) descriptionRequests.delete(host)
  }
}

interface AriFeatures {
  /** Whether this Asterisk takes requests over the event socket. */
  readonly socketRequests: boolean
}

/** Rejects unless ARI is available, accepts the credentials and answers in JSON. */
export async function requireAri(http: AriHttpClient): Promise<AriFeatures> {
  const text = await http.request({ method: 'GET', path: '/ari/api-docs/events.json' })
  const described = parseAnswer(text) as { readonly models?: Readonly<Record<string, unknown>> }
  return { socketRequests: described?.models?.RESTRequest !== undefined }
}

function wrapClient(
  client: LibraryClient,
  http: AriHttpClient,
  { socketRequests }: AriFeatures,
): AriClient {
  let overSocket: AriSocketRequests | undefined
  const find = (operation: AriOperation) => {
    const [resource = '', nickname = ''] = operation.split('.')
    return client._swagger.apis[resource]?.operations[nickname]
  }
  return {
    has: (operation) => find(operation) !== undefined,
    async call(operation, parameters, signal) {
      const described = find(operation)
      if (!described) throw new Error('this Asterisk does not support the operation')
      const sender = httpOperations.has(operation) ? http : (overSocket ?? http)
      const text = await sender.request({ ...toRequest(described, parameters), signal })
      return text === '' ? undefined : parseAnswer(text)
    },
    openSocket(app, observer) {
      if (socketRequests) overSocket = new AriSocketRequests((text) => client._ws.send(text))
      return openSocket(client, app, observer, overSocket)
    },
  }
}

function toRequest(
  { method, path, parameters }: DescribedOperation,
  values: Parameters,
): AriRequest {
  let filled = `/ari${path}`
  let query = ''
  let body: string | undefined
  for (const { name, paramType } of parameters) {
    const value = values[name]
    if (paramType === 'path') {
      if (typeof value !== 'string' || value === '') throw new Error(`${name} is missing`)
      filled = filled.replace(`{${name}}`, () => encodeURIComponent(value))
    } else if (value === undefined) continue
    else if (paramType === 'body') body = JSON.stringify(value)
    else query += `${query === '' ? '?' : '&'}${name}=${encodeURIComponent(String(value))}`
  }
  return { method: method.toUpperCase(), path: filled + query, body }
}

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw createNotAriError()
  }
}

function openSocket(
  client: LibraryClient,
  app: string,
  observer: AriSocketObserver,
  requests: AriSocketRequests | undefined,
): AriSocket {
  client.on('WebSocketConnected', () => observer.onOpen())
  client.on('pong', () => observer.onPong())
  // The socket reports all failures; the rejection would reveal its address with the password.
  client.start(app, true).catch(() => undefined)
  preventReconnect(client)
  const socket = client._ws
  readMessages(socket, observer, requests)
  let why: string | undefined
  socket.on('error', (error) => {
    why = error.message
  })
  socket.on('close', (code) => observer.onClose(why ?? `event socket closed with code ${code}`))
  const terminate = () => {
    requests?.destroy()
    socket.terminate()
  }
  return { ping: () => socket.ping(), terminate }
}

/**
 * Makes the library treat every close as intended, so that it never reconnects. Its attempts cannot be
 * canceled, so an abandoned client would later take the application back.
 */
function preventReconnect(client: LibraryClient): void {
  Object.defineProperty(client, '_wsClosed', { get: () => true, set: () => undefined })
}

/**
 * Replaces the library's message handler, which throws on invalid JSON and on event types missing in
 * the API description, and creates an object with every operation for each channel of each event.
 */
function readMessages(
  socket: LibrarySocket,
  observer: AriSocketObserver,
  requests: AriSocketRequests | undefined,
): void {
  socket.removeAllListeners('message')
  socket.on('message', (message) => {
    try {
      const raw: unknown = JSON.parse(String(message))
      if (requests && isAnswer(raw)) requests.onAnswer(raw)
      else observer.onEvent(raw)
    } catch (error) {
      observer.onUnreadable(error)
    }
  })
}

function isAnswer(raw: unknown): raw is object {
  return typeof raw === 'object' && raw !== null && Reflect.get(raw, 'type') === answerEventType
}

/** Replaces the library's HTTP, which has no time limit and does not report a lost connection. */
function executeRequest({ url, method, on }: LibraryRequest): void {
  const reading = descriptionRequests.get(new URL(url).host)
  const fail = (problem: AriHttpError) => {
    if (reading) reading.problem ??= problem
    on.error(problem)
  }
  if (!reading) {
    fail(new AriHttpError('the request was abandoned', {}))
    return
  }
  // Asterisk gives its own address with http: even over TLS, so only the path is used.
  const path = url.slice(url.indexOf('/', url.indexOf('//') + 2))
  reading.http.request({ method, path }).then((data) => {
    try {
      on.response({ status: 200, data })
    } catch {
      fail(createNotAriError())
    }
  }, fail)
}

const createNotAriError = () => new AriHttpError('the answer is not from ARI', { status: 200 })

/** The library logs with its own global function to standard output, which must contain only JSON lines. */
function muteVersionWarning(): void {
  const library = globalThis as { log?: (...parts: readonly unknown[]) => void }
  const { log } = library
  library.log = (...parts) => {
    if (String(parts[0]).startsWith('This API is using a deprecated version of Swagger')) return
    log?.(...parts)
  }
}
