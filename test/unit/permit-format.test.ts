/** The published vectors of permits, and mutations that neither callgate nor jose takes. */
import { createPrivateKey, createPublicKey, verify } from 'node:crypto'
import { compactVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { formatPermit, isSignedBy, parsePermit } from '../../src/permits/permit-format.js'
import { shortOrLong } from '../support/long.js'

/** RFC 7515, appendix A.3. */
const jwk = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  d: 'jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI',
}
const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
const publicKey = createPublicKey(privateKey)

const input =
  'eyJhbGciOiJFUzI1NiIsInBwdCI6InNoYWtlbiIsInR5cCI6InBhc3Nwb3J0IiwieDV1IjoiaHR0cHM6Ly9nYXRlLmV4YW1wbGUvcGVybWl0cy9lZGdlLWEucGVtIn0.' +
  'eyJhdHRlc3QiOiJBIiwiZGVzdCI6eyJ0biI6WyIxMjEyNTU1MDEwNiJdfSwiaWF0IjoxNzk1MjEyNTkwLCJvcmlnIjp7InRuIjoiMTIxMjU1NTAxOTkifSwib3JpZ2lkIjoiMDE5NWYzYTItN2M0MS03ZDJlLTlhNTUtM2MwZTZmMWIyZDQ4In0'
const signatures = {
  'low S': 'Yo4e1Qc9hfxhBECwU42U0hTRBVOmrKF8sNpmXaZlI7xlG5XSDYkdU2KF55InugYcnllSrjWKfcZv3u0q88Em5Q',
  'high S':
    'Yo4e1Qc9hfxhBECwU42U0hTRBVOmrKF8sNpmXaZlI7ya5Gos8nbirZ16GG3YRfnjHo2n_3GNIL6D2t2YCKH-bA',
  'unused bits':
    'Yo4e1Qc9hfxhBECwU42U0hTRBVOmrKF8sNpmXaZlI7xlG5XSDYkdU2KF55InugYcnllSrjWKfcZv3u0q88Em5R',
}
const parameters = ';info=<https://gate.example/permits/edge-a.pem>;alg=ES256;ppt=shaken'
const id = '0195f3a2-7c41-7d2e-9a55-3c0e6f1b2d48'

const claims = {
  id,
  edge: 'edge-a',
  number: toPhoneNumber('2125550106'),
  callerId: toPhoneNumber('2125550199'),
  callKind: 'ai',
  decisionId: 'd',
  issuedAtSeconds: 1_795_212_590,
  expiresAtSeconds: 1_795_212_650,
} as const
const signer = { issuer: 'https://gate.example', kid: 'kid', privateKey }

function accept(text: string): string | undefined {
  const permit = parsePermit(text)
  return permit && isSignedBy(permit, publicKey) ? permit.id : undefined
}

async function acceptByJose(text: string): Promise<boolean> {
  const [jws = ''] = text.split(';', 1)
  return await compactVerify(jws, publicKey, { algorithms: ['ES256'] }).then(
    () => true,
    () => false,
  )
}

describe('the vectors', () => {
  it('have the signing input that callgate makes, byte for byte', () => {
    const value = formatPermit('passport', claims, signer)
    expect(value.startsWith(`${input}.`)).toBe(true)
    expect(value.endsWith(parameters)).toBe(true)
    expect(value).toHaveLength(input.length + 1 + 86 + parameters.length)
    expect(accept(value)).toBe(id)
  })

  it('verify with three signatures, of which callgate takes one text each', async () => {
    for (const [name, signature] of Object.entries(signatures)) {
      const bytes = Buffer.from(signature, 'base64url')
      const key = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const
      expect(verify('sha256', Buffer.from(input), key, bytes), name).toBe(true)
      expect(await acceptByJose(`${input}.${signature}`), name).toBe(true)
      expect(accept(`${input}.${signature}`), name).toBe(name === 'unused bits' ? undefined : id)
      expect(accept(`${input}.${signature}${parameters}`), name).toBe(
        name === 'unused bits' ? undefined : id,
      )
    }
  })
})

/** Reproducible, so that a failure can be run again. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state % below
  }
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.;=<>, \u00e9\0'

function mutate(text: string, random: (below: number) => number): string {
  const at = random(text.length)
  const letter = letters[random(letters.length)] ?? ''
  const rest = text.slice(at + 1)
  const ways = [
    () => text.slice(0, at) + letter + rest,
    () => text.slice(0, at) + rest,
    () => text.slice(0, at) + letter + text.slice(at),
    () => text.slice(0, at),
    () =>
      text.slice(0, at) +
      text
        .slice(at, at + 2)
        .split('')
        .reverse()
        .join('') +
      text.slice(at + 2),
    () => text + letter,
    () => letter + text,
  ]
  return ways[random(ways.length)]?.() ?? ''
}

/** Texts whose token is that of the permit, with other unused bits or parameters: the same permit, not another. */
function isSameToken(text: string, value: string): boolean {
  const toBytes = (one: string) =>
    (one.split(';', 1)[0] ?? '')
      .split('.')
      .map((part, index) => (index === 2 ? Buffer.from(part, 'base64url').toString('hex') : part))
  return toBytes(text).join() === toBytes(value).join()
}

const count = shortOrLong(3_000, 100_000)

it.each(['passport', 'jwt'] as const)(
  `of ${count} mutated permits (%s) none is taken`,
  async (format) => {
    const random = createRandom(7)
    const value = formatPermit(format, claims, signer)
    const taken: string[] = []
    for (let made = 0; made < count; ) {
      const mutated =
        random(4) === 0 ? mutate(mutate(value, random), random) : mutate(value, random)
      if (mutated === value) continue
      made += 1
      const isBare = format === 'passport' && mutated === value.split(';', 1)[0]
      if (accept(mutated) !== undefined && !isBare) taken.push(mutated)
      if (!isSameToken(mutated, value) && (await acceptByJose(mutated)))
        taken.push(`jose: ${mutated}`)
    }
    expect(taken).toEqual([])
  },
)

it.each([
  ['no algorithm', { alg: 'none', ppt: 'shaken', typ: 'passport', x5u: 'u' }],
  ['an array', []],
  ['nothing', null],
])('takes no header with %s', (_, header) => {
  const encoded = Buffer.from(JSON.stringify(header)).toString('base64url')
  expect(accept(`${encoded}.${input.split('.')[1]}.${signatures['low S']}`)).toBeUndefined()
})
