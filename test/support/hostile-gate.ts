/**
 * A server that answers a request for a decision in one of many wrong ways, named by the first part of its
 * path: `POST /<case>/v1/decisions`. The clients of every language are tested with it.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'

/** What a client must return. */
type Expected = 'allowed' | 'blocked' | 'undecided' | 'timeout'

export const hostileKey = 'hostile-key-0123456789-0123456789-0123456789'

interface Asked {
  readonly number: string
  readonly callKind: string
  readonly approvalId?: string | undefined
}

type Answer = string | Buffer | ((socket: Socket) => void)

interface HostileCase {
  readonly expected: Expected
  answer(asked: Asked, origin: string): Answer
}

const instant = (ms: number) => new Date(ms).toISOString()
const httpDate = (ms: number) => new Date(ms).toUTCString()
const hour = 3_600_000

/** An allow that every client must believe. */
export function soundBody({ number, callKind }: Asked, changes: object = {}): object {
  const now = Date.now()
  return {
    id: 'd1',
    decision: 'allow',
    reason: 'permitted',
    message: 'every check passed',
    number,
    dial: number,
    callKind,
    decidedAt: instant(now),
    judgedAt: instant(now),
    validUntil: instant(now + 60_000),
    whatIf: false,
    degraded: [],
    findings: [
      {
        ...{ check: 'litigator', verdict: 'pass', reason: 'permitted' },
        ...{ detail: 'not on the litigator list', says: [{ code: 'no-litigator' }] },
      },
    ],
    accountId: 'main',
    via: 'http',
    dialed: number,
    ...changes,
  }
}

function reply(
  body: string | Buffer,
  { status = '200 OK', headers = {} }: { status?: string; headers?: object } = {},
): Buffer {
  const all = {
    Date: httpDate(Date.now()),
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
    ...headers,
  }
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one) => `${name}: ${one}\r\n`),
  )
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`),
    Buffer.from(body as string),
  ])
}

/** A sound allow but for some members. */
function allowWith(
  changes: object | (() => object),
  expected: Expected = 'undecided',
): HostileCase {
  const listChanges = () => (typeof changes === 'function' ? changes() : changes)
  return { expected, answer: (asked) => reply(JSON.stringify(soundBody(asked, listChanges()))) }
}

/** A sound allow in another envelope. */
function enveloped(envelope: Parameters<typeof reply>[1]): HostileCase {
  return {
    expected: 'undecided',
    answer: (asked) => reply(JSON.stringify(soundBody(asked)), envelope),
  }
}

/** A text made of a sound allow. */
function edited(edit: (text: string) => string | Buffer, headers: object = {}): HostileCase {
  return {
    expected: 'undecided',
    answer: (asked) => reply(edit(JSON.stringify(soundBody(asked))), { headers }),
  }
}

const raw = (answer: Answer, expected: Expected = 'undecided'): HostileCase => ({
  expected,
  answer: () => answer,
})

/** One byte after another, each in time for a timeout that counts from the last. */
const drip = (from: number): HostileCase => ({
  expected: 'timeout',
  answer: (asked) => (socket) => {
    const bytes = reply(JSON.stringify(soundBody(asked)))
    socket.write(bytes.subarray(0, from))
    let at = from
    const timer = setInterval(() => socket.write(bytes.subarray(at, ++at)), 20)
    socket.once('close', () => clearInterval(timer))
  },
})

/** More of the same until the client hangs up. */
const endless = (head: string, part: Buffer): HostileCase => ({
  expected: 'undecided',
  answer: () => (socket) => {
    socket.write(head)
    const more = () => {
      while (socket.writable && socket.write(part));
    }
    socket.on('drain', more)
    more()
  },
})

const html = '<!doctype html><title>Sign in</title>{"decision":"allow"}'

export const hostileCases: Readonly<Record<string, HostileCase>> = {
  sound: allowWith({}, 'allowed'),
  'sandbox-of-another-time': allowWith(
    { accountId: 'sandbox', judgedAt: '2020-01-01T00:00:00Z', validUntil: '2020-01-01T00:01:00Z' },
    'allowed',
  ),
  'slow-proxy-clock': {
    expected: 'allowed',
    answer: (asked) =>
      reply(JSON.stringify(soundBody(asked)), {
        headers: { Date: httpDate(Date.now() - hour / 2) },
      }),
  },
  block: allowWith({ decision: 'block', reason: 'no-consent', dial: undefined }, 'blocked'),
  // Allowed once the request names the approval.
  waits: {
    expected: 'blocked',
    answer: (asked) => {
      const approval = { id: 'ap-1', expiresAt: '2026-11-23T17:15:00.000Z' }
      const waiting = { reason: 'approval-needed', decision: 'block', dial: undefined }
      const changes =
        asked.approvalId === approval.id
          ? { mandate: { version: 1, remaining: { hour: 2 }, approval } }
          : { ...waiting, mandate: { version: 1, approval } }
      return reply(JSON.stringify(soundBody(asked, changes)))
    },
  },
  'strange-mandate': allowWith(
    { mandate: { remaining: { hour: '9', day: null }, approval: ['ap-1'] } },
    'allowed',
  ),
  'block-of-strange-mandate': allowWith(
    { decision: 'block', dial: undefined, mandate: { approval: { id: 1 }, decision: 'allow' } },
    'blocked',
  ),
  'block-of-no-number': allowWith(
    { decision: 'block', reason: 'invalid-number', number: '', dial: undefined },
    'blocked',
  ),
  'block-of-another-number': allowWith({ decision: 'block', number: '2125550199' }),
  'other-number': allowWith({ number: '2125550199', dial: '2125550199' }),
  'other-number-to-dial': allowWith({ dial: '2125550199' }),
  'nothing-to-dial': allowWith({ dial: undefined }),
  'no-number': allowWith({ number: undefined, dial: undefined }),
  'empty-number': allowWith({ number: '', dial: '' }),
  'number-of-json': allowWith(() => ({ number: 2_125_550_106, dial: 2_125_550_106 })),
  'other-kind': allowWith({ callKind: 'manual' }),
  'what-if': allowWith({ whatIf: true }),
  'what-if-as-text': allowWith({ whatIf: 'false' }),
  'what-if-unknown': allowWith({ whatIf: undefined }),
  'decision-in-capitals': allowWith({ decision: 'ALLOW' }),
  'decision-in-a-list': allowWith({ decision: ['allow'] }),
  'decision-true': allowWith({ decision: true }),
  'decision-missing': allowWith({ decision: undefined }),
  'id-missing': allowWith({ id: undefined }),
  'findings-missing': allowWith({ findings: undefined }),
  'findings-of-text': allowWith({ findings: ['litigator'] }),
  'degraded-missing': allowWith({ degraded: undefined }),
  'with-disclosures': allowWith(
    { disclosures: [{ key: 'identity', rules: ['a rule'] }] },
    'allowed',
  ),
  'disclosures-null': allowWith({ disclosures: null }),
  'disclosures-of-text': allowWith({ disclosures: ['identity'] }),
  'disclosures-without-rules': allowWith({ disclosures: [{ key: 'identity' }] }),
  'disclosures-without-key': allowWith({ disclosures: [{ rules: [] }] }),
  past: allowWith(() => ({ validUntil: instant(Date.now() - hour) })),
  'over-within-the-second': allowWith(() => ({ validUntil: instant(Date.now() + 1) })),
  'a-century': allowWith(() => ({ validUntil: instant(Date.now() + 100 * 365 * 24 * hour) })),
  'a-century-judged-then': allowWith(() => {
    const at = Date.now() + 100 * 365 * 24 * hour
    return { judgedAt: instant(at), validUntil: instant(at + 60_000) }
  }),
  'sandbox-of-a-century': allowWith(() => {
    const at = instant(Date.now() + 100 * 365 * 24 * hour)
    return { accountId: 'sandbox', decidedAt: at }
  }),
  'valid-until-never': allowWith({ validUntil: undefined }),
  'valid-until-words': allowWith({ validUntil: 'tomorrow' }),
  'valid-until-local': allowWith({ validUntil: '2099-01-01T00:00:00' }),
  'valid-until-no-day': allowWith({ validUntil: '2099-99-99T00:00:00Z' }),
  replayed: allowWith(() => {
    const at = instant(Date.now() - hour / 2)
    return { decidedAt: at, judgedAt: at, validUntil: instant(Date.now() - hour / 2 + 60_000) }
  }),
  'from-a-cache': enveloped({ headers: { Age: '1' } }),
  'no-date': enveloped({ headers: { Date: undefined } }),
  'date-words': enveloped({ headers: { Date: 'now' } }),
  'date-ahead': enveloped({ headers: { Date: httpDate(Date.now() + hour) } }),
  'two-dates': enveloped({ headers: { Date: [httpDate(0), httpDate(Date.now())] } }),
  'no-type': enveloped({ headers: { 'Content-Type': undefined } }),
  'text-type': enveloped({ headers: { 'Content-Type': 'text/plain' } }),
  'script-type': enveloped({ headers: { 'Content-Type': 'application/jsonp' } }),
  'html-of-a-proxy': raw(reply(html, { headers: { 'Content-Type': 'text/html' } })),
  'html-as-json': raw(reply(html)),
  ...Object.fromEntries(
    ['201 Created', '202 Accepted', '203 Other', '206 Partial', '400 Bad', '401 No', '403 No']
      .concat(['404 No', '409 No', '429 Slow', '500 Bug', '502 Bad', '503 Busy', '504 Late'])
      .map((status) => [`status-${status.slice(0, 3)}`, enveloped({ status })]),
  ),
  'no-content': raw('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'),
  ...Object.fromEntries(
    ['301', '302', '307', '308'].map((status): [string, HostileCase] => [
      `redirect-${status}`,
      {
        expected: 'undecided',
        answer: (asked, origin) =>
          reply(JSON.stringify(soundBody(asked)), {
            status: `${status} Elsewhere`,
            headers: { Location: `${origin}/sound/v1/decisions` },
          }),
      },
    ]),
  ),
  empty: raw(reply('')),
  null: raw(reply('null')),
  list: edited((text) => `[${text}]`),
  'two-documents': edited((text) => text + text),
  'text-of-json': edited((text) => JSON.stringify(text)),
  'cut-short': {
    expected: 'undecided',
    answer: (asked) => reply(JSON.stringify(soundBody(asked))).subarray(0, -1),
  },
  'decided-twice': edited((text) => text.replace('{', '{"decision":"block",')),
  'decided-twice-at-the-end': edited((text) => text.replace(/\}$/, ',"decision":"allow"}')),
  'decided-twice-in-disguise': edited((text) => text.replace('{', '{"dec\\u0069sion":"block",')),
  'number-twice': edited((text) => text.replace('{', '{"number":"2125550199",')),
  'finding-twice': edited((text) => text.replace('"verdict"', '"verdict":"deny","verdict"')),
  'not-a-number': edited((text) => text.replace('{', '{"more":NaN,')),
  comment: edited((text) => `${text} // allowed`),
  'byte-order-mark': edited((text) => `\uFEFF${text}`),
  'not-utf-8': edited((text) =>
    Buffer.concat([
      Buffer.from(text.slice(0, -1)),
      Buffer.from([0x2c, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    ]),
  ),
  'prototype-polluted': edited((text) => `{"__proto__":${text}}`),
  'constructor-polluted': edited((text) => `{"constructor":{"prototype":${text}}}`),
  'prototype-of-may-dial': allowWith(
    { decision: 'block', mayDial: true, kind: 'allowed' },
    'blocked',
  ),
  deep: raw(reply(`{"more":${'['.repeat(400_000)}`)),
  'deep-and-closed': edited((text) =>
    text.replace('"findings":', `"findings":${'['.repeat(400_000)}${']'.repeat(400_000)},"of":`),
  ),
  'long-text': edited((text) => text.replace('{', `{"id":"${'\\\\'.repeat(400_000)}",`)),
  'long-number': edited((text) => text.replace('{', `{"number":${'9'.repeat(900_000)},`)),
  huge: edited((text) => text.replace('{', `{"more":"${'x'.repeat(2_000_000)}",`)),
  'huge-and-spaces': edited((text) => text + ' '.repeat(2_000_000)),
  'endless-body': endless(
    `HTTP/1.1 200 OK\r\nDate: ${httpDate(0)}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n`,
    Buffer.alloc(65_536, ' '),
  ),
  'endless-head': endless(
    'HTTP/1.1 200 OK\r\n',
    Buffer.from('X-More: of the same\r\n'.repeat(1_000)),
  ),
  'endless-header': endless('HTTP/1.1 200 OK\r\nX-More: ', Buffer.alloc(65_536, 'x')),
  compressed: edited((text) => gzipSync(text), { 'Content-Encoding': 'gzip' }),
  'gzip-bomb': edited(
    (text) => gzipSync(text.replace('{', `{"more":"${'x'.repeat(50_000_000)}",`)),
    { 'Content-Encoding': 'gzip' },
  ),
  'not-http': raw('{"decision":"allow"}\r\n\r\n'),
  'closed-at-once': raw((socket) => void socket.end()),
  reset: raw((socket) => void socket.resetAndDestroy()),
  silent: raw(() => undefined, 'timeout'),
  'slow-head': drip(1),
  'slow-body': drip(300),
  'key-repeated': {
    expected: 'undecided',
    answer: () =>
      reply(JSON.stringify({ detail: `key ${hostileKey} is not valid` }), {
        status: '401 Unauthorized',
        headers: { 'Content-Type': 'application/problem+json' },
      }),
  },
}

export interface HostileGate {
  readonly url: string
  /** Requests that came in, by case. */
  readonly counts: ReadonlyMap<string, number>
  close(): Promise<void>
}

export async function openHostileGate(): Promise<HostileGate> {
  const counts = new Map<string, number>()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
    let received = ''
    const read = (bytes: Buffer) => {
      received += bytes.toString('latin1')
      const [head = '', body] = received.split('\r\n\r\n')
      const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
      if (body === undefined || body.length < length) return
      socket.off('data', read)
      const name = head.split(' ')[1]?.split('/')[1] ?? ''
      counts.set(name, (counts.get(name) ?? 0) + 1)
      const one = hostileCases[name]
      if (!one) return void socket.destroy()
      const asked: Asked = body === '' ? { number: '2125550106', callKind: 'ai' } : JSON.parse(body)
      const answer = one.answer(asked, url)
      if (typeof answer === 'function') answer(socket)
      else socket.end(answer)
    }
    socket.on('data', read)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    counts,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
