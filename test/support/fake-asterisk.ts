/**
 * A small Asterisk: its HTTP with the part of the API description that is in use, and its event
 * socket. It answers well until it is told otherwise, and keeps what it was asked.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo, Socket } from 'node:net'

export const user = { username: 'callgate', password: 'pa:ss wörd/1' }

export interface FakeRequest {
  /** As the API description names it: `channels.hangup`; a description is `api-docs/events.json`. */
  readonly operation: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  /** Whether it came over the event socket; absent for HTTP. */
  readonly overSocket?: true
}

/** `silence` never answers, `reset` cuts the connection. */
export type FakeAnswer =
  | { readonly status: number; readonly body?: unknown }
  | 'silence'
  | 'reset'
  | Promise<{ readonly status: number; readonly body?: unknown }>

interface EventSocket {
  on(event: 'ping' | 'message', listener: (data: Buffer) => void): void
  on(event: 'close', listener: () => void): void
  pong(data: Buffer): void
  send(text: string): void
  close(): void
  terminate(): void
}

interface SocketServer {
  handleUpgrade(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    done: (opened: EventSocket) => void,
  ): void
}

const fromLibrary = createRequire(createRequire(import.meta.url).resolve('ari-client'))
const { WebSocketServer } = fromLibrary('ws') as {
  WebSocketServer: new (options: { noServer: true; autoPong: false }) => SocketServer
}

const text = (name: string, paramType: 'path' | 'query') => ({
  name,
  paramType,
  dataType: 'string',
})
const onChannel = '/channels/{channelId}'
const channelId = text('channelId', 'path')

/** Resource -> operations: nickname, method, path, parameters, response class. */
const operations = {
  applications: [
    [
      'filter',
      'PUT',
      '/applications/{applicationName}/eventFilter',
      [text('applicationName', 'path'), { name: 'filter', paramType: 'body', dataType: 'object' }],
      'Application',
    ],
  ],
  channels: [
    ['list', 'GET', '/channels', [], 'List[Channel]'],
    [
      'setChannelVar',
      'POST',
      `${onChannel}/variable`,
      [channelId, text('variable', 'query'), text('value', 'query')],
      'void',
    ],
    [
      'getChannelVar',
      'GET',
      `${onChannel}/variable`,
      [channelId, text('variable', 'query')],
      'Variable',
    ],
    [
      'continueInDialplan',
      'POST',
      `${onChannel}/continue`,
      [
        channelId,
        text('context', 'query'),
        text('extension', 'query'),
        { ...text('priority', 'query'), dataType: 'int' },
      ],
      'void',
    ],
    ['hangup', 'DELETE', onChannel, [channelId, text('reason', 'query')], 'void'],
  ],
  events: [
    [
      'claimChannel',
      'POST',
      '/events/claim',
      [text('channelId', 'query'), text('application', 'query')],
      'void',
    ],
  ],
} as const

const described = [
  'StasisStart',
  'StasisEnd',
  'CallBroadcast',
  'Dial',
  'ChannelDestroyed',
  'ApplicationReplaced',
  'ChannelVarset',
]

const routes = Object.entries(operations).flatMap(([resource, rows]) =>
  rows.map(([nickname, method, path]) => ({
    operation: `${resource}.${nickname}`,
    method,
    pattern: new RegExp(`^/ari${path.replace(/\{\w+\}/g, '[^/]+')}$`),
  })),
)

export class FakeAsterisk {
  readonly requests: FakeRequest[] = []
  /** What comes first for an operation or a description is taken first; then all is well. */
  readonly answers = new Map<string, FakeAnswer[]>()
  /** Event sockets opened so far, by the application and whether all events were asked for. */
  readonly registrations: string[] = []
  channels: unknown[] = []
  password = user.password
  /** Says nothing any more, neither to requests nor to pings; connections stay. */
  frozen = false
  canClaim = true
  /** Takes requests over the event socket, as 22.4 and newer do. */
  takesSocketRequests = false
  pings = 0
  underWay = 0
  mostUnderWay = 0
  /** Requests whose client has gone before the answer. */
  abandoned = 0
  /** Called after each request, registration, ping and loss. */
  changed: () => void = () => undefined
  readonly #server: Server
  readonly #sockets = new Set<EventSocket>()
  readonly #upgrade = new WebSocketServer({ noServer: true, autoPong: false })
  readonly #silenced = new Set<Socket>()

  constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response))
    this.#server.on('upgrade', (request, socket: Socket, head) => this.#open(request, socket, head))
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Open event sockets. */
  get attached(): number {
    return this.#sockets.size
  }

  listen(port = 0): Promise<this> {
    return new Promise((resolve) => {
      this.#server.listen(port, '127.0.0.1', () => resolve(this))
    })
  }

  next(operation: string, ...answers: readonly FakeAnswer[]): void {
    this.answers.set(operation, [...(this.answers.get(operation) ?? []), ...answers])
  }

  /** Sends an event, or a text that is none, to every event socket. */
  send(event: unknown): void {
    const line = typeof event === 'string' ? event : JSON.stringify(event)
    for (const socket of this.#sockets) socket.send(line)
  }

  /** Closes the event sockets, and nothing else. */
  drop(): void {
    for (const socket of this.#sockets) socket.close()
  }

  of(operation: string): readonly FakeRequest[] {
    return this.requests.filter((request) => request.operation === operation)
  }

  connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
    })
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      for (const socket of this.#sockets) socket.terminate()
      for (const socket of this.#silenced) socket.destroy()
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.underWay += 1
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay)
    response.on('close', () => {
      this.underWay -= 1
      if (!response.writableFinished) this.abandoned += 1
      this.changed()
    })
    const known = await this.#keep(request)
    this.changed()
    const planned = this.answers.get(known.operation)?.shift()
    const answer = await (planned ?? this.#authorized(request, known))
    if (this.frozen || answer === 'silence') return
    if (answer === 'reset') {
      response.socket?.resetAndDestroy()
      return
    }
    const body = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
    response.writeHead(answer.status, { 'content-type': 'application/json' })
    response.end(answer.status === 204 ? undefined : body)
  }

  async #keep(request: IncomingMessage): Promise<FakeRequest> {
    let body = ''
    for await (const part of request.setEncoding('utf8')) body += String(part)
    const known = this.#read(request.method, request.url ?? '', body)
    this.requests.push(known)
    return known
  }

  #read(method: string | undefined, url: string, body = ''): FakeRequest {
    const { pathname, searchParams } = new URL(url, this.url)
    const route = routes.find((one) => one.method === method && one.pattern.test(pathname))
    return {
      operation: route?.operation ?? pathname.replace('/ari/', ''),
      path: pathname,
      query: Object.fromEntries(searchParams),
      body: body === '' ? undefined : JSON.parse(body),
    }
  }

  /** Answers a request that came over the event socket. */
  async #answerOverSocket(socket: EventSocket, message: Buffer): Promise<void> {
    const { type, request_id, method, uri, message_body } = JSON.parse(String(message))
    if (type !== 'RESTRequest' || !this.takesSocketRequests) return
    const known: FakeRequest = {
      ...this.#read(method, `/ari/${uri}`, message_body),
      overSocket: true,
    }
    this.requests.push(known)
    this.changed()
    const answer = await (this.answers.get(known.operation)?.shift() ?? this.#well(known))
    if (this.frozen || answer === 'silence') return
    if (answer === 'reset') {
      socket.terminate()
      return
    }
    const { status: status_code, body } = answer
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const reply = { type: 'RESTResponse', request_id, status_code, reason_phrase: 'as planned' }
    socket.send(JSON.stringify({ ...reply, ...(status_code !== 204 && { message_body: text }) }))
  }

  #authorized(request: IncomingMessage, known: FakeRequest): FakeAnswer {
    const wanted = Buffer.from(`${user.username}:${this.password}`).toString('base64')
    if (request.headers.authorization !== `Basic ${wanted}`) {
      return { status: 401, body: { message: 'Authentication required' } }
    }
    return this.#well(known)
  }

  #well({ operation }: FakeRequest): FakeAnswer {
    if (operation.startsWith('api-docs/')) return { status: 200, body: this.#describe(operation) }
    if (operation === 'channels.list') return { status: 200, body: this.channels }
    if (operation === 'applications.filter') return { status: 200, body: { name: 'callgate' } }
    if (operation === 'channels.getChannelVar') return { status: 200, body: { value: 'ai' } }
    return { status: 204 }
  }

  #describe(operation: string): unknown {
    const basePath = `${this.url}/ari`
    const name = operation.slice('api-docs/'.length, -'.json'.length)
    if (name === 'resources') {
      const apis = Object.keys(operations).map((one) => ({ path: `/api-docs/${one}.{format}` }))
      return { apiVersion: '10.0.0', swaggerVersion: '1.1', basePath, apis }
    }
    const rows = operations[name as keyof typeof operations].filter(
      ([nickname]) => this.canClaim || nickname !== 'claimChannel',
    )
    const apis = rows.map(([nickname, httpMethod, path, parameters, responseClass]) => ({
      path,
      operations: [{ nickname, httpMethod, parameters, responseClass, errorResponses: [] }],
    }))
    const types = this.takesSocketRequests ? [...described, 'RESTRequest'] : described
    const models = name === 'events' ? types.map((type) => [type, modelOf(type)]) : []
    return { basePath, resourcePath: name, apis, models: Object.fromEntries(models) }
  }

  #open(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const { searchParams } = new URL(request.url ?? '', this.url)
    if (this.frozen) {
      this.#silenced.add(socket)
      return
    }
    if (searchParams.get('api_key') !== `${user.username}:${this.password}`) {
      socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
      return
    }
    this.#upgrade.handleUpgrade(request, socket, head, (opened) => {
      this.#sockets.add(opened)
      opened.on('close', () => {
        this.#sockets.delete(opened)
        this.changed()
      })
      opened.on('ping', (data) => {
        this.pings += 1
        if (!this.frozen) opened.pong(data)
        this.changed()
      })
      opened.on('message', (message) => void this.#answerOverSocket(opened, message))
      this.registrations.push(`${searchParams.get('app')} ${searchParams.get('subscribeAll')}`)
      this.changed()
    })
  }
}

function modelOf(type: string): unknown {
  const channel = { type: 'Channel', required: true }
  return { id: type, properties: type === 'Dial' ? { peer: channel } : { channel } }
}
