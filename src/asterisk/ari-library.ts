/**
 * The door to ari-client, which reads what an Asterisk can do and opens its event socket. Here it
 * loses the habits that end a process: it throws on a failed start and on an event it does not know,
 * waits without end, connects again on its own, and keeps one set of credentials for all servers.
 */
import { createRequire } from 'node:module'
import { connect } from 'ari-client'
import { type AriHttp, AriHttpError, type AriServer } from './ari-http.js'

/** The operations in use, as the API description names them: resource and nickname. */
export type AriOperation =
  | 'applications.filter'
  | 'channels.list'
  | 'channels.setChannelVar'
  | 'channels.getChannelVar'
  | 'channels.continueInDialplan'
  | 'channels.hangup'
  | 'events.claimChannel'

type Parameters = Readonly<Record<string, unknown>>

export interface AriSocketWatch {
  /** Once, as soon as events may come. */
  opened(): void
  /** One event as Asterisk sent it. What it throws is handed to `unreadable`. */
  event(raw: unknown): void
  /** A message that could not be read or handled; the next ones still come. */
  unreadable(error: unknown): void
  pong(): void
  /** Once; nothing comes after it, and the socket is not opened anew. */
  closed(why: string): void
}

export interface AriSocket {
  ping(): void
  /** Cuts it without a word to the other side. */
  terminate(): void
}

export interface AriClient {
  /** Whether this Asterisk has the operation. */
  has(operation: AriOperation): boolean
  /** Rejects with an {@link AriHttpError}, or with what the library makes of wrong parameters. */
  call(operation: AriOperation, parameters: Parameters, signal?: AbortSignal): Promise<unknown>
  openSocket(app: string, watch: AriSocketWatch): AriSocket
}

/** What the library asks its HTTP layer for, and how it wants to hear of the answer. */
interface LibraryRequest {
  readonly url: string
  readonly method: string
  readonly body?: string
  readonly headers: { readonly [callHeader]?: CallContext }
  readonly on: {
    response(answer: { status: number; data: string }): void
    error(problem: AriHttpError): void
  }
}

/** The library hands `headers` of a call on to its request: the only way through it. */
const callHeader = 'callgate-call'
interface CallContext {
  readonly http: AriHttp
  readonly signal: AbortSignal | undefined
}

interface LibrarySocket {
  ping(): void
  terminate(): void
  removeAllListeners(event: 'message'): void
  on(event: 'message', listener: (message: unknown) => void): void
  on(event: 'close', listener: (code: number) => void): void
  on(event: 'error', listener: (error: Error) => void): void
}

interface LibraryClient {
  readonly _ws: LibrarySocket
  start(app: string, subscribeAll: boolean): Promise<void>
  on(event: 'pong' | 'WebSocketConnected', listener: () => void): void
}

interface SwaggerLibrary {
  readonly SwaggerApi: {
    prototype: { fail: (this: { failure(why: string): void }, why: string) => void }
  }
  readonly authorizations: { apply: () => unknown }
  readonly SwaggerHttp: { prototype: { execute: (request: LibraryRequest) => void } }
}

const fromHere = createRequire(import.meta.url)
const swagger: SwaggerLibrary = createRequire(fromHere.resolve('ari-client'))('swagger-client')

// The library's own throws after it has told the failure, where nobody can catch it.
swagger.SwaggerApi.prototype.fail = function tellFailure(why) {
  this.failure(why)
}
// `AriHttp` has the credentials of its own server; those of the library are of the last one.
swagger.authorizations.apply = () => undefined
swagger.SwaggerHttp.prototype.execute = execute
muteVersionWarning()

interface Reading {
  readonly http: AriHttp
  problem?: AriHttpError
}

/** API descriptions being read, by host of the server: these requests carry no call header. */
const readings = new Map<string, Reading>()

/**
 * Reads the API description. Rejects when it cannot be had, but may also wait for ever: the limit is
 * the caller's, who gives up by destroying `http`. Ask {@link checkAri} first.
 */
export async function openAriClient(server: AriServer, http: AriHttp): Promise<AriClient> {
  const { host, origin } = new URL(server.url)
  const reading: Reading = { http }
  readings.set(host, reading)
  try {
    const client: unknown = await connect(origin, server.username, server.password)
    return wrapClient(client, http)
  } catch (error) {
    throw reading.problem ?? error
  } finally {
    if (readings.get(host) === reading) readings.delete(host)
  }
}

/** Whether ARI is there, takes the credentials and speaks JSON; rejects with the reason if not. */
export async function checkAri(http: AriHttp): Promise<void> {
  const text = await http.request({ method: 'GET', path: '/ari/api-docs/events.json' })
  try {
    JSON.parse(text)
  } catch {
    throw notAri()
  }
}

function wrapClient(client: unknown, http: AriHttp): AriClient {
  const find = (operation: AriOperation) => {
    const [resource = '', nickname = ''] = operation.split('.')
    return functionAt(objectAt(client, resource), nickname)
  }
  return {
    has: (operation) => find(operation) !== undefined,
    async call(operation, parameters, signal) {
      const run = find(operation)
      if (!run) throw new Error('this Asterisk has no such operation')
      const context: CallContext = { http, signal }
      return run({ ...parameters, headers: { [callHeader]: context } })
    },
    openSocket: (app, watch) => openSocket(client as LibraryClient, app, watch),
  }
}

function openSocket(client: LibraryClient, app: string, watch: AriSocketWatch): AriSocket {
  client.on('WebSocketConnected', () => watch.opened())
  client.on('pong', () => watch.pong())
  // What matters is told by the socket; a rejection would show its address with the password.
  client.start(app, true).catch(() => undefined)
  neverAgain(client)
  const socket = client._ws
  readMessages(socket, watch)
  let why: string | undefined
  socket.on('error', (error) => {
    why = error.message
  })
  socket.on('close', (code) => watch.closed(why ?? `event socket closed with code ${code}`))
  return { ping: () => socket.ping(), terminate: () => socket.terminate() }
}

/**
 * Lets the library believe for ever that a close was wanted: it opens no socket by itself. Its own
 * attempts cannot be called off, so that a client given up would later take the application back.
 */
function neverAgain(client: LibraryClient): void {
  Object.defineProperty(client, '_wsClosed', { get: () => true, set: () => undefined })
}

/**
 * In place of the library's reading, which throws at what is not JSON and at a type that the API
 * description lacks, and gives each channel of each event an object with every operation.
 */
function readMessages(socket: LibrarySocket, watch: AriSocketWatch): void {
  socket.removeAllListeners('message')
  socket.on('message', (message) => {
    try {
      watch.event(JSON.parse(String(message)))
    } catch (error) {
      watch.unreadable(error)
    }
  })
}

/** In place of the library's HTTP, which has no time limit and does not tell of a lost connection. */
function execute({ url, method, body, headers, on }: LibraryRequest): void {
  const call = headers[callHeader]
  const reading = call ? undefined : readings.get(new URL(url).host)
  const fail = (problem: AriHttpError) => {
    if (reading) reading.problem ??= problem
    on.error(problem)
  }
  const http = call?.http ?? reading?.http
  if (!http) {
    fail(new AriHttpError('nobody waits for this answer any more', {}))
    return
  }
  // Asterisk names itself with http: also where it is asked over TLS, so only the path counts.
  const path = url.slice(url.indexOf('/', url.indexOf('//') + 2))
  http.request({ method, path, body, signal: call?.signal }).then((data) => {
    try {
      on.response({ status: 200, data })
    } catch {
      fail(notAri())
    }
  }, fail)
}

const notAri = () => new AriHttpError('something that is not ARI', { status: 200 })

/** The library logs with a global function of its own, to standard output, which carries JSON lines. */
function muteVersionWarning(): void {
  const log = functionAt(globalThis, 'log')
  Reflect.set(globalThis, 'log', (...parts: readonly unknown[]) => {
    if (!String(parts[0]).startsWith('This API is using a deprecated version of Swagger')) {
      log?.(...parts)
    }
  })
}

function objectAt(holder: unknown, name: string): object | undefined {
  if (typeof holder !== 'object' || holder === null) return undefined
  const found: unknown = Reflect.get(holder, name)
  return typeof found === 'object' && found !== null ? found : undefined
}

function functionAt(
  holder: object | undefined,
  name: string,
): ((...given: readonly unknown[]) => unknown) | undefined {
  const found: unknown = holder && Reflect.get(holder, name)
  return typeof found === 'function' ? (...given) => Reflect.apply(found, holder, given) : undefined
}
