import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  AriConnection,
  type AriConnectionOptions,
  type AriLimits,
} from '../../../src/asterisk/ari/ari-connection.js'
import type { AsteriskEvents } from '../../../src/asterisk/asterisk-port.js'
import { AriError } from '../../../src/asterisk/asterisk-port.js'
import type { LogFields, Logger } from '../../../src/observability/log.js'
import { type FakeAnswer, FakeAsterisk, user } from '../../support/fake-asterisk.js'
import { instant, testClock } from '../../support/test-clock.js'

const now = '2026-11-20T12:00:00Z'

const channel = (id: string, more: object = {}) => ({
  id,
  name: `PJSIP/carrier-a-${id}`,
  state: 'Ring',
  caller: { name: '', number: '3125550100' },
  connected: { name: '', number: '' },
  dialplan: {
    context: 'gate',
    exten: '2125550100',
    priority: 3,
    app_name: 'Stasis',
    app_data: 'callgate,2125550100,kind=ai',
  },
  channelvars: { CALLGATE_PERMIT: '' },
  ...more,
})

const read = (id: string) => ({
  id,
  name: `PJSIP/carrier-a-${id}`,
  callerNumber: '3125550100',
  variables: { CALLGATE_PERMIT: '' },
  application: { name: 'Stasis', data: 'callgate,2125550100,kind=ai' },
})

const entered = (id: string) => ({ type: 'StasisStart', channel: channel(id), args: [id] })

/** A connection whose every word is kept, and a way to wait for one. */
class Attached {
  readonly said: string[] = []
  readonly logged: { level: string; message: string; fields: LogFields }[] = []
  readonly told: string[] = []
  readonly events: [name: string, ...given: unknown[]][] = []
  readonly connection: AriConnection
  #wake = new Set<() => void>()
  throwing = new Set<string>()

  constructor(fake: FakeAsterisk, limits: Partial<AriLimits>, server: object) {
    fake.changed = () => this.#changed()
    const log =
      (level: string) =>
      (message: string, fields: LogFields = {}) => {
        this.logged.push({ level, message, fields })
        this.#changed()
      }
    const options: AriConnectionOptions = {
      server: { name: 'pbx-1', url: fake.url, ...user, app: 'callgate', ...server },
      timeouts: {
        connectTimeoutMs: 5_000,
        actionTimeoutMs: 60_000,
        pongTimeoutMs: 5_000,
        ...limits,
      },
      clock: testClock(now),
      log: { error: log('error'), warn: log('warn'), info: log('info'), debug: log('debug') },
      observer: {
        connected: (up) => this.#tell(up ? 'up' : 'down'),
        reconnected: () => this.#tell('reconnected'),
      },
    } satisfies { log: Logger } & AriConnectionOptions
    this.connection = new AriConnection(options)
  }

  disconnects = 0

  start(): this {
    const take =
      (name: string) =>
      (...given: readonly unknown[]) => {
        this.events.push([name, ...given])
        this.#changed()
        if (this.throwing.has(name)) throw new Error(`no ${name} today`)
      }
    const onDisconnected = () => {
      this.disconnects += 1
    }
    const events: AsteriskEvents = {
      onChannelEntered: take('entered'),
      onChannelLeft: take('left'),
      onChannelOffered: take('offered'),
      onDial: take('dial'),
      onUnseenDial: take('dialUnseen'),
      onChannelEnded: take('ended'),
      onResynchronized: take('resynchronized'),
      onDisconnected,
    }
    this.connection.start(events)
    return this
  }

  /** Resolves as soon as it is so; looked at whenever anything is said, sent or logged. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        this.#wake.add(resolve)
      })
    }
  }

  ready(): Promise<void> {
    return this.until(() => this.connection.readiness().ready)
  }

  given(name: string): readonly unknown[][] {
    return this.events.filter(([event]) => event === name).map(([, ...given]) => given)
  }

  levels(level: string): readonly string[] {
    return this.logged.filter((line) => line.level === level).map(({ message }) => message)
  }

  problems(): readonly unknown[] {
    return this.logged.flatMap(({ fields }) => fields.problem ?? [])
  }

  #tell(word: string): void {
    this.told.push(word)
    this.#changed()
  }

  #changed(): void {
    // After the one who tells has done: readiness is set before the word, records after it.
    setImmediate(() => {
      const waiting = [...this.#wake]
      this.#wake.clear()
      for (const resolve of waiting) resolve()
    })
  }
}

const running: { close(): Promise<void> }[] = []

afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one.close()
  vi.restoreAllMocks()
})

async function anAsterisk(port?: number): Promise<FakeAsterisk> {
  const fake = await new FakeAsterisk().listen(port)
  running.push(fake)
  return fake
}

function attach(
  fake: FakeAsterisk,
  limits: Partial<AriLimits> = {},
  server: object = {},
): Attached {
  const attached = new Attached(fake, limits, server)
  running.push(attached.connection)
  return attached.start()
}

async function anAttached(limits: Partial<AriLimits> = {}, takesSocketRequests = false) {
  const fake = await anAsterisk()
  fake.takesSocketRequests = takesSocketRequests
  const attached = attach(fake, limits)
  await attached.ready()
  return { fake, attached, connection: attached.connection }
}

const kindOf = (action: Promise<unknown>) =>
  action.then(
    (value) => `done ${value}`,
    (error: unknown) => (error instanceof AriError ? error.kind : `no AriError: ${error}`),
  )

describe('a connection', () => {
  it('registers for all events, filters them, lists the channels, and then is ready', async () => {
    const fake = await anAsterisk()
    fake.channels = [channel('a'), channel('b')]
    const attached = attach(fake)
    expect(attached.connection.readiness()).toEqual({ ready: false, detail: 'connecting' })
    await attached.ready()
    expect(attached.connection.readiness()).toEqual({ ready: true, detail: 'connected' })
    expect(fake.registrations).toEqual(['callgate true'])
    const operations = fake.requests.map(({ operation }) => operation)
    expect(operations.filter((name) => !name.startsWith('api-docs/'))).toEqual([
      'applications.filter',
      'channels.list',
    ])
    expect(fake.of('applications.filter')[0]).toMatchObject({
      path: '/ari/applications/callgate/eventFilter',
      body: {
        allowed: [
          { type: 'StasisStart' },
          { type: 'StasisEnd' },
          { type: 'CallBroadcast' },
          { type: 'Dial' },
          { type: 'ChannelDestroyed' },
          { type: 'ApplicationReplaced' },
          { type: 'RESTResponse' },
        ],
      },
    })
    expect(attached.events).toEqual([['resynchronized', [read('a'), read('b')]]])
    expect(attached.told).toEqual(['up'])
    expect(attached.levels('info')).toEqual(['connected to Asterisk'])
  })

  it('hands on what comes before the list of channels, in its order', async () => {
    const fake = await anAsterisk()
    let giveList: (answer: { status: number; body: unknown }) => void = () => undefined
    const list = new Promise<{ status: number; body: unknown }>((resolve) => {
      giveList = resolve
    })
    fake.next('channels.list', list)
    const attached = attach(fake)
    await attached.until(() => fake.of('channels.list').length === 1)
    fake.send(entered('a'))
    fake.send({ type: 'StasisEnd', channel: channel('a') })
    await attached.until(() => attached.events.length === 2)
    expect(attached.connection.readiness().ready).toBe(false)
    giveList({ status: 200, body: [] })
    await attached.ready()
    expect(attached.events).toEqual([
      ['entered', read('a'), ['a']],
      ['left', 'a'],
      ['resynchronized', []],
    ])
  })

  it('acts on a channel that enters before the list of channels', async () => {
    const fake = await anAsterisk()
    fake.next('channels.list', 'silence')
    const attached = attach(fake)
    await attached.until(() => fake.of('channels.list').length === 1)
    await attached.connection.resume('a')
    expect(fake.of('channels.continueInDialplan')).toHaveLength(1)
  })

  it('leaves out a channel of the list that it cannot read', async () => {
    const fake = await anAsterisk()
    fake.channels = [channel('a'), { id: 'b' }, 'c', channel('d')]
    const attached = attach(fake)
    await attached.ready()
    expect(attached.given('resynchronized')).toEqual([[[read('a'), read('d')]]])
    expect(attached.levels('warn')).toHaveLength(2)
  })

  it('writes nothing to standard output by itself', async () => {
    const print = vi.spyOn(console, 'log')
    await anAttached()
    expect(print).not.toHaveBeenCalled()
  })
})

describe('an event', () => {
  const timestamp = '2026-11-20T21:31:56.613+0000'
  const at = instant('2026-11-20T21:31:56.613Z')
  const dial = { type: 'Dial', dialstatus: '', dialstring: '2125550100@carrier-a' }
  const plain = { id: 'p', name: 'x', caller: { number: '' }, dialplan: { app_name: '' } }
  const plainRead = {
    id: 'p',
    name: 'x',
    callerNumber: '',
    variables: {},
    application: undefined,
  }
  const table: [what: string, raw: object, name: string, ...given: unknown[]][] = [
    ['a channel enters', entered('a'), 'entered', read('a'), ['a']],
    ['a channel enters without arguments', { ...entered('a'), args: [] }, 'entered', read('a'), []],
    ['a channel leaves', { type: 'StasisEnd', channel: channel('a') }, 'left', 'a'],
    [
      'a channel is offered',
      { type: 'CallBroadcast', channel: channel('a') },
      'offered',
      read('a'),
    ],
    [
      'a leg is dialled for a channel',
      { ...dial, timestamp, caller: channel('a'), peer: plain },
      'dial',
      {
        status: '',
        dialString: '2125550100@carrier-a',
        caller: read('a'),
        peer: plainRead,
        at,
      },
    ],
    ['a leg is dialled that Asterisk cannot tell', dial, 'dialUnseen', '2125550100@carrier-a'],
    [
      'an originated leg is answered',
      { type: 'Dial', timestamp, dialstatus: 'ANSWER', peer: plain },
      'dial',
      { status: 'ANSWER', dialString: '', caller: undefined, peer: plainRead, at },
    ],
    [
      'a dial has no readable time',
      { ...dial, timestamp: 'now', peer: plain },
      'dial',
      {
        status: '',
        dialString: '2125550100@carrier-a',
        caller: undefined,
        peer: plainRead,
        at: instant(now),
      },
    ],
    [
      'a channel ends',
      { type: 'ChannelDestroyed', timestamp, cause: 21, channel: channel('a') },
      'ended',
      'a',
      21,
      at,
    ],
  ]
  it.each(table)('is handed on: %s', async (_what, raw, name: string, ...given: unknown[]) => {
    const { fake, attached } = await anAttached()
    fake.send(raw)
    await attached.until(() => attached.given(name).length === 1)
    expect(attached.given(name)).toEqual([given])
  })

  const unusable: readonly (readonly [what: string, message: unknown, logged: boolean])[] = [
    ['no JSON', '{"type":"Stasis', true],
    ['a list', '[1]', true],
    ['null', 'null', true],
    ['no type', { channel: channel('x') }, true],
    ['a type the API description lacks', { type: 'SomethingNew', channel: channel('x') }, false],
    ['a type nobody asked for', { type: 'ChannelVarset', channel: channel('x') }, false],
    ['no channel', { type: 'StasisStart', args: [] }, true],
    ['a channel without an id', { ...entered('x'), channel: { ...channel('x'), id: 1 } }, true],
    [
      'a channel without a caller',
      { ...entered('x'), channel: channel('x', { caller: null }) },
      true,
    ],
    [
      'a variable that is no text',
      { ...entered('x'), channel: channel('x', { channelvars: { A: 1 } }) },
      true,
    ],
    ['no arguments', { type: 'StasisStart', channel: channel('x') }, true],
    ['an argument that is no text', { ...entered('x'), args: ['x', 1] }, true],
    ['a later dial without a peer', { ...dial, dialstatus: 'RINGING' }, true],
    ['an end without a cause', { type: 'ChannelDestroyed', channel: channel('x') }, true],
  ]
  it.each(unusable)(
    'is dropped when it has %s; the next one comes',
    async (_w, message, logged) => {
      const { fake, attached } = await anAttached()
      fake.send(message)
      fake.send(entered('next'))
      await attached.until(() => attached.given('entered').length === 1)
      expect(attached.events.map(([name]) => name)).toEqual(['resynchronized', 'entered'])
      expect(attached.levels('warn')).toHaveLength(logged ? 1 : 0)
      expect(attached.connection.readiness().ready).toBe(true)
    },
  )

  it('that its handler cannot take is logged; the next one comes', async () => {
    const { fake, attached } = await anAttached()
    attached.throwing.add('entered')
    fake.send(entered('a'))
    fake.send({ type: 'StasisEnd', channel: channel('a') })
    await attached.until(() => attached.given('left').length === 1)
    expect(attached.logged.at(-1)).toMatchObject({
      level: 'error',
      message: 'an event from Asterisk could not be handled',
      fields: { server: 'pbx-1', event: 'StasisStart' },
    })
  })
})

describe('an Asterisk that cannot be had', () => {
  const refused = (status: number) => ({ status, body: { message: 'no' } })

  it('because of its password is an error, told once and without it, until it is right', async () => {
    const fake = await anAsterisk()
    fake.password = 'another'
    const attached = attach(fake)
    await attached.until(() => fake.of('api-docs/events.json').length === 3)
    const problem =
      "refuses the user 'callgate' or its password (HTTP 401): both must match ari.conf"
    expect(attached.logged).toEqual([
      {
        level: 'error',
        message: 'not connected to Asterisk',
        fields: { server: 'pbx-1', url: fake.url, problem },
      },
    ])
    expect(attached.connection.readiness()).toEqual({ ready: false, detail: problem })
    fake.password = user.password
    await attached.ready()
    expect(attached.told).toEqual(['up'])
  })

  it('because its user may only read is an error that says so', async () => {
    const fake = await anAsterisk()
    fake.next('applications.filter', refused(403))
    const attached = attach(fake)
    await attached.ready()
    expect(attached.levels('error')).toEqual(['not connected to Asterisk'])
    expect(attached.problems()).toEqual([
      "allows the user 'callgate' only to read (HTTP 403): set read_only = no in ari.conf",
    ])
  })

  const events = 'api-docs/events.json'
  const healing: readonly (readonly [string, string, readonly FakeAnswer[], readonly string[]])[] =
    [
      [
        'while it boots',
        events,
        [refused(404), refused(503)],
        ['answers with HTTP 404: no', 'answers with HTTP 503: no'],
      ],
      ['that resets', events, ['reset'], ['read ECONNRESET']],
      [
        'that speaks no JSON',
        events,
        [{ status: 200, body: '<html>' }],
        ['answers with HTTP 200: the answer is not from ARI'],
      ],
      [
        'whose description breaks off',
        'api-docs/channels.json',
        [refused(503)],
        ['answers with HTTP 503: no'],
      ],
      [
        'whose description is no JSON',
        'api-docs/channels.json',
        [{ status: 200, body: '<html>' }],
        ['answers with HTTP 200: the answer is not from ARI'],
      ],
      ['whose description resets', 'api-docs/channels.json', ['reset'], ['read ECONNRESET']],
      [
        'that refuses the filter',
        'applications.filter',
        [refused(500)],
        ['answers with HTTP 500: no'],
      ],
      [
        'that is not there for the list',
        'channels.list',
        [refused(503)],
        ['answers with HTTP 503: no'],
      ],
      [
        'whose list is no JSON',
        'channels.list',
        [{ status: 200, body: '<html>' }],
        ['answers with HTTP 200: the answer is not from ARI'],
      ],
    ]
  it.each(healing)('%s is tried again', async (_what, operation, answers, problems) => {
    const fake = await anAsterisk()
    fake.next(operation, ...answers)
    const attached = attach(fake)
    await attached.ready()
    expect(attached.problems()).toEqual(problems)
    expect(attached.levels('error')).toEqual([])
    expect(attached.told).toEqual(['up'])
    expect(fake.attached).toBe(1)
  })

  it('that cannot list its channels is connected all the same, which is an error', async () => {
    const fake = await anAsterisk()
    fake.next('channels.list', refused(500))
    const attached = attach(fake)
    await attached.ready()
    expect(attached.given('resynchronized')).toEqual([])
    expect(attached.levels('error')).toEqual([
      'Asterisk cannot list its channels, so waiting calls are not taken over',
    ])
    expect(attached.problems()).toEqual(['answers with HTTP 500: no'])
    expect(attached.disconnects).toBe(0)
  })

  it('because nobody listens is tried again', async () => {
    const fake = await anAsterisk()
    const port = Number(new URL(fake.url).port)
    const attached = attach(fake)
    await fake.close()
    await attached.until(() => attached.logged.length > 0)
    expect(attached.problems()).toEqual([`connect ECONNREFUSED 127.0.0.1:${port}`])
    const later = await anAsterisk(port)
    later.changed = fake.changed
    await attached.ready()
  })

  const silent = ['api-docs/events.json', 'api-docs/channels.json', 'channels.list']
  it.each(silent)('that stays silent at %s is given up at the limit', async (operation) => {
    const fake = await anAsterisk()
    fake.next(operation, 'silence')
    const attached = attach(fake, { connectTimeoutMs: 400 })
    await attached.ready()
    expect(attached.problems()).toEqual(['did not connect within 400 ms'])
    expect(fake.attached).toBe(1)
  })

  it('that accepts all and says nothing is not connected', async () => {
    const fake = await anAsterisk()
    fake.frozen = true
    const attached = attach(fake, { connectTimeoutMs: 50 })
    await attached.until(() => fake.requests.length === 2)
    expect(attached.problems()).toEqual(['did not connect within 50 ms'])
    fake.frozen = false
  })
})

describe('a lost connection', () => {
  it('is not ready at once, and is made anew with its filter and list of channels', async () => {
    const { fake, attached, connection } = await anAttached({ pongTimeoutMs: 300 })
    fake.channels = [channel('a')]
    fake.drop()
    await attached.until(() => attached.told.includes('down'))
    expect(connection.readiness()).toEqual({
      ready: false,
      detail: 'event socket closed with code 1005',
    })
    expect(await kindOf(connection.resume('a'))).toBe('disconnected')
    await attached.ready()
    expect(attached.told).toEqual(['up', 'down', 'reconnected', 'up'])
    expect(fake.of('applications.filter')).toHaveLength(2)
    expect(attached.given('resynchronized')).toEqual([[[]], [[read('a')]]])
    fake.send(entered('b'))
    await attached.until(() => attached.given('entered').length === 1)
    // The library would have opened a socket of its own 100 ms after the loss.
    const pings = fake.pings
    await attached.until(() => fake.pings > pings + 3)
    expect(fake.registrations).toHaveLength(2)
    expect(attached.given('entered')).toHaveLength(1)
  })

  it('is noticed when Asterisk freezes, and heals when it goes on', async () => {
    const { fake, attached, connection } = await anAttached({
      pongTimeoutMs: 150,
      connectTimeoutMs: 150,
    })
    fake.frozen = true
    const waiting = kindOf(connection.resume('a'))
    await attached.until(() => attached.told.includes('down'))
    expect(connection.readiness().detail).toBe('event socket has been silent for 150 ms')
    expect(await waiting).toBe('timed-out')
    expect(await kindOf(connection.resume('a'))).toBe('disconnected')
    fake.frozen = false
    await attached.ready()
    expect(attached.told).toEqual(['up', 'down', 'reconnected', 'up'])
  })

  it('tells each kind of failure once, and again after it was up', async () => {
    const { fake, attached } = await anAttached()
    const no = { status: 503, body: {} }
    fake.next('api-docs/events.json', no, no)
    fake.drop()
    await attached.until(() => attached.told.length === 4)
    fake.next('api-docs/events.json', no)
    fake.drop()
    await attached.until(() => attached.told.length === 7)
    const lost = 'event socket closed with code 1005'
    const unavailable = 'answers with HTTP 503: Service Unavailable'
    expect(attached.problems()).toEqual([lost, unavailable, lost, unavailable])
  })
})

describe('an application taken by another program', () => {
  const replaced = (application: string) => ({ type: 'ApplicationReplaced', application })

  it('is an alarm and not ready; there is no fight for the name', async () => {
    const { fake, attached, connection } = await anAttached({ pongTimeoutMs: 90 })
    fake.send(replaced('callgate'))
    await attached.until(() => attached.told.includes('down'))
    expect(connection.readiness()).toEqual({
      ready: false,
      detail: "another program has taken the application 'callgate'",
    })
    expect(attached.logged.at(-1)).toMatchObject({
      level: 'error',
      fields: { server: 'pbx-1', app: 'callgate' },
    })
    const pings = fake.pings
    await attached.until(() => fake.pings > pings + 8)
    expect(fake.registrations).toHaveLength(1)
    expect(connection.readiness().ready).toBe(false)
    fake.drop()
    await attached.ready()
    expect(attached.told).toEqual(['up', 'down', 'reconnected', 'up'])
  })

  it('before it is ready keeps it from being so', async () => {
    const fake = await anAsterisk()
    fake.next('channels.list', 'silence')
    const attached = attach(fake, { connectTimeoutMs: 500 })
    await attached.until(() => fake.of('channels.list').length === 1)
    fake.send(replaced('callgate'))
    await attached.until(() => attached.levels('error').length === 1)
    expect(attached.connection.readiness().detail).toMatch(/^another program/)
  })

  it('is nothing to us when it is another application', async () => {
    const { fake, attached, connection } = await anAttached()
    fake.send(replaced('callgate-b'))
    fake.send(entered('a'))
    await attached.until(() => attached.given('entered').length === 1)
    expect(connection.readiness().ready).toBe(true)
  })
})

/** How requests come to Asterisk. */
const ways = [
  ['over HTTP', false],
  ['over the event socket', true],
] as const

describe.each(ways)('an action, %s,', (_way, overSocket) => {
  type Act = (connection: AriConnection) => Promise<unknown>
  const place = { context: 'announce', extension: 's', priority: 2 }
  const requests: readonly (readonly [string, Act, string, string, Record<string, string>])[] = [
    [
      'setting one variable',
      (on) => on.setVariables('17.1', { CALLGATE_ID: 'a-b.c:d+e_f' }),
      'channels.setChannelVar',
      '/ari/channels/17.1/variable',
      { variable: 'CALLGATE_ID', value: 'a-b.c:d+e_f' },
    ],
    [
      'setting several variables at once',
      (on) => on.setVariables('17.1', { A: '1', B: '', _C: '3' }),
      'channels.setChannelVar',
      '/ari/channels/17.1/variable',
      { variable: 'ARRAY(A,B,_C)', value: '1,,3' },
    ],
    [
      'reading a variable',
      (on) => on.getVariable('a/b', 'KIND'),
      'channels.getChannelVar',
      '/ari/channels/a%2Fb/variable',
      { variable: 'KIND' },
    ],
    [
      'letting the dialplan go on',
      (on) => on.resume('17.1'),
      'channels.continueInDialplan',
      '/ari/channels/17.1/continue',
      {},
    ],
    [
      'letting the dialplan go on at a place',
      (on) => on.resume('17.1', place),
      'channels.continueInDialplan',
      '/ari/channels/17.1/continue',
      { context: 'announce', extension: 's', priority: '2' },
    ],
    [
      'hanging up',
      (on) => on.hangup('17.1', 'congestion'),
      'channels.hangup',
      '/ari/channels/17.1',
      { reason: 'congestion' },
    ],
    [
      'claiming a channel',
      (on) => on.claim('17.1'),
      'events.claimChannel',
      '/ari/events/claim',
      { channelId: '17.1', application: 'callgate' },
    ],
  ]
  it.each(requests)('%s is one request', async (_what, act, operation, path, query) => {
    const { fake, connection } = await anAttached({}, overSocket)
    const before = fake.requests.length
    await act(connection)
    const way = overSocket ? { overSocket } : {}
    expect(fake.requests.slice(before)).toEqual([
      { operation, path, query, body: undefined, ...way },
    ])
  })

  it('setting no variable asks nothing', async () => {
    const { fake, connection } = await anAttached({}, overSocket)
    const before = fake.requests.length
    await connection.setVariables('a', {})
    expect(fake.requests).toHaveLength(before)
  })

  const message = (text: string) => ({ message: text })
  const answers: readonly (readonly [string, Act, string, FakeAnswer, string])[] = [
    [
      'a channel that is gone',
      (on) => on.resume('a'),
      'channels.continueInDialplan',
      { status: 404, body: message('Channel not found') },
      'gone',
    ],
    [
      'a channel in no state for it',
      (on) => on.resume('a'),
      'channels.continueInDialplan',
      { status: 412, body: message('Channel in invalid state') },
      'refused',
    ],
    [
      'a channel that went on before it was told',
      (on) => on.setVariables('a', { A: '1' }),
      'channels.setChannelVar',
      { status: 409, body: message('Channel not in Stasis application') },
      'gone',
    ],
    [
      'a channel that went on before it was let go',
      (on) => on.resume('a'),
      'channels.continueInDialplan',
      { status: 409, body: message('Channel not in Stasis application') },
      'gone',
    ],
    [
      'a hang-up that is refused as a conflict',
      (on) => on.hangup('a', 'rejected'),
      'channels.hangup',
      { status: 409, body: message('Conflict') },
      'refused',
    ],
    [
      'an Asterisk in trouble',
      (on) => on.hangup('a', 'rejected'),
      'channels.hangup',
      { status: 500, body: 'oops' },
      'refused',
    ],
    [
      'a variable that is set',
      (on) => on.getVariable('a', 'KIND'),
      'channels.getChannelVar',
      { status: 200, body: { value: 'ai' } },
      'done ai',
    ],
    [
      'a variable that is not set',
      (on) => on.getVariable('a', 'KIND'),
      'channels.getChannelVar',
      { status: 404, body: message('Provided variable was not found') },
      'done undefined',
    ],
    [
      'a variable of a channel that is gone',
      (on) => on.getVariable('a', 'KIND'),
      'channels.getChannelVar',
      { status: 404, body: message('Channel not found') },
      'gone',
    ],
    [
      'an answer that is none',
      (on) => on.getVariable('a', 'KIND'),
      'channels.getChannelVar',
      { status: 200, body: '<html>' },
      'refused',
    ],
    [
      'a channel claimed by us',
      (on) => on.claim('a'),
      'events.claimChannel',
      { status: 204 },
      'done true',
    ],
    [
      'a channel claimed by another',
      (on) => on.claim('a'),
      'events.claimChannel',
      { status: 409, body: message('Channel has already been claimed') },
      'done false',
    ],
    [
      'a channel nobody offers any more',
      (on) => on.claim('a'),
      'events.claimChannel',
      { status: 404, body: message('Channel not found or not in broadcast state') },
      'gone',
    ],
    [
      'a connection that breaks',
      (on) => on.resume('a'),
      'channels.continueInDialplan',
      'reset',
      'timed-out',
    ],
  ]
  it.each(answers)('meets %s', async (_what, act, operation, answer, outcome) => {
    const { fake, connection } = await anAttached({}, overSocket)
    fake.next(operation, answer)
    expect(await kindOf(act(connection))).toBe(outcome)
  })

  it('that Asterisk does not answer fails at its limit', async () => {
    const { fake, connection } = await anAttached({ actionTimeoutMs: 30 }, overSocket)
    fake.next('channels.hangup', 'silence')
    await expect(connection.hangup('a', 'rejected')).rejects.toThrow(
      new AriError('timed-out', 'channels.hangup', 'no answer in time'),
    )
    expect(await kindOf(connection.hangup('a', 'rejected'))).toBe('done undefined')
  })

  it('is refused where this Asterisk does not support the operation', async () => {
    const fake = await anAsterisk()
    fake.canClaim = false
    const attached = attach(fake)
    await attached.ready()
    await expect(attached.connection.claim('a')).rejects.toThrow(
      new AriError(
        'refused',
        'events.claimChannel',
        'this Asterisk does not support the operation',
      ),
    )
  })

  it('without a channel id is refused', async () => {
    const { connection } = await anAttached({}, overSocket)
    expect(await kindOf(connection.resume(''))).toBe('refused')
  })

  const unfit: readonly (readonly [string, Record<string, string>])[] = [
    ['a comma, which parts values', { A: '1', B: '2,3' }],
    ['a quote', { A: '"' }],
    ['a backslash', { A: '\\' }],
    ['a dollar', { A: '$' }],
    ['a space', { A: 'a b' }],
    ['a line end', { A: 'a\n' }],
    ['a function as a name', { 'SHELL(ls)': '' }],
    ['a name that begins with a digit', { '1A': '' }],
    ['an empty name', { '': '' }],
    ['a comma in a name', { 'A,B': '1' }],
  ]
  it.each(unfit)('with %s is refused before anything is sent', async (_what, values) => {
    const { fake, connection } = await anAttached({}, overSocket)
    const before = fake.requests.length
    expect(await kindOf(connection.setVariables('a', values))).toBe('refused')
    expect(fake.requests).toHaveLength(before)
  })

  it('is one of a thousand, all answered', async () => {
    const { fake, connection } = await anAttached({}, overSocket)
    const ids = Array.from({ length: 1000 }, (_, index) => String(index))
    await Promise.all(ids.map((id) => connection.resume(id)))
    expect(fake.of('channels.continueInDialplan')).toHaveLength(1000)
  })

  it('that has no answer when the connection is lost may have been carried out', async () => {
    const { fake, attached, connection } = await anAttached({}, overSocket)
    fake.next('channels.hangup', 'silence')
    const kind = kindOf(connection.hangup('early', 'rejected'))
    await attached.until(() => fake.of('channels.hangup').length === 1)
    fake.drop()
    expect(await kind).toBe('timed-out')
    await attached.ready()
    expect(await kindOf(connection.hangup('late', 'rejected'))).toBe('done undefined')
    expect(fake.of('channels.hangup')).toHaveLength(2)
  })

  it('is disconnected before the start and after the end', async () => {
    const fake = await anAsterisk()
    const { connection } = new Attached(fake, {}, {})
    expect(await kindOf(connection.resume('a'))).toBe('disconnected')
    await connection.close()
    expect(await kindOf(connection.resume('a'))).toBe('disconnected')
    expect(fake.requests).toEqual([])
  })
})

describe('an action over HTTP', () => {
  it('that has no answer at its limit is given up', async () => {
    const { fake, attached, connection } = await anAttached({ actionTimeoutMs: 30 })
    fake.next('channels.hangup', 'silence')
    await expect(connection.hangup('a', 'rejected')).rejects.toThrow(
      new AriError('timed-out', 'channels.hangup', 'no answer in time'),
    )
    await attached.until(() => fake.abandoned === 1)
    expect(await kindOf(connection.hangup('a', 'rejected'))).toBe('done undefined')
  })

  it('is one of a thousand, all answered over few connections', async () => {
    const { fake, connection } = await anAttached()
    const ids = Array.from({ length: 1000 }, (_, index) => String(index))
    await Promise.all(ids.map((id) => connection.resume(id)))
    expect(fake.of('channels.continueInDialplan')).toHaveLength(1000)
    expect(fake.mostUnderWay).toBeLessThanOrEqual(32)
  })

  it('that never got its turn before the connection was lost is not sent later', async () => {
    const { fake, attached, connection } = await anAttached()
    fake.next('channels.hangup', ...Array.from({ length: 32 }, () => 'silence' as const))
    const ids = Array.from({ length: 50 }, (_, index) => `early-${index}`)
    const kinds = Promise.all(ids.map((id) => kindOf(connection.hangup(id, 'rejected'))))
    await attached.until(() => fake.of('channels.hangup').length === 32)
    fake.drop()
    expect(await kinds).toEqual(ids.map((_, index) => (index < 32 ? 'timed-out' : 'disconnected')))
    await attached.ready()
    expect(await kindOf(connection.hangup('late', 'rejected'))).toBe('done undefined')
    expect(fake.of('channels.hangup')).toHaveLength(33)
  })
})

describe('two servers', () => {
  it('each have their own user and password', async () => {
    const [one, other] = await Promise.all([anAsterisk(), anAsterisk()])
    other.password = 'of the other'
    const first = attach(one)
    const second = attach(other, {}, { name: 'pbx-2', password: other.password })
    await Promise.all([first.ready(), second.ready()])
    await first.connection.resume('a')
    await second.connection.resume('b')
    await first.connection.resume('c')
    const paths = (fake: FakeAsterisk) =>
      fake.of('channels.continueInDialplan').map(({ path }) => path)
    expect(paths(one)).toEqual(['/ari/channels/a/continue', '/ari/channels/c/continue'])
    expect(paths(other)).toEqual(['/ari/channels/b/continue'])
    expect([...first.logged, ...second.logged].map(({ level }) => level)).toEqual(['info', 'info'])
  })
})

describe('closing', () => {
  const stages: readonly (readonly [
    string,
    (fake: FakeAsterisk, one: Attached) => Promise<void>,
  ])[] = [
    ['while it is connected', (_fake, one) => one.ready()],
    [
      'between two attempts',
      async (fake, one) => {
        fake.password = 'another'
        await one.until(() => one.logged.length === 1)
      },
    ],
    [
      'while it waits for an answer',
      async (fake, one) => {
        fake.frozen = true
        await one.until(() => fake.requests.length > 0)
      },
    ],
  ]
  it.each(stages)('%s leaves no connection and no attempt', async (_stage, reach) => {
    const fake = await anAsterisk()
    const attached = attach(fake)
    await reach(fake, attached)
    await attached.connection.close()
    expect(attached.connection.readiness()).toEqual({ ready: false, detail: 'closed' })
    const before = fake.requests.length
    await attached.until(() => fake.attached === 0 && fake.underWay === 0)
    // The library's first question leaves an idle connection behind, which Asterisk closes.
    while ((await fake.connections()) > 1) await new Promise(setImmediate)
    expect(fake.requests).toHaveLength(before)
  })
})
