/** What a generator of clients makes of the description, and what the server really sends. */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { decideEndpoint, predialGet, predialPost } from '../../src/api/gate/decisions.js'
import type { OpenApiDocument, Operation } from '../../src/api/openapi.js'
import { checkNames, reasonCodes } from '../../src/domain/checks.js'
import { callKinds } from '../../src/domain/decision.js'
import { approvalStates } from '../../src/domain/mandate.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
let document: OpenApiDocument
let operations: readonly (readonly [path: string, method: string, Operation])[]

beforeAll(async () => {
  running = await openTestCallgate()
  document = (await (await fetch(`${running.url}/openapi.json`)).json()) as OpenApiDocument
  operations = Object.entries(document.paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, one]) => [path, method, one] as const),
  )
})
afterAll(() => running.end())

describe('named schemas', () => {
  it('are those that programs work with', () => {
    const { schemas } = document.components
    expect(schemas).toMatchObject({
      CallKind: { type: 'string', enum: [...callKinds] },
      CheckName: { type: 'string', enum: [...checkNames] },
      FindingName: { anyOf: [{ enum: [...checkNames, 'mandate'] }, { type: 'string' }] },
      Mandate: { required: ['version'] },
      ApprovalState: { enum: [...approvalStates] },
      Approval: {
        properties: {
          subject: { $ref: '#/components/schemas/ApprovalSubject' },
          expiresAt: { format: 'date-time' },
        },
      },
      DialGrant: { properties: { kinds: { items: { $ref: '#/components/schemas/CallKind' } } } },
      OAuthError: { required: ['error', 'error_description'] },
      Verdict: { enum: ['pass', 'deny', 'unknown'] },
      Via: { enum: ['http', 'predial', 'asterisk', 'check'] },
      ReasonCode: { anyOf: [{ enum: [...reasonCodes] }, { type: 'string' }] },
      Decision: { oneOf: [{}, {}], discriminator: { propertyName: 'decision' } },
      Problem: { required: ['type', 'title', 'status', 'detail', 'instance'] },
    })
    expect(schemas.ReasonCode?.description).toMatch(/new codes may come/i)
    expect(schemas.Allow?.required).toContain('dial')
    expect(schemas.Block?.properties).not.toHaveProperty('dial')
  })

  it('have one type for each id and each instant', () => {
    const { requestBody } = document.paths['/v1/decisions']?.post ?? {}
    expect(requestBody?.content['application/json']?.schema.properties).toMatchObject({
      callKind: { $ref: '#/components/schemas/CallKind' },
      projectId: { type: 'string' },
      at: { type: 'string', format: 'date-time' },
    })
    expect(document.components.schemas.Allow?.properties).toMatchObject({
      decidedAt: { type: 'string', format: 'date-time' },
      validUntil: { type: 'string', format: 'date-time' },
    })
  })
})

describe('limits of keys', () => {
  it('are in what a call asks for and is answered', () => {
    const { schemas } = document.components
    const asked = document.paths['/v1/decisions']?.post?.requestBody?.content['application/json']
    expect(asked?.schema.properties).toHaveProperty('approvalId')
    for (const name of ['Allow', 'Block', 'DecisionRecord']) {
      expect(schemas[name]?.properties).toMatchObject({ mandate: expect.anything() })
      expect(JSON.stringify(schemas[name])).toContain('#/components/schemas/Mandate')
    }
    const token = document.paths['/oauth/token']?.post
    expect(JSON.stringify(token?.responses['200'])).toContain('#/components/schemas/DialGrant')
    expect(JSON.stringify(token?.responses['400'])).toContain('#/components/schemas/OAuthError')
  })

  it('have every name in the description of the call for approvals', () => {
    const list = document.paths['/v1/approvals']?.get
    expect(list?.parameters).toMatchObject([
      { name: 'state', schema: { $ref: '#/components/schemas/ApprovalState' } },
    ])
    for (const [path, method] of [
      ['/v1/approvals', 'get'],
      ['/v1/approvals/{id}', 'post'],
    ] as const) {
      const answer = document.paths[path]?.[method]?.responses['200']
      expect(JSON.stringify(answer), path).toContain('#/components/schemas/Approval"')
    }
  })
})

describe('webhooks', () => {
  it('are the events that are sent', () => {
    const payloads = Object.entries(document.webhooks).map(([name, one]) => [
      name,
      JSON.stringify(one.post),
    ])
    expect(payloads).toEqual([
      ['scanEnded', expect.stringContaining('#/components/schemas/ScanEvent')],
      ['projectChanged', expect.stringContaining('#/components/schemas/ProjectEvent')],
    ])
    expect(JSON.stringify(document.components.schemas.ProjectEvent)).toContain('approval.requested')
  })
})

describe('examples', () => {
  const parses = async (schema: z.ZodType, values: object | undefined) => {
    const all = Object.values(values ?? {})
    expect(all.length).toBeGreaterThan(0)
    for (const value of all) await schema.parseAsync(value)
  }

  it('parse by the schema of their request and answer', async () => {
    await parses(decideEndpoint.request, decideEndpoint.examples?.requests)
    await parses(decideEndpoint.response, decideEndpoint.examples?.replies)
    await parses(predialPost.request, predialPost.examples?.requests)
  })

  it('of lines match their pattern, as answers do', async () => {
    const pattern = new RegExp(predialGet.replyPattern ?? '(?!)')
    for (const line of Object.values(predialGet.examples?.replies ?? {})) {
      expect(line).toMatch(pattern)
    }
    for (const query of [
      'number=2125550106&kind=ai',
      'number=2125550100&kind=ai',
      'number=911',
      '',
    ]) {
      const line = await (await running.get(`/v1/predial?${query}`)).text()
      expect(line).toMatch(pattern)
    }
  })

  it('are in the document', () => {
    const { requestBody, responses } = document.paths['/v1/decisions']?.post ?? {}
    expect(requestBody?.content['application/json']?.examples).toHaveProperty('agent')
    expect(responses?.['200']?.content?.['application/json']).toHaveProperty('examples.allow')
  })
})

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** The status of the answer, also when it comes before the body was sent. */
function send(path: string, method: string, { headers = {}, body = '' }: Sent) {
  return new Promise<number>((resolve, reject) => {
    const sent = request(`${running.url}${path}`, { method, headers, agent: false }, (answer) => {
      resolve(answer.statusCode ?? 0)
      sent.destroy()
    })
    sent.on('error', reject)
    sent.write(body === '' ? ' ' : body)
    if (headers['content-length'] === undefined) sent.end()
  })
}

describe('statuses', () => {
  const key = () => ({ loginid: running.keys.sandbox })

  it('are described for every call that has a body', async () => {
    const withBody = operations.filter(([, method]) => method !== 'get')
    expect(withBody.length).toBeGreaterThan(20)
    for (const [path, method, { responses, security }] of withBody) {
      const target = path.replace(/\{\w+\}/g, 'x')
      const send2 = (sent: Sent) => send(target, method.toUpperCase(), sent)
      const json = { 'content-type': 'application/json' }
      const statuses = {
        tooLong: await send2({ headers: { ...key(), ...json, 'content-length': '900000000' } }),
        notRead: await send2({ headers: { ...key(), 'content-type': 'image/png' }, body: 'x' }),
        broken: await send2({ headers: { ...key(), ...json }, body: '{' }),
        noKey: await send2({ headers: json, body: '{}' }),
      }
      expect(statuses.tooLong, path).toBe(413)
      // An opt-out is read whatever its type says; this one names no person.
      const notRead = path === '/v1/opt-outs' ? 400 : 415
      if (!security) expect([statuses.notRead, statuses.noKey], path).toEqual([notRead, 401])
      for (const [what, status] of Object.entries(statuses)) {
        expect(Object.keys(responses), `${path}: ${what} ${status}`).toContain(String(status))
      }
    }
  })

  it('say all that a 503 can mean', () => {
    const { responses } = document.paths['/app/main/rpc/scrub']?.get ?? {}
    expect(responses?.['503']?.description).toMatch(/too much to do.*what others have stored/)
  })

  it('include those of a server that fails, for every call', () => {
    for (const [path, method, { responses }] of operations) {
      expect(Object.keys(responses), path).toEqual(expect.arrayContaining(['400', '500', '503']))
      if (method !== 'get') expect(responses, path).toHaveProperty('413')
      for (const status of ['400', '500', '503']) expect(responses[status]?.content).toBeDefined()
    }
  })
})
