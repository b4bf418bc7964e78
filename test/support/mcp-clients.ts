/** The official clients of MCP, of both lines, over any transport. */
import { Client } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'

export interface McpResult {
  readonly isError?: boolean | undefined
  readonly structuredContent?: unknown
  readonly content: readonly { readonly type: string; readonly text?: string }[]
}

export interface McpClient {
  listTools(): Promise<{ tools: { name: string; description?: string | undefined }[] }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

export const clientKinds = ['2.4 auto', '2.4 legacy', '1.32'] as const
export type ClientKind = (typeof clientKinds)[number]

const info = { name: 'test', version: '1' }

/** The transport of the same line. */
export interface McpTransports {
  readonly current: () => Parameters<Client['connect']>[0]
  readonly old: () => Parameters<OldClient['connect']>[0]
}

export async function connectMcp(kind: ClientKind, transports: McpTransports): Promise<McpClient> {
  if (kind === '1.32') {
    const client = new OldClient(info)
    await client.connect(transports.old())
    return client as McpClient
  }
  const mode = kind === '2.4 auto' ? 'auto' : 'legacy'
  const client = new Client(info, { versionNegotiation: { mode } })
  await client.connect(transports.current())
  return client
}

export async function callTool(
  client: McpClient,
  name: string,
  input: Record<string, unknown>,
): Promise<McpResult> {
  return (await client.callTool({ name, arguments: input })) as McpResult
}

/** What a model reads. */
export const textOf = ({ content }: McpResult) => content.map(({ text }) => text).join('\n')
