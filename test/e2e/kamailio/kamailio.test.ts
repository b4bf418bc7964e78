/** The shipped Kamailio recipe: gate up, gate slow, gate dead, and anything in its place. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CallgateProcess, startCallgate } from '../asterisk/lab/callgate-process.js'
import { type FakePredial, type FakeReply, startFakePredial } from '../asterisk/lab/fake-predial.js'
import { sendInvite } from '../asterisk/lab/raw-invite.js'
import { placeCalls, startCalls } from '../asterisk/lab/sipp-caller.js'
import { startTrunk, type Trunk } from '../asterisk/lab/sipp-trunk.js'
import { until } from '../asterisk/lab/until.js'
import { type KamailioServer, startKamailio } from './kamailio-server.js'

const [allowedNumber, litigator] = ['2125550106', '2125550105']
const id = '0mwpj83s86ce52e66b0fb41ceaba1'

let server: KamailioServer
let trunk: Trunk

const callThrough = async (numbers: readonly string[]) =>
  (await placeCalls({ server, numbers, followsRoutes: true })).calls
const statusesOf = async (numbers: readonly string[]) =>
  (await callThrough(numbers)).map(({ status }) => status)
const dialed = () => trunk.arrived().map(({ number }) => number)

describe('beside callgate', () => {
  let callgate: CallgateProcess

  beforeAll(async () => {
    callgate = await startCallgate({ environment: { CALLGATE_GATE_DEADLINE_MS: '700' } })
    server = await startKamailio({ url: `${callgate.url}/v1/predial`, key: callgate.keys.sandbox })
    trunk = await startTrunk({ server })
  })
  afterAll(async () => {
    await trunk.close()
    await server.close()
    await callgate.close()
  })

  it('dials what is allowed, in every form of a number, and tells the trunk the decision', async () => {
    const forms = [allowedNumber, `1${allowedNumber}`, `+1${allowedNumber}`]
    const calls = await callThrough(forms)
    expect(calls.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(dialed()).toEqual(forms)
    const records = callgate.decisions()
    expect(trunk.arrived().map(({ decisionId }) => decisionId)).toEqual(
      records.map((one) => one.id),
    )
    expect(records).toMatchObject(
      calls.map(({ callerId, number }) => ({
        dialed: number,
        callerId,
        number: allowedNumber,
        callKind: 'ai',
        via: 'predial',
        reference: expect.stringContaining('@') as unknown,
      })),
    )
  })

  it('refuses what a rule blocks, and what is no number', async () => {
    const before = dialed().length
    const numbers = [litigator, '2125550100', `+1${litigator}`, '101', '2125550106;ext=7', '*67']
    expect(await statusesOf(numbers)).toEqual([403, 403, 403, 484, 484, 484])
    expect(dialed()).toHaveLength(before)
  })

  it('dials nothing for a To tag or a route of the caller’s own', async () => {
    const before = dialed().length
    const at = `127.0.0.1:${trunk.port}`
    const uri = `sip:${litigator}@${at}`
    const routes = [`Route: <sip:127.0.0.1:${server.ports.sip};lr>`, `Route: <sip:${at};lr>`]
    expect(await sendInvite({ server, uri, headers: routes })).toBe(403)
    const to = '<sip:x@127.0.0.1>;tag=forged'
    expect(await sendInvite({ server, uri, to, headers: routes.slice(0, 1) })).toBe(481)
    expect(await sendInvite({ server, uri, to, headers: routes })).toBe(481)
    expect(await sendInvite({ server, uri, to })).toBe(481)
    expect(dialed()).toHaveLength(before)
  })

  it('dials nothing in a call that was never answered, nor for a transfer', async () => {
    const other = await startKamailio({
      url: `${callgate.url}/v1/predial`,
      key: callgate.keys.sandbox,
    })
    const busy = await startTrunk({ server: other, behaviour: { does: 'reject', status: 486 } })
    const route = `Route: <sip:127.0.0.1:${other.ports.sip};lr>`
    const common = { server: other, call: 'one-call', headers: [route] }
    expect(await sendInvite({ ...common, uri: `sip:${allowedNumber}@127.0.0.1` })).toBe(486)
    const uri = `sip:${litigator}@127.0.0.1:${busy.port}`
    expect(await sendInvite({ ...common, uri, to: '<sip:x@127.0.0.1>;tag=forged' })).toBe(403)
    expect(busy.arrived().map(({ number }) => number)).toEqual([allowedNumber])
    await busy.close()
    await other.close()
    const { calls } = await placeCalls({
      server,
      numbers: [allowedNumber],
      transferTo: litigator,
      followsRoutes: true,
    })
    expect(calls).toMatchObject([{ status: 200, transferStatus: 403 }])
  })

  it('asks for the number as a whole, whatever the rest of the call holds', async () => {
    const before = callgate.decisions().length
    await sendInvite({
      server,
      uri: `sip:${litigator}@127.0.0.1`,
      from: '"a&number=2125550106" <sip:1&kind=manual@127.0.0.1>',
    })
    await until('it is on record', () => callgate.decisions().length > before)
    expect(callgate.decisions().slice(before)).toMatchObject([
      { number: litigator, reason: 'litigator', callKind: 'ai' },
    ])
  })

  it('refuses within its limit while callgate is frozen, and takes emergency calls meanwhile', async () => {
    const before = dialed().length
    callgate.freeze()
    const gated = startCalls({
      server,
      numbers: [allowedNumber],
      total: 20,
      rate: 100,
      followsRoutes: true,
    })
    const { done } = await gated
    const [urgent] = await callThrough(['911'])
    const { calls } = await done
    callgate.thaw()
    expect(calls.map(({ status }) => status)).toEqual(Array(20).fill(503))
    expect(urgent?.status).toBe(200)
    expect((urgent?.answeredAt ?? 0) - (urgent?.sentAt ?? 0)).toBeLessThan(500)
    expect(dialed().slice(before)).toEqual(['911'])
  })

  it('gates again after', async () => {
    await until('callgate answers', async () => (await fetch(`${callgate.url}/healthz`)).ok)
    expect(await statusesOf([allowedNumber, litigator])).toEqual([200, 403])
  })

  it('takes the key as a password too, once it is asked for one', async () => {
    const url = new URL(`${callgate.url}/v1/predial`)
    url.username = 'kamailio'
    url.password = callgate.keys.sandbox
    const other = await startKamailio({ url: url.href, key: '' })
    const far = await startTrunk({ server: other })
    const numbers = [allowedNumber, litigator]
    const { calls } = await placeCalls({ server: other, numbers, followsRoutes: true })
    expect(calls.map(({ status }) => status)).toEqual([200, 403])
    expect(far.arrived().map(({ number }) => number)).toEqual([allowedNumber])
    await far.close()
    await other.close()
  })

  it('dials nothing but emergency and service codes once callgate is dead', async () => {
    await callgate.killHard()
    const before = dialed().length
    const codes = ['911', '933', '988', '411']
    expect(await statusesOf([allowedNumber, ...codes])).toEqual([503, 200, 200, 200, 200])
    expect(dialed().slice(before)).toEqual(codes)
  })

  it('logs no key', () => {
    expect(server.log()).toContain('callgate: refused')
    expect(server.log().includes(callgate.keys.sandbox.slice(0, 20))).toBe(false)
  })
})

describe('beside something else', () => {
  let fake: FakePredial
  const line = (number: string) => `allow:${number}:${id}:end`
  const garbage: readonly (readonly [string, (number: string) => FakeReply])[] = [
    ['nothing', () => ({ body: '' })],
    ['the word alone', () => ({ body: 'allow\n' })],
    ['no newline', (number) => ({ body: line(number) })],
    ['no end', (number) => ({ body: `allow:${number}:${id}\n` })],
    ['no id', (number) => ({ body: `allow:${number}::end\n` })],
    ['another number', () => ({ body: `${line('2125550198')}\n` })],
    ['a number with a plus', (number) => ({ body: `${line(`+${number}`)}\n` })],
    ['a further field', (number) => ({ body: `${line(number)}:block\n` })],
    ['two lines', (number) => ({ body: `${line(number)}\n${line(number)}\n` })],
    ['a blank before', (number) => ({ body: ` ${line(number)}\n` })],
    ['capitals', (number) => ({ body: `${line(number).toUpperCase()}\n` })],
    ['a pseudo-variable', () => ({ body: 'allow:$rU:abc:end\n' })],
    ['a block before', (number) => ({ body: `block:litigator:abc:end\n${line(number)}\n` })],
    ['a megabyte', (number) => ({ body: `${line(number)}\n`.padEnd(1_000_000, ' ') })],
    ['a line that breaks off', (number) => ({ body: `${line(number)}\n`, missing: 5 })],
    ['a line, slower than the limit', (number) => ({ body: `${line(number)}\n`, everyMs: 60 })],
    ['silence', () => 'silence'],
    ['an HTML page', () => ({ body: '<html><title>Login</title></html>\n' })],
    ['headers that break off', () => ({ bytes: 'HTTP/1.1 200 OK\r\nContent-' })],
    [
      'a chunk that breaks off',
      (number) => ({
        bytes: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n${line(number)}\n`,
      }),
    ],
    ['no content', () => ({ bytes: 'HTTP/1.1 204 No Content\r\n\r\n' })],
    ['a closed connection', () => ({ bytes: '' })],
    ['a line without HTTP', (number) => ({ bytes: `${line(number)}\n` })],
    ...[201, 302, 401, 403, 429, 500, 503].map(
      (status) =>
        [
          `an allow with ${status}`,
          (number: string) => ({
            status,
            body: `${line(number)}\n`,
            headers: { location: `/allow/${number}` },
          }),
        ] as const,
    ),
  ]
  const numberOf = (index: number) => `21255501${String(index).padStart(2, '0')}`

  beforeAll(async () => {
    fake = await startFakePredial((path, number) => {
      if (path.startsWith('/allow/')) return { body: `${line(path.slice(7))}\n` }
      const place = garbage[Number(number.slice(-2))]
      return place ? place[1](number) : { body: `${line(number)}\n` }
    })
    server = await startKamailio({ url: fake.url, key: 'k3y_-of-A-kind' })
    trunk = await startTrunk({ server })
  })
  afterAll(async () => {
    await trunk.close()
    await server.close()
    await fake.close()
  })

  it('dials for a whole line with its newline, and for nothing else', async () => {
    const numbers = [...garbage.map((_, index) => numberOf(index)), '2125550199']
    const calls = await callThrough(numbers)
    const taken = calls.filter(({ status }) => status !== 503).map(({ number }) => number)
    expect(taken.map((number) => garbage[numbers.indexOf(number)]?.[0] ?? 'a whole line')).toEqual([
      'a whole line',
    ])
    expect(dialed()).toEqual(['2125550199'])
  })

  it('asks once for each call, and follows no redirect', () => {
    expect(fake.asked.map(({ path }) => path)).toEqual(fake.asked.map(() => '/v1/predial'))
    expect(new Set(fake.asked.map(({ fields }) => fields.number)).size).toBe(fake.asked.length)
  })

  // Its 487 is sent where the answer has been read.
  it('dials nothing for a caller who has hung up before the answer', async () => {
    const slow = await startFakePredial((_, number) => ({ body: `${line(number)}\n`, everyMs: 12 }))
    const other = await startKamailio({ url: slow.url, key: 'k' })
    const far = await startTrunk({ server: other })
    const calls = await placeCalls({
      server: other,
      numbers: ['2125550106'],
      giveUpAfterMs: 200,
      followsRoutes: true,
    })
    expect(calls.calls).toMatchObject([{ status: 487, gaveUp: true }])
    expect(slow.asked).toHaveLength(1)
    expect(far.arrived()).toEqual([])
    await slow.close()
    await far.close()
    await other.close()
  })
})
