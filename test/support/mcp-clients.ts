/** The official clients of MCP, of both lines, over any transport. */
import { Client } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'

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

/** What the person before the client says to a question. */
export type AnswerQuestion = (message: string) => Promise<'accept' | 'decline'>

/** Without `answer`, the client says that it cannot ask anybody. */
export async function connectMcp(
  kind: ClientKind,
  transports: McpTransports,
  answer?: AnswerQuestion,
): Promise<McpClient> {
  const capabilities = answer ? { elicitation: {} } : {}
  const respond = async ({ params }: { params: { message: string } }) => {
    const action = (await answer?.(params.message)) ?? ('cancel' as const)
    // The form has no fields, so some send no content.
    return { action }
  }
  if (kind === '1.32') {
    const client = new OldClient(info, { capabilities })
    if (answer) client.setRequestHandler(ElicitRequestSchema, respond)
    await client.connect(transports.old())
    return client as McpClient
  }
  const mode = kind === '2.4 auto' ? 'auto' : 'legacy'
  const client = new Client(info, { capabilities, versionNegotiation: { mode } })
  if (answer) client.setRequestHandler('elicitation/create', respond)
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
