/** The shipped edge that needs permits: what it dials and what it refuses, while callgate is down. */
import { createPrivateKey, createPublicKey, type KeyObject, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { formatPermit } from '../../../src/permits/permit-format.js'
import { shortOrLong } from '../../support/long.js'
import { startCallgate } from '../asterisk/lab/callgate-process.js'
import { until } from '../asterisk/lab/until.js'
import {
  createKeyPair,
  type PermitEdge,
  permitLine,
  signToken,
  startPermitEdge,
} from './permit-edge.js'

const [number, otherNumber] = ['2125550106', '2125550107']
const callerId = '2125550199'
const issuer = 'https://gate.example'
const x5u = `${issuer}/permits/edge-a.pem`
const parameters = `;info=<${x5u}>;alg=ES256;ppt=shaken`
const header = { alg: 'ES256', ppt: 'shaken', typ: 'passport', x5u }

let edge: PermitEdge
let privateKey: KeyObject
/** Given by a callgate that has been stopped since. */
let permits: readonly string[]

const nowSeconds = () => Math.floor(Date.now() / 1_000)

const payloadOf = (more: object = {}) => ({
  attest: 'A',
  dest: { tn: [`1${number}`] },
  iat: nowSeconds(),
  orig: { tn: `1${callerId}` },
  origid: randomUUID(),
  ...more,
})

const forge = (more: object = {}, head: object = header, key = privateKey) =>
  `${signToken(key, head, payloadOf(more))}${parameters}`

const call = (value: string | undefined, more: object = {}) =>
  edge.caller.call({
    number,
    callerId,
    headers: value === undefined ? [] : [permitLine(value)],
    ...more,
  })

const statusOf = async (value: string | undefined, more: object = {}) =>
  (await call(value, more)).status

/** What the trunk answers. */
const dialed = 486
const refused = 403

/** It takes no permit from before its start, or with the clocks 5 s apart, soon after. */
const untilWarm = ({ caller }: PermitEdge, make: () => string) =>
  until(
    'the edge takes new permits',
    async () =>
      (await caller.call({ number, callerId, headers: [permitLine(make())] })).status === dialed,
    { withinMs: 30_000 },
  )

beforeAll(async () => {
  const callgate = await startCallgate({
    environment: {
      CALLGATE_GATE_DEADLINE_MS: '5000',
      CALLGATE_PERMITS_ISSUER: issuer,
      CALLGATE_PERMITS_EDGES: '{ edge-a: { accounts: [sandbox] } }',
    },
  })
  try {
    const pem = await (await fetch(`${callgate.url}/permits/edge-a.pem`)).text()
    edge = await startPermitEdge({ publicKey: createPublicKey(pem) })
    const database = new Sqlite(join(callgate.dataDir, 'callgate.sqlite'), { readonly: true })
    const text = database.prepare('select private_key from permit_keys').pluck().get()
    database.close()
    privateKey = createPrivateKey(String(text))
    // callgate dates a permit back by what its decision lacks to the freshness, here a second.
    await untilWarm(edge, () => forge({ iat: nowSeconds() - 3 }))
    permits = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const response = await fetch(`${callgate.url}/v1/permits`, {
          method: 'POST',
          headers: { loginId: callgate.keys.sandbox, 'content-type': 'application/json' },
          body: JSON.stringify({ number, callKind: 'ai', callerId }),
        })
        return ((await response.json()) as { permit: { value: string } }).permit.value
      }),
    )
  } finally {
    await callgate.close()
  }
})

afterAll(() => edge?.close())

describe('an edge, with callgate switched off', () => {
  it('dials once by a permit of callgate, and tells the trunk its id and nothing else', async () => {
    const [value = ''] = permits
    const before = edge.trunk.invites.length
    expect(await statusOf(value)).toBe(dialed)
    expect(await call(value)).toMatchObject({ status: refused, reason: 'permit used before' })
    const [arrived, ...more] = edge.trunk.invites.slice(before)
    expect(more).toEqual([])
    const payload = Buffer.from(value.split('.')[1] ?? '', 'base64url').toString()
    const { origid } = JSON.parse(payload) as { origid: string }
    expect(arrived?.text).toContain(`X-Callgate-Permit-Id: ${origid}\r\n`)
    // Trap 6: a carrier would take it for a broken attestation.
    expect(arrived?.text).not.toMatch(/^(?:X-Callgate-Permit|Identity):/im)
    expect(arrived?.uri).toBe(`sip:1${number}@127.0.0.1:${edge.trunk.port}`)
  })

  it('dials nothing without a permit, except emergency and service codes', async () => {
    const before = edge.trunk.invites.length
    expect(await call(undefined)).toMatchObject({ status: refused, reason: 'not one permit' })
    for (const code of ['911', '933', '988', '411', '+911']) {
      expect(await statusOf(undefined, { number: code }), code).toBe(dialed)
    }
    expect(edge.trunk.invites.length - before).toBe(5)
  })

  // Trap 1.
  it('takes exactly one permit header', async () => {
    const [, valid = ''] = permits
    const forged = forge({}, header, createKeyPair().privateKey)
    for (const headers of [
      [forged, valid],
      [valid, forged],
      [valid, valid],
      [`${forged}, ${valid}`],
      [`${valid}, ${forged}`],
    ]) {
      expect(await statusOf(undefined, { headers: headers.map(permitLine) })).toBe(refused)
    }
    expect(await statusOf(valid)).toBe(dialed)
  })

  // Trap 2.
  it('takes a permit once, however it is written', async () => {
    const jws = signToken(privateKey, header, payloadOf())
    const [head, body, signature = ''] = jws.split('.')
    const bytes = Buffer.from(signature, 'base64url')
    const n = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
    const s = BigInt(`0x${bytes.subarray(32).toString('hex')}`)
    const otherS = Buffer.from((n - s).toString(16).padStart(64, '0'), 'hex')
    const other = Buffer.concat([bytes.subarray(0, 32), otherS]).toString('base64url')
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const unused = signature.slice(0, -1) + letters[letters.indexOf(signature.at(-1) ?? '') + 1]
    expect(await statusOf(`${jws}${parameters}`)).toBe(dialed)
    for (const text of [
      `${jws}${parameters};a=b`,
      `${jws}; info=<${x5u}>; alg=ES256; ppt="shaken"`,
      `${jws};ppt=shaken;alg=ES256;info=<${x5u}>`,
      `${head}.${body}.${other}${parameters}`,
      `${head}.${body}.${unused}${parameters}`,
    ]) {
      expect(await statusOf(text), text).toBe(refused)
    }
    // The other signature is valid, so it would dial if it came first.
    const second = signToken(privateKey, header, payloadOf())
    expect(await statusOf(`${second};info=<${x5u}>;alg=ES256;ppt=shaken;x=1`)).toBe(dialed)
    expect(await statusOf(`${second}${parameters}`)).toBe(refused)
  })

  // Trap 3.
  it('answers an INVITE that is sent again as the first time', async () => {
    for (const [value, status] of [
      [forge(), dialed],
      [forge({ dest: { tn: [`1${otherNumber}`] } }), refused],
    ] as const) {
      const before = edge.trunk.invites.length
      const headers = [permitLine(value)]
      const answers = await edge.caller.repeat({ number, callerId, headers }, 5, 700)
      expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([status]))
      expect(edge.trunk.invites.length - before).toBe(status === dialed ? 1 : 0)
    }
  })

  // Trap 4. More of them than processes that could remember something.
  it.each([
    ['dest', { dest: undefined }],
    ['a number in dest', { dest: { tn: [] } }],
    ['orig', { orig: undefined }],
    ['origid', { origid: undefined }],
    ['a usual origid', { origid: 'x' }],
    ['iat', { iat: undefined }],
  ])(
    'refuses a permit without %s in every process, after others that were whole',
    async (_, more) => {
      const whole = await Promise.all(Array.from({ length: 24 }, () => statusOf(forge())))
      expect(new Set(whole)).toEqual(new Set([dialed]))
      const broken = await Promise.all(Array.from({ length: 24 }, () => statusOf(forge(more))))
      expect(new Set(broken)).toEqual(new Set([refused]))
    },
  )

  // Trap 5, and the ends of a permit's time.
  it.each([
    [3_600, refused],
    [30, refused],
    [-40, dialed],
    [-62, refused],
    [-3_600, refused],
  ])('a permit of %i s from now: %i', async (seconds, status) => {
    // The edge has not run for that long; a second one does not look at its start.
    const patient = await startPermitEdge({
      publicKey: createPublicKey(privateKey),
      edit: (script) => script.replace('$var(iat) <= $Tb + 5', '$var(iat) <= 0'),
    })
    const headers = [permitLine(forge({ iat: nowSeconds() + seconds }))]
    expect((await patient.caller.call({ number, callerId, headers })).status).toBe(status)
    await patient.close()
  })

  it('refuses a permit from before its start, since it does not remember those that were used', async () => {
    const old = forge({ iat: nowSeconds() - 50 })
    expect(await call(old)).toMatchObject({
      status: refused,
      reason: 'permit from before the start',
    })
  })

  // Trap 7: read by name.
  it('takes the claims in any order', async () => {
    const { origid, orig, iat, dest } = payloadOf()
    const value = signToken(privateKey, header, { origid, orig, iat, dest, attest: 'A' })
    expect(await statusOf(`${value}${parameters}`)).toBe(dialed)
    expect(await statusOf(`${value}${parameters}`)).toBe(refused)
  })

  // Trap 8.
  it('uses nothing before the caller is authenticated', async () => {
    const asking = await startPermitEdge({
      publicKey: createPublicKey(privateKey),
      edit: (script) =>
        script.replace(
          '    if (!t_newtran()) exit;\n    route(PERMIT);',
          '    if (!is_present_hf("Authorization")) { sl_send_reply("401", "Unauthorized"); exit; }\n' +
            '    if (!t_newtran()) exit;\n    route(PERMIT);',
        ),
    })
    const ask = async (value: string, ...more: string[]) => {
      const headers = [permitLine(value), ...more]
      return (await asking.caller.call({ number, callerId, headers })).status
    }
    const credentials =
      'Authorization: Digest username="a", realm="b", nonce="c", uri="sip:d", response="e"'
    const isReady = async () => (await ask(forge(), credentials)) === dialed
    await until('it takes permits', isReady, { withinMs: 30_000 })
    const value = forge()
    expect([await ask(value), await ask(value, credentials)]).toEqual([401, dialed])
    expect(await ask(value, credentials)).toBe(refused)
    await asking.close()
  })

  // Trap 8: a re-INVITE is part of a call, and a forged one of none.
  it('lets no To tag stand for a permit', async () => {
    const before = edge.trunk.invites.length
    const to = '<sip:x@127.0.0.1>;tag=forged'
    const route = `Route: <sip:127.0.0.1:${edge.kamailio.ports.sip};lr>`
    expect(await statusOf(undefined, { to })).toBe(481)
    expect(await statusOf(undefined, { to, headers: [route] })).toBe(481)
    expect(edge.trunk.invites).toHaveLength(before)
  })

  it('carries an answered call to its end, and nothing that would dial again', async () => {
    const answering = await startPermitEdge({
      publicKey: createPublicKey(privateKey),
      trunkStatus: 200,
    })
    const place = (value: string) =>
      answering.caller.call({ number, callerId, headers: [permitLine(value)] })
    await until('it takes permits', async () => (await place(forge())).status === 200, {
      withinMs: 30_000,
    })
    const { caller, trunk } = answering
    const before = trunk.invites.length
    const answered = await place(forge())
    expect(answered.status).toBe(200)
    expect((await caller.request('REFER', answered, true)).status).toBe(403)
    expect((await caller.request('BYE', answered, false)).status).toBe(481)
    expect(trunk.withinCalls).not.toContain('BYE')
    expect((await caller.request('BYE', answered, true)).status).toBe(200)
    expect(trunk.withinCalls).toContain('BYE')
    expect((await caller.request('INVITE', answered, true)).status).toBe(403)
    expect(trunk.invites).toHaveLength(before + 1)
    await answering.close()
  })

  // Trap 9.
  it('compares numbers however they are written, and dials that of the permit alone', async () => {
    const at = '127.0.0.1'
    const uris = [
      `sip:${number}@${at}`,
      `sip:1${number}@${at}`,
      `sip:+1${number}@${at};user=phone`,
      `sip:${number}@192.0.2.1:5999;maddr=192.0.2.2`,
    ]
    const before = edge.trunk.invites.length
    // The last is not for this edge, but it dials by its own trunk all the same.
    for (const uri of uris) expect(await statusOf(forge(), { uri }), uri).toBe(dialed)
    const arrived = edge.trunk.invites.slice(before).map(({ uri }) => uri)
    expect(arrived).toEqual(uris.map(() => `sip:1${number}@127.0.0.1:${edge.trunk.port}`))
    for (const text of [
      otherNumber,
      `${number};ext=7`,
      `${number}0`,
      `9${number}`,
      `+44${number}`,
    ]) {
      expect(await statusOf(forge(), { number: text }), text).toBe(refused)
    }
    for (const from of [otherNumber, 'anonymous', `${callerId}1`]) {
      expect(await statusOf(forge(), { callerId: from }), from).toBe(refused)
    }
    expect(await statusOf(forge(), { callerId: `+1${callerId}` })).toBe(dialed)
  })

  // Trap 10.
  it('tries the second trunk by the same use, and another call by none', async () => {
    const failing = await startPermitEdge({
      publicKey: createPublicKey(privateKey),
      trunkStatus: 503,
    })
    await untilWarm(failing, forge)
    const counts = () => [failing.trunk, failing.secondTrunk].map(({ invites }) => invites.length)
    const before = counts()
    const headers = [permitLine(forge())]
    expect((await failing.caller.call({ number, callerId, headers })).status).toBe(dialed)
    expect(counts()).toEqual(before.map((count) => count + 1))
    expect((await failing.caller.call({ number, callerId, headers })).status).toBe(refused)
    expect(counts()).toEqual(before.map((count) => count + 1))
    await failing.close()
  })

  it.each([
    ['algorithm none', () => forge({}, { ...header, alg: 'none' })],
    ['another ppt', () => forge({}, { ...header, ppt: 'div' })],
    ['another typ', () => forge({}, { ...header, typ: 'JWT' })],
    ['the typ of the other format', () => forge({}, { ...header, typ: 'dial-permit+jwt' })],
    ['the key of another edge', () => forge({}, header, createKeyPair().privateKey)],
    ['no parameters', () => forge().replace(parameters, '')],
    ['another info', () => forge().replace('edge-a', 'edge-b')],
    ['another number', () => forge({ dest: { tn: [`1${otherNumber}`] } })],
    ['another caller', () => forge({ orig: { tn: `1${otherNumber}` } })],
    ['no text', () => ''],
    ['a foreign text', () => 'a.b.c'],
  ])('refuses a permit with %s', async (_, make) => {
    expect(await statusOf(make())).toBe(refused)
  })

  it('takes permits of the next key as soon as it has its file', async () => {
    const next = createKeyPair()
    const make = () => forge({}, header, next.privateKey)
    expect(await statusOf(make())).toBe(refused)
    const file = join(edge.kamailio.folder, 'permit-next.pem')
    writeFileSync(file, next.publicKey.export({ type: 'spki', format: 'pem' }))
    expect(await statusOf(make())).toBe(dialed)
    expect(await statusOf(forge())).toBe(dialed)
  })

  it('logs no permit', () => {
    expect(edge.kamailio.log()).toContain('permit: refused')
    expect(edge.kamailio.log()).not.toContain('eyJ')
  })
})

const mutations = shortOrLong(1_000, 20_000)

it(`dials by none of ${mutations} mutated permits`, async () => {
  const value = forge()
  expect(await statusOf(value)).toBe(dialed)
  const before = edge.trunk.invites.length
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.;=<>,"'
  const mutate = (index: number) => {
    const at = (index * 7_919) % value.length
    const letter = letters[(index * 31) % letters.length] ?? ''
    const rest = value.slice(at + 1)
    return [value.slice(0, at) + letter + rest, value.slice(0, at) + rest, value.slice(0, at)][
      index % 3
    ]
  }
  for (let from = 0; from < mutations; from += 50) {
    const batch = Array.from({ length: 50 }, (_, index) => statusOf(mutate(from + index)))
    expect(new Set(await Promise.all(batch))).toEqual(new Set([refused]))
  }
  expect(edge.trunk.invites).toHaveLength(before)
})

const replays = shortOrLong(600, 10_000)

it(`over two edges, ${replays} replays: each permit passes once, at its own edge`, async () => {
  const pairs = [createKeyPair(), createKeyPair()]
  const edges = await Promise.all(pairs.map(({ publicKey }) => startPermitEdge({ publicKey })))
  const make = (index: number) => {
    const claims = {
      id: randomUUID(),
      edge: `edge-${index}`,
      number: toPhoneNumber(number),
      callerId: toPhoneNumber(callerId),
      callKind: 'ai',
      decisionId: 'd',
      issuedAtSeconds: nowSeconds(),
      expiresAtSeconds: nowSeconds() + 60,
    } as const
    const key = pairs[index]?.privateKey ?? privateKey
    return formatPermit('passport', claims, { issuer, kid: '', privateKey: key })
  }
  for (const [index, one] of edges.entries()) await untilWarm(one, () => make(index))
  const before = edges.map(({ trunk }) => trunk.invites.length)
  const triesOfEach = 4
  let passed = 0
  for (let sent = 0; sent < replays; ) {
    const values = Array.from({ length: 10 }, (_, index) => [make(index % 2), index % 2] as const)
    const tries = values.flatMap(([value, own]) =>
      [own, own, own, 1 - own].map(async (at) => {
        const headers = [permitLine(value)]
        const answer = await edges[at]?.caller.call({ number, callerId, headers })
        return `${at === own ? 'own' : 'other'} ${answer?.status}`
      }),
    )
    const answers = await Promise.all(tries)
    sent += tries.length
    const countOf = (what: string) => answers.filter((answer) => answer === what).length
    expect(countOf(`own ${dialed}`)).toBe(values.length)
    expect(countOf(`own ${refused}`)).toBe(2 * values.length)
    expect(countOf(`other ${refused}`)).toBe(values.length)
    passed += values.length
  }
  const arrived = edges.map(({ trunk }, index) => trunk.invites.length - (before[index] ?? 0))
  expect(arrived).toEqual([passed / 2, passed / 2])
  expect(passed).toBe(Math.ceil(replays / (10 * triesOfEach)) * 10)
  await Promise.all(edges.map((one) => one.close()))
}, 600_000)
