/** The ways in which a dialer originates a call, each followed to the end of the call. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AsteriskServer } from './asterisk-server.js'
import { until } from './until.js'

export const dialers = ['AMI', 'a call file', 'ARI'] as const
export type Dialer = (typeof dialers)[number]

/** Where answered calls go; dialplan for `startAsterisk`. */
export const answeredContext = '[answered]\nexten => s,1,Hangup()\n'

export interface Origination {
  /** What is originated, such as `Local/2125550106@gate/n`; any text. */
  readonly channel: string
  /** By name, with `_` or `__` where the other half of a Local channel is to have them. */
  readonly variables?: Readonly<Record<string, string>>
  /** Any text. */
  readonly callerId?: string
}

/**
 * Resolves when the originated channel is gone, or when none came of it. What it has dialled may
 * last a moment longer; whether anything was dialled, the trunk tells.
 */
export async function originate(
  server: AsteriskServer,
  dialer: Dialer,
  origination: Origination,
): Promise<void> {
  await ways[dialer](server, origination)
}

type Way = (server: AsteriskServer, origination: Origination) => Promise<unknown>

const ways: Readonly<Record<Dialer, Way>> = {
  AMI: (server, { channel, variables = {}, callerId }) =>
    server.originateByAmi({
      Channel: channel,
      Context: 'answered',
      Exten: 's',
      Priority: '1',
      Async: 'false',
      Timeout: '8000',
      Variable: assignments(variables),
      ...(callerId !== undefined && { CallerID: callerId }),
    }),
  'a call file': async (server, { channel, variables = {}, callerId }) => {
    server.callFile([
      `Channel: ${channel}`,
      'MaxRetries: 0',
      'WaitTime: 8',
      'Context: answered',
      'Extension: s',
      'Priority: 1',
      ...assignments(variables).map((assignment) => `Setvar: ${assignment}`),
      ...(callerId === undefined ? [] : [`CallerID: ${callerId}`]),
    ])
    const folder = join(server.folder, 'spool/outgoing')
    await until('the call file is done', () => readdirSync(folder).length === 0)
  },
  ARI: async (server, { channel, variables = {}, callerId }) => {
    const { status, body } = await server.ari(
      'POST',
      '/channels',
      {},
      {
        endpoint: channel,
        formats: 'ulaw',
        timeout: 8,
        variables,
        context: 'answered',
        extension: 's',
        priority: 1,
        ...(callerId !== undefined && { callerId }),
      },
    )
    if (status !== 200) return
    const { id } = body as { id: string }
    await until(
      'it has ended',
      async () => (await server.ari('GET', `/channels/${id}`)).status === 404,
    )
  },
}

const assignments = (variables: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(variables).map(([name, value]) => `${name}=${value}`)
