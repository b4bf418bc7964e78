/** Serves MCP over HTTP: the key of the agent is the bearer token, and the gate says whether it is valid. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { hostHeaderValidation, originValidation, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { type GateAddress, GateClient, GateFailure } from './gate-client.js'
import type { McpSession } from './tool-parts.js'
import { createMcpServer } from './tools.js'

export interface McpHttpOptions {
  readonly gate: GateAddress
  /** What clients connect to, such as `https://mcp.example.com`; its name is a permitted host and origin. */
  readonly publicUrl: string
  readonly onError: (error: Error) => void
}

/** Tools take a few short texts. */
const maxRequestBodySize = 65_536
/** For a whole request. */
const requestTimeout = 30_000
const metadataPath = '/.well-known/oauth-protected-resource/mcp'

export function createMcpHttpServer({ gate, publicUrl, onError }: McpHttpOptions): Server {
  const names = ['localhost', '127.0.0.1', '[::1]', new URL(publicUrl).hostname]
  const isHost = hostHeaderValidation(names)
  const isOrigin = originValidation(names)
  const metadata = {
    resource: `${publicUrl}/mcp`,
    resource_name: 'callgate',
    bearer_methods_supported: ['header'],
  }
  const challenge = `Bearer resource_metadata="${publicUrl}${metadataPath}"`
  let givesPermits: boolean | undefined

  const serveMcp = async (request: IncomingMessage, response: ServerResponse) => {
    const [, key] =
      /^bearer +([\x21-\x7e]{1,500})$/i.exec(request.headers.authorization ?? '') ?? []
    if (key === undefined) {
      response.setHeader('WWW-Authenticate', challenge)
      return send(response, 401, { error: 'send the API key as Authorization: Bearer' })
    }
    const client = new GateClient(gate, key)
    let session: McpSession
    try {
      const access = await client.readKey()
      givesPermits ??= await client.readGivesPermits()
      session = { client, access, givesPermits }
    } catch (cause) {
      const failure = cause instanceof GateFailure ? cause : new GateFailure('this program failed')
      if (failure.status !== 401)
        return send(response, 503, { error: `Do not dial: ${failure.message}` })
      response.setHeader('WWW-Authenticate', `${challenge}, error="invalid_token"`)
      return send(response, 401, { error: 'the API key is not valid, or has expired' })
    }
    acceptAnyAnswer(request)
    const handler = createMcpHandler(() => createMcpServer(session), {
      maxRequestBodySize,
      onerror: onError,
    })
    const handle = toNodeHandler(handler, { maxRequestBodySize, onerror: onError })
    await handle(request as IncomingMessage & { method: string; url: string }, response)
  }

  return createServer({ requestTimeout }, (request, response) => {
    if (!isHost(request, response) || !isOrigin(request, response)) return
    const [path] = (request.url ?? '').split('?', 1).map((one) => one.replace(/\/+$/, ''))
    if (path === metadataPath && request.method === 'GET') return send(response, 200, metadata)
    if (path !== '/mcp') return send(response, 404, { error: 'MCP is at /mcp' })
    serveMcp(request, response).catch((cause: unknown) => {
      onError(cause instanceof Error ? cause : new Error(String(cause)))
      response.destroy()
    })
  })
}

/** The library accepts only clients that accept both types of its answers. */
function acceptAnyAnswer(request: IncomingMessage): void {
  const { accept = '*/*' } = request.headers
  if (!/(?:^|[\s,])(?:\*|application)\/\*/.test(accept)) return
  const both = 'application/json, text/event-stream'
  request.headers.accept = both
  const at = request.rawHeaders.findIndex(
    (name, index) => index % 2 === 0 && name.toLowerCase() === 'accept',
  )
  if (at === -1) request.rawHeaders.push('Accept', both)
  else request.rawHeaders[at + 1] = both
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
}
