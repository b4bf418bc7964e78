/** `callgate mcp`: the tools of an AI agent over MCP, in a process of its own, which asks a gate over HTTP. */
import type { AddressInfo } from 'node:net'
import { readAgentKeyFromEnvironment } from '../../config/load.js'
import { apiKeyRule, isApiKey } from '../../config/secret-file.js'
import { getErrorMessage } from '../../errors.js'
import { listenOn } from '../../runtime/listen.js'
import { parseUrl } from '../../runtime/parse-url.js'
import { CommandFailure, type RegisterCommand } from '../command.js'
import { GateClient } from './gate-client.js'
import { createMcpHttpServer } from './mcp-http.js'
import { readMessages } from './standard-input.js'
import { createMcpServer } from './tools.js'

interface McpOptions {
  readonly url: string
  readonly listen?: string
  readonly publicUrl?: string
}

/** More than a gate takes to decide, and less than agents wait. */
const timeoutMs = 10_000

export const registerMcp: RegisterCommand = (program, terminal) => {
  program
    .command('mcp')
    .description(
      'give an AI agent the tools of a gate over MCP, on standard input and output or over HTTP',
    )
    .requiredOption('--url <url>', 'the gate, such as https://gate.example.com')
    .option('--listen <host:port>', 'serve Streamable HTTP at /mcp there')
    .option(
      '--public-url <url>',
      'with --listen: what clients connect to, if it is another address',
    )
    .addHelpText(
      'after',
      '\nThe API key comes from the variable CALLGATE_KEY; with --listen each client sends its own as bearer token.\n' +
        '\nExamples:\n' +
        '  CALLGATE_KEY=... callgate mcp --url http://127.0.0.1:8480\n' +
        '  callgate mcp --url http://127.0.0.1:8480 --listen 127.0.0.1:8487\n',
    )
    .action(async (options: McpOptions) => {
      const note = (text: string) => terminal.note(`callgate mcp: ${text}\n`)
      const gate = { url: parseUrlOption('--url', options.url), timeoutMs }
      const onError = (error: Error) => note(error.message)
      if (options.listen === undefined) {
        const client = new GateClient(gate, readKey())
        await serveStandardStreams(client, onError)
        return note(`asks ${gate.url}`)
      }
      const address = parseListen(options.listen)
      if (options.publicUrl === undefined && /^(?:0\.0\.0\.0|::)$/.test(address.host)) {
        const why = `--listen '${options.listen}' is all addresses of this machine`
        throw new CommandFailure(`--public-url is missing: ${why}; say what clients connect to`, 2)
      }
      const publicUrl =
        options.publicUrl === undefined
          ? `http://${options.listen}`
          : parseUrlOption('--public-url', options.publicUrl)
      const server = createMcpHttpServer({ gate, publicUrl, onError })
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        process.once(signal, () => {
          server.close()
          server.closeAllConnections()
        })
      }
      await listenOn(server, address).catch((cause: unknown) => {
        throw new CommandFailure(`--listen '${options.listen}': ${getErrorMessage(cause)}`)
      })
      const { port } = server.address() as AddressInfo
      note(`listens on ${address.host}:${port}, path /mcp, and asks ${gate.url}`)
    })
}

/** The tools are those of the key at the start; the gate limits each call by what holds then. */
async function serveStandardStreams(
  client: GateClient,
  onerror: (error: Error) => void,
): Promise<void> {
  const [access, givesPermits] = await Promise.all([
    client.readKey(),
    client.readGivesPermits(),
  ]).catch((cause: unknown) => {
    throw new CommandFailure(getErrorMessage(cause))
  })
  const { serveStdio, StdioServerTransport } = await import('@modelcontextprotocol/server/stdio')
  const messages = readMessages(process.stdin, process.stdout)
  const transport = new StdioServerTransport(messages, process.stdout)
  serveStdio(() => createMcpServer({ client, access, givesPermits }), { onerror, transport })
}

function readKey(): string {
  const key = readAgentKeyFromEnvironment()
  if (key === undefined) throw new CommandFailure('an API key is required: set CALLGATE_KEY', 2)
  if (isApiKey(key)) return key
  throw new CommandFailure(`CALLGATE_KEY: must be ${apiKeyRule}`, 2)
}

function parseUrlOption(option: string, text: string): string {
  if (/^https?:\/\/[^\s?#@]+$/.test(text) && parseUrl(text)) return text.replace(/\/+$/, '')
  throw new CommandFailure(`${option} '${text}': must be http://host:port or https://host:port`, 2)
}

function parseListen(text: string): { readonly host: string; readonly port: number } {
  const [, host, port] = /^(\[[\da-f:]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? []
  if (host !== undefined && Number(port) >= 1 && Number(port) <= 65_535) {
    return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
  }
  throw new CommandFailure(`--listen '${text}': must be host:port, such as 127.0.0.1:8487`, 2)
}
