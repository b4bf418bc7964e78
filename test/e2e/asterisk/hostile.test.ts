/** Whoever wants past the gate: by what is dialled, by what a call says of itself, by forged variables. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type AsteriskServer, startAsterisk } from './lab/asterisk-server.js'
import { type CallgateProcess, startCallgate } from './lab/callgate-process.js'
import { answeredContext, type Dialer, dialers, originate } from './lab/dialers.js'
import {
  hostileCallers,
  hostileHeaders,
  hostileNumbers,
  invalidCallers,
} from './lab/hostile-texts.js'
import { asteriskVersions } from './lab/provided-asterisk.js'
import { sendInvite } from './lab/raw-invite.js'
import { startCalls } from './lab/sipp-caller.js'
import { startTrunks, type Trunks } from './lab/trunks.js'
import { until } from './lab/until.js'

const [allowedNumber, blockedNumber, withoutConsent] = ['2125550106', '2125550105', '2125550100']

/** Of a decision that the test itself makes. */
const id = '0mwpj83s86ce52e66b0fb41ceaba1'

/** Every sign, so that Asterisk reads the text and not its grammar. */
const encoded = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
const plain = (text: string) => text

/** All that the verdict of a gate is read from, as it would stand there for an allowed call. */
const verdictOf = (number: string) => ({
  CALLGATE_DECISION: 'allow',
  CALLGATE_NUMBER: number,
  CALLGATE_ID: 'forged',
  CALLGATE_CAUSE: '',
  CALLGATE_REASON: 'permitted',
  CALLGATE_STAGE: 'first',
  CALLGATE_PERMIT: `1.zzzzzzzz.forged.${'A'.repeat(43)}`,
  CALLGATE_CALLED: number,
  CALLGATE_DEGRADED: 'permission+litigator',
  CALLGATE_VERDICT: `allow:${number}`,
  CALLGATE_VIA: 'trunk',
  STASISSTATUS: 'SUCCESS',
  CALLGATE_REPLY: `allow:${number}:forged:end`,
  CALLGATE_LINE: `allow:${number}:forged:end`,
})

/** What a sidecar may leave on the channel of a call to `allowedNumber`. */
const words: readonly (readonly [string, Readonly<Record<string, string>>, number, number?])[] = [
  ['an allow', {}, 200],
  ['an allow for another number', { CALLGATE_NUMBER: '2125550107' }, 503, 42],
  ['an allow for no number', { CALLGATE_NUMBER: '' }, 503, 42],
  ['an allow for more than the number', { CALLGATE_NUMBER: `1${allowedNumber}` }, 503, 42],
  ['an allow without a record', { CALLGATE_ID: '' }, 503, 42],
  ['an allow with no id but signs', { CALLGATE_ID: '"$[-]"' }, 503, 42],
  ['nothing', { CALLGATE_DECISION: '' }, 503, 42],
  ['capitals', { CALLGATE_DECISION: 'ALLOW' }, 503, 42],
  ['more than the word', { CALLGATE_DECISION: 'allowed' }, 503, 42],
  ['the word twice', { CALLGATE_DECISION: 'allow" = "allow' }, 503, 42],
  ['quotes and an and', { CALLGATE_DECISION: '1" != "1" & "' }, 503, 42],
  ['quotes and an or', { CALLGATE_DECISION: '" | "1' }, 503, 42],
  ['a lone quote', { CALLGATE_DECISION: '"' }, 503, 42],
  ['4,090 quotes', { CALLGATE_DECISION: '"'.repeat(4_090) }, 503, 42],
  ['a quote in the number', { CALLGATE_NUMBER: '" & "0' }, 503, 42],
  ['a block', { CALLGATE_DECISION: 'block', CALLGATE_CAUSE: '21' }, 403, 21],
  ['a block with no cause but signs', { CALLGATE_DECISION: 'block', CALLGATE_CAUSE: '"' }, 503, 42],
]

/** Names of the recipes' settings, which are global variables. */
const settings = {
  CALLGATE_KIND: 'manual',
  CALLGATE_TRUNK: 'trunk-ai',
  CALLGATE_PREFIX: '1',
  CALLGATE_APP: 'elsewhere',
  CALLGATE_ID_HEADER: 'X-Other',
  CALLGATE_GATE: 'answered',
  CALLGATE_URL: 'http://127.0.0.1:1/',
  CALLGATE_WAIT: '0.001',
}

const named = (prefix: string, variables: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(variables).map(([name, value]) => [prefix + name, value]))

describe.each(asteriskVersions)('on Asterisk %i', (version) => {
  let server: AsteriskServer
  let trunks: Trunks

  beforeAll(async () => {
    server = await startAsterisk({
      version,
      extensions: answeredContext,
      globals: {
        CALLGATE_APP_A: 'callgate',
        CALLGATE_URL: 'http://127.0.0.1:1/v1/predial',
        CALLGATE_EMERGENCY_112: '911',
      },
    })
    trunks = await startTrunks(server, {
      trunk: { does: 'answer' },
      'trunk-ai': { does: 'answer' },
    })
  })
  afterAll(async () => {
    await trunks.close()
    await server.close()
  })

  const noChannelIsLeft = () =>
    until('no channel is left', async () => (await server.channels()) === 0)
  /** Path of the channel that waits for its decision. */
  const waitingFrom = async (callerId: string | undefined) => {
    const channels = (await server.ari('GET', '/channels')).body as readonly {
      readonly id: string
      readonly caller: { readonly number: string }
      readonly dialplan: { readonly app_name: string }
    }[]
    const channel = channels.find(
      ({ caller, dialplan }) => caller.number === callerId && dialplan.app_name === 'Stasis',
    )
    return channel && `/channels/${channel.id}`
  }
  const originated = (dialer: Dialer, channel: string, variables = {}) =>
    originate(server, dialer, { channel, variables })
  const gates = ['gate', 'gate-two', ...(version === 16 ? [] : ['gate-broadcast'])]
  const prefixes = ['', '_', '__']
  const forgers = dialers.flatMap((dialer) => gates.map((gate) => [dialer, gate] as const))

  describe('beside callgate', () => {
    let callgate: CallgateProcess
    beforeAll(async () => {
      // A busy machine is no hostile one.
      callgate = await startCallgate({ server, environment: { CALLGATE_GATE_DEADLINE_MS: '1000' } })
    })
    afterAll(() => callgate.close())

    /** After each: both still work, and each call at a trunk is one that was decided. */
    afterEach(async () => {
      await noChannelIsLeft()
      const uri = `sip:${allowedNumber}@127.0.0.1`
      expect(await sendInvite({ server, uri, silenceMs: 10_000 })).toBe(200)
      await noChannelIsLeft()
      expect(await callgate.isReady()).toBe(true)
      const allows = callgate.decisions().filter(({ decision }) => decision === 'allow')
      const undecided = trunks
        .arrived()
        .filter(
          ({ decisionId, number }) =>
            decisionId !== id &&
            !allows.some((allow) => allow.id === decisionId && allow.number === number),
        )
      expect(undecided).toEqual([])
    })

    it.each([
      ['percent-encoded', encoded],
      ['as it is', plain],
    ] as const)('nothing is dialled for a hostile text, %s', async (_, write) => {
      const before = trunks.arrived().length
      const dialled = ['outbound', 'gate'].flatMap((context) =>
        hostileNumbers.map((text) => ({ context, text })),
      )
      const told = await Promise.all(
        dialled.map(async ({ context, text }) => {
          const uri = `sip:${write(text)}@127.0.0.1`
          return { context, text, status: await sendInvite({ server, context, uri }) }
        }),
      )
      const unread = write === plain ? 400 : 0
      expect(told.filter(({ status = unread }) => status < 400)).toEqual([])
      expect(trunks.arrived()).toHaveLength(before)
    })

    it('nothing is dialled for an address without a number, or with the wrong one', async () => {
      const before = trunks.arrived().length
      const addresses = [
        '',
        'sip:@127.0.0.1',
        'sip:127.0.0.1',
        'sip:%00@127.0.0.1',
        `tel:${blockedNumber}`,
        `sip:${blockedNumber}%00@127.0.0.1`,
        `sip:${blockedNumber}%00${allowedNumber}@127.0.0.1`,
        `sip:${allowedNumber}@127.0.0.1;x="`,
      ]
      const statuses = await Promise.all(addresses.map((uri) => sendInvite({ server, uri })))
      expect(statuses.filter((status = 400) => status < 400)).toEqual([])
      expect(trunks.arrived()).toHaveLength(before)
    })

    it('nothing is dialled for a hostile text that a dialer puts before the gate', async () => {
      const before = trunks.arrived().length
      const originateAll = async (dialer: Dialer) => {
        for (const text of ['', ...hostileNumbers]) await originated(dialer, `Local/${text}@gate/n`)
      }
      await Promise.all(dialers.map(originateAll))
      await noChannelIsLeft()
      expect(trunks.arrived()).toHaveLength(before)
    })

    it('the number that was judged is dialled, whatever the caller says of itself', async () => {
      const before = trunks.arrived().length
      const place = (number: string, callers: readonly string[]) =>
        Promise.all(
          callers.map((from) =>
            sendInvite({ server, uri: `sip:${number}@127.0.0.1`, from, headers: hostileHeaders }),
          ),
        )
      expect(await place(blockedNumber, hostileCallers)).toEqual(hostileCallers.map(() => 403))
      expect(await place(allowedNumber, invalidCallers)).toEqual(invalidCallers.map(() => 403))
      expect(trunks.arrived()).toHaveLength(before)
      expect(await place(allowedNumber, hostileCallers)).toEqual(hostileCallers.map(() => 200))
      const numbers = trunks.arrived().map(({ number }) => number)
      expect(numbers.slice(before)).toEqual(hostileCallers.map(() => allowedNumber))
    })

    it('only an allow for this very call is dialled, whatever the sidecar says', async () => {
      const whole = { CALLGATE_DECISION: 'allow', CALLGATE_NUMBER: allowedNumber, CALLGATE_ID: id }
      const [before, decided] = [trunks.arrived().length, callgate.decisions().length]
      // While callgate is frozen, the test covers it.
      callgate.freeze()
      const numbers = words.map(() => allowedNumber)
      const placed = await startCalls({ server, numbers, rate: 100 })
      // All at once, since each call waits for its answer for a limited time.
      const answer = async (index: number, variables: object) => {
        const path = await until('it waits', () => waitingFrom(placed.placed()[index]?.callerId))
        for (const [variable, value] of Object.entries({ ...whole, ...variables }))
          await server.ari('POST', `${path}/variable`, {}, { variable, value })
        await server.ari('POST', `${path}/continue`)
      }
      await Promise.all(words.map(([, variables], index) => answer(index, variables)))
      const { calls } = await placed.done
      callgate.thaw()
      // What comes with the backlog of a frozen process counts as being as old as that.
      await until(
        'it has decided what waited',
        () => callgate.decisions().length === decided + words.length,
      )
      const told = calls.map(({ status, cause }, index) => [words[index]?.[0], status, cause])
      expect(told).toEqual(words.map(([name, , status, cause]) => [name, status, cause]))
      expect(trunks.arrived().slice(before)).toMatchObject([
        { number: allowedNumber, callerId: calls[0]?.callerId, decisionId: id },
      ])
    })

    it.each(forgers)('%s cannot forge a verdict of %s', async (dialer, gate) => {
      const [arrived, before] = [trunks.arrived().length, callgate.decisions().length]
      const variables = { ...verdictOf(blockedNumber), CALL_REF: 'forged' }
      const channel = `Local/${blockedNumber}@${gate}/n`
      await Promise.all(
        prefixes.map((prefix) => originated(dialer, channel, named(prefix, variables))),
      )
      await until('all are on record', () => callgate.decisions().length === before + 3)
      // The variables do come through.
      const wanted = { number: blockedNumber, decision: 'block', reference: 'forged' }
      expect(callgate.decisions().slice(before)).toMatchObject(prefixes.map(() => wanted))
      expect(trunks.arrived()).toHaveLength(arrived)
    })

    it.each(dialers)('%s cannot forge the settings of the gate', async (dialer) => {
      const [arrived, before] = [trunks.arrived().length, callgate.decisions().length]
      for (const number of [withoutConsent, allowedNumber])
        await originated(dialer, `Local/${number}@gate/n`, named('__', settings))
      await until('both are on record', () => callgate.decisions().length === before + 2)
      const decisions = callgate.decisions().slice(before)
      expect(decisions).toMatchObject([
        { number: withoutConsent, callKind: 'ai', reason: 'no-consent' },
        { number: allowedNumber, callKind: 'ai', decision: 'allow' },
      ])
      expect(trunks.arrived()).toHaveLength(arrived + 1)
      expect(trunks.arrived()).toContainEqual(
        expect.objectContaining({
          trunk: 'trunk',
          number: allowedNumber,
          decisionId: decisions[1]?.id,
        }),
      )
    })
  })

  describe('without callgate', () => {
    it.each(dialers)('%s cannot forge the verdict of any gate', async (dialer) => {
      const before = trunks.arrived().length
      for (const channel of [...gates, 'gate-curl'].flatMap((gate) => [
        `Local/${blockedNumber}@${gate}/n`,
        `Local/T@${gate}/n`,
      ]))
        await Promise.all(
          prefixes.map((prefix) =>
            originated(dialer, channel, named(prefix, verdictOf(blockedNumber))),
          ),
        )
      await noChannelIsLeft()
      expect(trunks.arrived()).toHaveLength(before)
    })

    it.each(dialers)('%s reaches the emergency trunk all the same', async (dialer) => {
      const before = trunks.arrived().length
      await originated(dialer, 'Local/911@gate/n', named('__', verdictOf(blockedNumber)))
      expect(trunks.arrived().slice(before)).toMatchObject([{ number: '911', trunk: 'trunk' }])
    })
  })

  it('SIPp counts no call at a trunk but those seen', async () => {
    const { length } = trunks.arrived()
    expect(await trunks.close()).toBe(length)
  })
})
