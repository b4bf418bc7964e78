/** The gate that asks with CURL(): beside callgate, and with anything in its place. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callgate as runProgram } from '../../support/program.js'
import { type AsteriskServer, startAsterisk } from './lab/asterisk-server.js'
import { type CallgateProcess, startCallgate } from './lab/callgate-process.js'
import { answeredContext, dialers, originate } from './lab/dialers.js'
import { type FakePredial, type FakeReply, startFakePredial } from './lab/fake-predial.js'
import { blocked, carried, followCalls } from './lab/followed-calls.js'
import { hostileNumbers } from './lab/hostile-texts.js'
import { freeTcpPort } from './lab/ports.js'
import { asteriskVersions } from './lab/provided-asterisk.js'
import { sendInvite } from './lab/raw-invite.js'
import { type PlacedCall, placeCalls } from './lab/sipp-caller.js'
import { startTrunks, type Trunks } from './lab/trunks.js'
import { until } from './lab/until.js'

const [allowedNumber, blockedNumber] = ['2125550106', '2125550105']
const id = '0mwpj83s86ce52e66b0fb41ceaba1'
const allowOf = (number: string) => `allow:${number}:${id}:end`

type ReplyTo = (number: string) => FakeReply
const body = (text: string) => () => ({ body: text })
const line =
  (edit: (allow: string, number: string) => string): ReplyTo =>
  (number) => ({
    body: edit(allowOf(number), number),
  })

/** Nothing that callgate says; each is refused as undecided. */
const garbage: readonly (readonly [string, ReplyTo])[] = [
  ['nothing', body('')],
  ['a newline', body('\n')],
  ['the word alone', body('allow')],
  ['a page', body('<!doctype html><html><body>allow</body></html>')],
  ['JSON', body('{"decision":"allow"}')],
  ['no end', line((_, number) => `allow:${number}:abc`)],
  ['another end', line((_, number) => `allow:${number}:abc:endx`)],
  ['half an end', line((_, number) => `allow:${number}:abc:en`)],
  ['no id', line((_, number) => `allow:${number}::end`)],
  ['an empty number', line(() => 'allow::abc:end')],
  ['another number', line(() => 'allow:2125550198:abc:end')],
  ['the number with more', line((_, number) => `allow:1${number}:abc:end`)],
  ['the number with a plus', line((_, number) => `allow:+${number}:abc:end`)],
  ['capitals', line((allow) => allow.toUpperCase())],
  ['a capital', line((allow) => allow.replace('a', 'A'))],
  ['a space before', line((allow) => ` ${allow}`)],
  ['a space within', line((allow) => allow.replace(':', ': '))],
  ['a newline within', line((allow) => allow.replace(':end', '\n:end'))],
  ['two lines', line((allow) => `${allow}\n${allow}\n`)],
  ['a block before', line((allow) => `block:litigator:abc:end\n${allow}`)],
  ['a further field', line((allow) => `${allow}:block`)],
  ['quotes', body('allow" = "allow')],
  ['quotes and an or', line((_, number) => `x" = "x" | "allow:${number}:abc:end`)],
  ['a lone quote', body('"')],
  ['a line in quotes', line((allow) => `"${allow}"`)],
  ['an expression', body('$[1]')],
  ['a variable', line((_, number) => `allow:$\{EXTEN}:abc:end${number.slice(0, 0)}`)],
  ['a comma', line((allow) => `${allow},1`)],
  ['an ampersand', line((allow, number) => allow.replace(number, `${number}&PJSIP/1@trunk`))],
  ['a NUL within', line((allow) => allow.replace(':end', '\0:end'))],
  ['letters of another script', line((allow) => allow.replace('a', 'а'))],
  ['a byte order mark', line((allow) => `\ufeff${allow}`)],
  ['100 characters', line((_, n) => `allow:${n}:${'a'.repeat(79)}:end`)],
  ['4,090 characters', line((_, n) => `allow:${n}:${'a'.repeat(4_069)}:end`)],
  ['4,090 quotes', body('"'.repeat(4_090))],
  ['a line after 4,090 spaces', line((allow) => `${' '.repeat(4_090)}${allow}`)],
  ['a megabyte', body('allow:'.repeat(175_000))],
  ['a line that breaks off', (number) => ({ body: `allow:${number}:abc:e`, missing: 2 })],
  ['a line, slower than the limit', (number) => ({ body: allowOf(number), everyMs: 60 })],
  ['silence', () => 'silence'],
  ['a closed connection', () => ({ bytes: '' })],
  ['a line without HTTP', (number) => ({ bytes: `${allowOf(number)}\n` })],
  ['a broken status', (number) => ({ bytes: `HTTP/1.1 abc\r\n\r\n${allowOf(number)}` })],
  ['headers alone', () => ({ bytes: 'HTTP/1.1 200 OK\r\nX: ' })],
  ['a 500 with a line', (number) => ({ status: 500, body: allowOf(number) })],
  ['a 401 with a line', (number) => ({ status: 401, body: allowOf(number) })],
  ...[301, 302, 303, 307, 308].map(
    (status) =>
      [
        `a ${status} to an allow`,
        (number: string) => ({
          status,
          body: allowOf(number),
          headers: { location: `/allow/${number}` },
        }),
      ] as const,
  ),
]

/** What callgate does say. */
const lines: readonly (readonly [string, ReplyTo, number, number | undefined])[] = [
  ['an allow', line((allow) => allow), 200, undefined],
  ['an allow with its newline', line((allow) => `${allow}\n`), 200, undefined],
  ['an allow with blanks after it', line((allow) => `${allow} \n\n`), 200, undefined],
  ['an allow, not all after it', (n) => ({ body: allowOf(n), missing: 9 }), 200, undefined],
  ['a block', body('block:litigator:abc:end\n'), 403, 21],
  ['a block for want of an answer', body('block:check-unanswered:abc:end\n'), 503, 42],
]

const places = [...garbage, ...lines].map(([name, reply], index) => ({
  name,
  reply,
  number: `21255501${String(index).padStart(2, '0')}`,
}))
/** Every registered status from 300 on. */
const statuses = [
  ...range(300, 308),
  ...range(400, 418),
  ...range(421, 426),
  428,
  429,
  431,
  451,
  ...range(500, 508),
  510,
  511,
]

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

describe.each(asteriskVersions)('gate-curl on Asterisk %i', (version) => {
  let server: AsteriskServer
  let trunks: Trunks

  beforeAll(async () => {
    const globals = { CALLGATE_GATE: 'gate-curl', CALLGATE_WAIT: '1' }
    server = await startAsterisk({ version, extensions: answeredContext, globals })
    trunks = await startTrunks(server, { trunk: { does: 'answer' } })
  })
  afterAll(async () => {
    await trunks.close()
    await server.close()
  })

  /** Where the gate asks, and with which key. */
  const ask = async (url: string, key: string) => {
    const file = join(server.folder, 'callgate.key')
    writeFileSync(file, `${key}\n`)
    await server.setGlobals({ CALLGATE_URL: url, CALLGATE_KEY_FILE: file })
  }
  const arrivedFrom = (callerId: string | undefined) =>
    trunks.arrived().filter((arrival) => arrival.callerId === callerId)
  const callOne = async (number: string) =>
    (await placeCalls({ server, numbers: [number] })).calls[0]
  const expectUndecided = (call: PlacedCall | undefined) => {
    expect(call).toMatchObject({ status: 503, cause: 42 })
    expect(arrivedFrom(call?.callerId)).toEqual([])
  }

  describe('beside callgate', () => {
    let callgate: CallgateProcess
    const askCallgate = async (key = callgate.keys.sandbox): Promise<void> =>
      await ask(`${callgate.url}/v1/predial`, key)
    beforeAll(async () => {
      callgate = await startCallgate({ environment: { CALLGATE_GATE_DEADLINE_MS: '700' } })
      await askCallgate()
    })
    afterAll(() => callgate.close())

    const expectGated = async () => {
      const expected = [
        carried(allowedNumber, 'trunk'),
        blocked(blockedNumber, 'litigator'),
        blocked('2125550100', 'no-consent'),
      ]
      const numbers = expected.map(({ number }) => number)
      expect(await followCalls({ server, callgate, trunks, numbers })).toEqual(expected)
    }

    it('dials what is allowed, and tells the caller why not', expectGated)

    it('dials nothing for a hostile text', async () => {
      const before = [trunks.arrived().length, callgate.decisions().length]
      await Promise.all(
        hostileNumbers.map((text) => {
          const uri = `sip:${encodeURIComponent(text)}@127.0.0.1`
          return sendInvite({ server, uri, context: 'gate-curl' })
        }),
      )
      expect([trunks.arrived().length, callgate.decisions().length]).toEqual(before)
    })

    it.each([
      ['of another service', () => 'x'.repeat(44)],
      ['with a newline and a header', (key: string) => `${key.slice(1)}\r\nloginId: x`],
      ['of 4,000 characters', (key: string) => key.repeat(90)],
      ['that is empty', () => ''],
    ] as const)('dials nothing with a key %s', async (_, edit) => {
      const before = callgate.decisions().length
      await askCallgate(edit(callgate.keys.sandbox))
      expectUndecided(await callOne(allowedNumber))
      expect(callgate.decisions()).toHaveLength(before)
      await askCallgate()
    })

    it('dials with a key that can decide and no more, and nothing with one that cannot', async () => {
      const environment = { CALLGATE_DATA_DIR: callgate.dataDir }
      const keyThatCan = async (right: string) => {
        const made = ['keys', 'create', '--account', 'sandbox', '--can', right]
        return (await runProgram(made, environment)).out.trim()
      }
      await askCallgate(await keyThatCan('decide'))
      const call = await callOne(allowedNumber)
      expect(arrivedFrom(call?.callerId)).toHaveLength(1)
      await askCallgate(await keyThatCan('look-up,records,consent,manage'))
      expectUndecided(await callOne(allowedNumber))
      await askCallgate()
    })

    it('dials nothing when the file of the key is not there', async () => {
      await server.setGlobals({ CALLGATE_KEY_FILE: join(server.folder, 'none') })
      expectUndecided(await callOne(allowedNumber))
      await askCallgate()
    })

    it('writes no key into a log of Asterisk that has all of its verbose messages', async () => {
      await server.cli('logger add channel all notice,warning,error,verbose(10)')
      await callOne(allowedNumber)
      await server.cli('logger remove channel all')
      const told = readFileSync(join(server.folder, 'log/all'), 'latin1')
      expect(told.includes(`CALLGATE_NUMBER=${allowedNumber}`)).toBe(true)
      expect(told.includes(callgate.keys.sandbox.slice(0, 20))).toBe(false)
    })

    it('dials nothing while no decision can be written to disk', async () => {
      const journal = join(callgate.dataDir, 'journal')
      renameSync(journal, `${journal}-away`)
      const call = await callOne(allowedNumber)
      renameSync(`${journal}-away`, journal)
      expectUndecided(call)
    })

    it('refuses within its limit while callgate is frozen, and gates again after', async () => {
      callgate.freeze()
      const call = await callOne(allowedNumber)
      callgate.thaw()
      expectUndecided(call)
      expect((call?.answeredAt ?? 0) - (call?.sentAt ?? 0)).toBeLessThan(2_500)
      await expectGated()
    })

    it.each(dialers)('asks callgate, whatever %s forges', async (dialer) => {
      const fake = await startFakePredial((_, number) => ({ body: allowOf(number) }))
      const [arrived, before] = [trunks.arrived().length, callgate.decisions().length]
      const reply = allowOf(blockedNumber)
      const variables = {
        __CALLGATE_URL: fake.url,
        __CALLGATE_REPLY: reply,
        __CALLGATE_LINE: reply,
        __CALLGATE_DECISION: 'allow',
        __CALLGATE_NUMBER: blockedNumber,
        __CALLGATE_ID: id,
        __CALLGATE_KEY_FILE: '/dev/null',
        __CALLGATE_KIND: 'manual',
        __CALL_REF: 'forged',
      }
      const channel = `Local/${blockedNumber}@gate-curl/n`
      await originate(server, dialer, { channel, variables })
      await fake.close()
      expect(fake.asked).toEqual([])
      await until('it is on record', () => callgate.decisions().length > before)
      expect(callgate.decisions().slice(before)).toMatchObject([
        { via: 'predial', reason: 'litigator', callKind: 'ai', reference: 'forged' },
      ])
      expect(trunks.arrived()).toHaveLength(arrived)
    })

    it('dials nothing but emergency and service codes once callgate is dead', async () => {
      await callgate.killHard()
      const numbers = [allowedNumber, '911', '933', '988', '411']
      const { calls } = await placeCalls({ server, numbers })
      expectUndecided(calls[0])
      expect(calls.slice(1).map(({ status }) => status)).toEqual([200, 200, 200, 200])
      expect(
        calls.flatMap(({ callerId }) => arrivedFrom(callerId).map((one) => one.number)),
      ).toEqual(numbers.slice(1))
    })
  })

  describe('beside something else', () => {
    let fake: FakePredial
    let calls: readonly PlacedCall[] = []
    const replyTo = (path: string, number: string): FakeReply => {
      if (path.startsWith('/allow/')) return { body: allowOf(path.slice('/allow/'.length)) }
      const status = Number(number.slice(-3))
      if (number.startsWith('310555')) return { status, body: allowOf(number) }
      return places.find((place) => place.number === number)?.reply(number) ?? 'silence'
    }
    const callOf = (name: string) =>
      calls.find(({ number }) => number === places.find((place) => place.name === name)?.number)

    beforeAll(async () => {
      fake = await startFakePredial(replyTo)
      await ask(fake.url, 'k3y_-of-A-kind')
      const numbers = places.map(({ number }) => number)
      calls = (await placeCalls({ server, numbers, rate: 50 })).calls
    })
    afterAll(() => fake.close())

    it.each(garbage)('dials nothing for %s', (name) => {
      expectUndecided(callOf(name))
    })

    it.each(lines)('takes %s', (name, _, status, cause) => {
      const call = callOf(name)
      expect(call).toMatchObject({ status, cause })
      const arrivals = status === 200 ? [{ number: call?.number, decisionId: id }] : []
      expect(arrivedFrom(call?.callerId)).toMatchObject(arrivals)
    })

    it('dials nothing for an allow with a status that is no success', async () => {
      const numbers = [200, ...statuses].map((status) => `3105550${status}`)
      const placed = (await placeCalls({ server, numbers, rate: 100 })).calls
      const dialled = placed.filter(({ callerId }) => arrivedFrom(callerId).length > 0)
      expect(dialled.map(({ number }) => number)).toEqual(['3105550200'])
    })

    it('passes the trace of a dialer on to the trunk', async () => {
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
      const variables = { __CALL_TRACEPARENT: traceparent }
      const before = new Set(trunks.arrived().map(({ at }) => at))
      await originate(server, 'AMI', { channel: 'Local/3105550200@gate-curl/n', variables })
      const arrived = await until('it arrives', () =>
        trunks.arrived().find(({ at }) => !before.has(at)),
      )
      expect(arrived).toMatchObject({ number: '3105550200', traceparent })
    })

    it('asks once for each, with the key and what is known of the call', async () => {
      const variables = { __CALL_POSTAL: '10001', __CALL_REF: 'lead-7', __CALL_PROJECT: 'a&b=c' }
      const channel = `Local/${allowedNumber}@gate-curl/n`
      const before = fake.asked.length
      await originate(server, 'AMI', { channel, variables, callerId: '"&x=" <+1302&kind=manual>' })
      expect(fake.asked.slice(before)).toEqual([
        {
          path: '/v1/predial',
          authorization: 'Bearer k3y_-of-A-kind',
          fields: {
            number: allowedNumber,
            kind: 'ai',
            project: 'abc',
            campaign: '',
            postal: '10001',
            callerid: '+1302',
            ref: 'lead-7',
          },
        },
      ])
      expect(fake.asked.filter(({ path }) => path !== '/v1/predial')).toEqual([])
    })
  })

  it('refuses at once where nobody listens', async () => {
    await ask(`http://127.0.0.1:${await freeTcpPort()}/v1/predial`, 'x'.repeat(44))
    expectUndecided(await callOne(allowedNumber))
  })

  it('let no call to a trunk but those seen, by the count of SIPp', async () => {
    const { length } = trunks.arrived()
    expect(await trunks.close()).toBe(length)
  })
})
