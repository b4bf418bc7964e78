/** A real Kamailio with the shipped script of an edge that needs permits, and permits of every kind. */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../asterisk/lab/project-root.js'
import { type RunningKamailio, runKamailio } from './kamailio-server.js'
import { openUdpCaller, openUdpTrunk, type UdpCaller, type UdpTrunk } from './udp-calls.js'

export interface PermitEdge {
  readonly kamailio: RunningKamailio
  readonly caller: UdpCaller
  readonly trunk: UdpTrunk
  readonly secondTrunk: UdpTrunk
  close(): Promise<void>
}

export interface PermitEdgeOptions {
  readonly publicKey: KeyObject
  readonly nextKey?: KeyObject
  /** Status of its first trunk; 486 unless given. */
  readonly trunkStatus?: number
  /** Makes it ask callgate. */
  readonly ask?: { readonly url: string; readonly key: string }
  readonly edit?: (script: string) => string
}

export async function startPermitEdge(options: PermitEdgeOptions): Promise<PermitEdge> {
  const { publicKey, nextKey, trunkStatus, ask, edit = (script) => script } = options
  const [trunk, secondTrunk] = [await openUdpTrunk(trunkStatus), await openUdpTrunk()]
  const script = readFileSync(join(projectRoot, 'config/kamailio/permit-edge.cfg'), 'utf8')
  const kamailio = await runKamailio('permit-edge.cfg', (sip, folder) => ({
    'permit-edge.cfg': edit(script),
    'permit.pem': toPem(publicKey),
    ...(nextKey && { 'permit-next.pem': toPem(nextKey) }),
    'permit-edge-site.cfg': [
      `#!define SITE_LISTEN udp:127.0.0.1:${sip}`,
      `#!define SITE_TRUNK "127.0.0.1:${trunk.port}"`,
      `#!define SITE_SECOND_TRUNK "127.0.0.1:${secondTrunk.port}"`,
      `#!define PERMIT_KEY "${folder}/permit.pem"`,
      `#!define PERMIT_NEXT_KEY "${folder}/permit-next.pem"`,
      '#!define PERMIT_FRESHNESS 60',
      ...(ask
        ? [
            `#!define PERMIT_USE_URL "${ask.url}/v1/permits/"`,
            `#!define PERMIT_USE_KEY "${ask.key}"`,
          ]
        : []),
      '',
    ].join('\n'),
  }))
  const caller = await openUdpCaller(kamailio.ports.sip)
  return {
    kamailio,
    caller,
    trunk,
    secondTrunk,
    async close() {
      caller.close()
      await kamailio.close()
      trunk.close()
      secondTrunk.close()
    },
  }
}

const toPem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString()

export function createKeyPair(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { privateKey, publicKey: createPublicKey(privateKey) }
}

const encode = (text: string) => Buffer.from(text).toString('base64url')

/** A permit with any header and payload. */
export function signToken(privateKey: KeyObject, header: object, payload: object | string): string {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const input = `${encode(JSON.stringify(header))}.${encode(body)}`
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

export const permitLine = (value: string) => `X-Callgate-Permit: ${value}`
