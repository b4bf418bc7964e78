/** Keys and tokens of a provider: they are renewed, and nobody is ever shown one. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { questionNames } from '../../../src/domain/compliance.js'
import { describeSaid } from '../../../src/domain/words/words.js'
import { openFakeVendor } from '../../../src/fake-vendor/fake-vendor.js'
import { type Fault, type FaultKind, faultKinds } from '../../../src/fake-vendor/fault.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { recordsIn } from '../../support/journal.js'
import {
  type Environment,
  findingOf,
  ofEachQuestion,
  type RemoteCallgate,
  withRemoteCallgate,
} from '../../support/remote-callgate.js'
import { mondayNoon } from '../../support/test-callgate.js'

const impatient = {
  ...ofEachQuestion('DEADLINE_MS', '300'),
  RETRIES: '1',
  CIRCUIT_FAILURES: '2',
  CIRCUIT_OPEN_MS: '100',
}

let nextLine = 0
const freshNumber = () => String(2_127_360_000 + nextLine++)

/** Everything that leaves the program but its requests to the provider. */
async function everythingShown(remote: RemoteCallgate, decided: readonly unknown[]) {
  const ready = await (await remote.get('/readyz')).text()
  const records = recordsIn(remote.dataDir)
  const shown = [JSON.stringify(decided), JSON.stringify(records), ready]
  return [...shown, await remote.metrics(), ...remote.logLines].join('\n')
}

function faultOf(kind: FaultKind): Fault {
  if (kind === 'slow') return { kind, ms: 400 }
  return { kind } as Fault
}

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void

interface Recorder {
  readonly url: string
  readonly seen: { readonly line: string; readonly body: string }[]
}

/** A server that notes what it is sent. */
async function withRecorder(answer: Answer, work: (recorder: Recorder) => Promise<void>) {
  const seen: Recorder['seen'] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const body = Buffer.concat(parts).toString()
    seen.push({ line: `${request.method} ${request.url}`, body })
    answer(request, response, body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    await work({ url: `http://127.0.0.1:${port}`, seen })
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

/** Sends each request on to a server and its answer back. */
function passedOnTo(origin: string): Answer {
  return async (request, response, body) => {
    const headers = new Headers({ connection: 'close' })
    for (const name of ['loginid', 'authorization', 'content-type', 'accept']) {
      const value = request.headers[name]
      if (typeof value === 'string') headers.set(name, value)
    }
    const { method = 'GET', url = '/' } = request
    const init = method === 'GET' ? { method, headers } : { method, headers, body }
    const answer = await fetch(origin + url, init)
    const contentType = answer.headers.get('content-type') ?? 'text/plain'
    response.writeHead(answer.status, { 'content-type': contentType })
    response.end(await answer.text())
  }
}

/** The key is one that looks like words, which nothing masks by its looks. */
const secrets = {
  loginId: 'open-sesame',
  clientSecret: 'Cs-secret_0123456789abcdefghijklmnopqrstuvwx',
}
const folder = useTempFolder()

/** The two ways to authenticate, their secrets in files. */
const ways = {
  'a key': () => ({ LOGIN_ID_FILE: folder.write('key', `${secrets.loginId}\n`) }),
  OAuth: () => ({
    CLIENT_ID: 'client-7',
    CLIENT_SECRET_FILE: folder.write('secret', `${secrets.clientSecret}\nmore\n`),
  }),
} satisfies Readonly<Record<string, () => Environment>>
type Way = keyof typeof ways
const everyWay = Object.keys(ways) as Way[]
const vendor = { ...secrets, clientId: 'client-7', at: mondayNoon }

describe('keys and tokens', () => {
  it.each(everyWay)('with %s, are shown nowhere, whatever the vendor does', async (way) => {
    const provider = { ...impatient, CIRCUIT_FAILURES: '1000', ...ways[way]() }
    await withRemoteCallgate({ vendor, provider }, async (remote) => {
      const decided = [await remote.decide(freshNumber())]
      // Behind a 429 nothing is asked for a second, so that fault comes last.
      const others = faultKinds.filter((kind) => kind !== 'rate-limited')
      for (const kind of [...others, 'rate-limited'] as const) {
        const before = remote.vendor.requests().length
        for (const question of questionNames) remote.vendor.setFault(question, faultOf(kind))
        decided.push(await remote.decide(freshNumber()))
        expect(remote.vendor.requests().length, kind).toBeGreaterThanOrEqual(before + 4)
      }
      remote.vendor.reset()
      remote.vendor.setFault('token', { kind: 'unauthorized' })
      decided.push(await remote.decide(freshNumber()))
      expect(new Set(decided.map(({ reason }) => reason))).toEqual(
        new Set(['permitted', 'check-unanswered']),
      )
      const shown = await everythingShown(remote, decided)
      expect(shown).toContain('a provider refuses the')
      for (const secret of Object.values(secrets)) expect(shown).not.toContain(secret)
    })
  })

  it.each(everyWay)('with %s, travel in no address, and a secret in no question', async (way) => {
    const tokens = new Set<string>()
    const upstream = await openFakeVendor(vendor)
    const passOn = passedOnTo(upstream.url)
    const answer: Answer = (request, response, body) => {
      const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
      if (token !== undefined) tokens.add(token)
      passOn(request, response, body)
    }
    try {
      await withRecorder(answer, async ({ url, seen }) => {
        const provider = { ...ways[way](), BASE_URL: url }
        await withRemoteCallgate({ provider }, async (remote) => {
          const decided = [await remote.decide('2125550106'), await remote.decide('2125550104')]
          expect(decided.map(({ reason }) => reason)).toEqual(['permitted', 'internal-dnc'])
          expect(seen.length).toBeGreaterThanOrEqual(8)
          expect(tokens.size).toBe(way === 'OAuth' ? 1 : 0)
          const shown = await everythingShown(remote, decided)
          for (const secret of [...Object.values(secrets), ...tokens]) {
            for (const { line } of seen) expect(line).not.toContain(secret)
            const inBodies = seen.filter(({ body }) => body.includes(secret))
            expect(inBodies.every(({ line }) => line === 'POST /oauth/token')).toBe(true)
            expect(shown).not.toContain(secret)
          }
        })
      })
    } finally {
      await upstream.close()
    }
  })

  it.each(everyWay)('with %s, are not carried to where a redirect leads', async (way) => {
    await withRecorder(
      (_request, response) => response.end('[]'),
      async ({ url, seen }) => {
        await withRemoteCallgate(
          { vendor, provider: { ...impatient, ...ways[way]() } },
          async (remote) => {
            for (const target of ['all', 'token'] as const) {
              remote.vendor.setFault(target, { kind: 'redirect', location: `${url}/elsewhere` })
            }
            expect((await remote.decide(freshNumber())).reason).toBe('check-unanswered')
            expect(remote.vendor.requests().length).toBeGreaterThan(0)
            expect(seen).toEqual([])
          },
        )
      },
    )
  })

  /** A provider that says back what it was sent. */
  const echoes: readonly (readonly [
    string,
    (said: string) => readonly [number, string, string],
  ])[] = [
    ['a 400 as text', (said) => [400, 'text/plain', `bad request ${said}`]],
    ['a 401 as JSON', (said) => [401, 'application/json', JSON.stringify({ error: said })]],
    ['a 422 as JSON', (said) => [422, 'application/json', JSON.stringify({ detail: said })]],
    ['a 200 as text', (said) => [200, 'text/plain', `refused: ${said}`]],
    [
      'a 200 as JSON',
      (said) => [200, 'application/json', JSON.stringify({ message: `no ${said}` })],
    ],
    ['a 503 as HTML', (said) => [503, 'text/html', `<p>${said}</p>`]],
  ]
  it.each(echoes.flatMap(([name, reply]) => everyWay.map((way) => [name, way, reply] as const)))(
    'a provider that echoes them in %s, asked with %s, cannot have them shown',
    async (...row) => {
      const [, way, reply] = row
      const answer: Answer = ({ headers }, response, body) => {
        const said = `${headers.loginid ?? ''}${headers.authorization ?? ''}`
        const [status, contentType, text] = reply(said === '' ? body : said)
        response.writeHead(status, { 'content-type': contentType })
        response.end(text)
      }
      await withRecorder(answer, async ({ url, seen }) => {
        const provider = { ...impatient, ...ways[way](), BASE_URL: url }
        await withRemoteCallgate({ provider }, async (remote) => {
          const decided = [await remote.decide(freshNumber()), await remote.decide(freshNumber())]
          expect(decided.map(({ reason }) => reason)).toEqual([
            'check-unanswered',
            'check-unanswered',
          ])
          expect(seen.length).toBeGreaterThan(0)
          const shown = await everythingShown(remote, decided)
          for (const secret of Object.values(secrets)) expect(shown).not.toContain(secret)
        })
      })
    },
  )
})

describe('access tokens', () => {
  it('of two seconds are renewed while calls go on, and no call waits in vain', async () => {
    const ofTwoSeconds = { vendor: { ...vendor, tokenSeconds: 2 }, provider: ways.OAuth() }
    await withRemoteCallgate(ofTwoSeconds, async (remote) => {
      const reasons = new Set<string>()
      const tokens = async () => {
        reasons.add((await remote.decide(freshNumber())).reason)
        return remote.vendor.counts().token?.requests
      }
      await expect.poll(tokens).toBeGreaterThanOrEqual(4)
      expect([...reasons]).toEqual(['permitted'])
      expect(remote.vendor.counts().scrub?.byStatus).not.toHaveProperty('401')
    })
  })

  it('that the vendor has forgotten are had anew within the same call', async () => {
    await withRemoteCallgate({ vendor, provider: ways.OAuth() }, async (remote) => {
      expect((await remote.decide(freshNumber())).reason).toBe('permitted')
      remote.vendor.reset()
      expect((await remote.decide(freshNumber())).reason).toBe('permitted')
      expect(remote.vendor.counts().token?.requests).toBe(1)
    })
  })

  it.each([
    [{ kind: 'server-error' }, 'answered 503'],
    [{ kind: 'unauthorized' }, 'answered 401'],
    [{ kind: 'login-page' }, 'no access token'],
    [{ kind: 'hang-up' }, 'no access token'],
  ] as const)(
    'that cannot be had (%j) leave all unknown, until they can',
    async (fault, detail) => {
      const provider = { ...impatient, ...ways.OAuth() }
      await withRemoteCallgate({ vendor, provider }, async (remote) => {
        remote.vendor.setFault('token', fault)
        // A call may stop waiting before the request for the token has failed.
        const whyUnknown = async () => {
          const decision = await remote.decide(freshNumber())
          expect(decision.reason).toBe('check-unanswered')
          return describeSaid(findingOf(decision, 'litigator').says)
        }
        await expect.poll(whyUnknown).toContain(detail)
        await expect.poll(remote.sourceReady).toContain('acme is not asked for scrub (no access')
        expect(remote.vendor.counts().scrub).toBeUndefined()
        remote.vendor.setFault('token', undefined)
        const asked = async () => (await remote.decide(freshNumber())).reason
        await expect.poll(asked).toBe('permitted')
        expect(await remote.sourceReady()).toBe('acme is in use')
      })
    },
  )
})
