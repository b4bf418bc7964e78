/** A provider's client without a provider: the transport is in the test's hand, time is virtual. */

import type { Question, QuestionName } from '../../src/domain/compliance.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import type { Instant, Timers } from '../../src/domain/time/clock.js'
import type { LogFields, Logger } from '../../src/observability/log.js'
import { type BatchQuestion, ReplyError } from '../../src/sources/remote/batch-question.js'
import {
  type ProviderReply,
  type ProviderRequest,
  type Transport,
  TransportError,
} from '../../src/sources/remote/client/transport.js'
import type {
  ProviderCredentials,
  ProviderLimits,
  ProviderOptions,
  QuestionBudget,
  QuestionLimits,
} from '../../src/sources/remote/provider-options.js'
import { type VirtualTime, virtualTime } from './virtual-time.js'

/** One request that left, until the test ends it. */
export interface SentRequest {
  readonly request: ProviderRequest
  readonly atMs: number
  /** Of a question; empty for a token request. */
  readonly numbers: readonly string[]
  readonly signal: AbortSignal
  reply(reply: Partial<ProviderReply>): void
  /** As asked: `value of <number>` for each. */
  answer(): void
  fail(why: TransportError['why'], detail?: string): void
}

export interface FakeTransport extends Transport {
  readonly sent: SentRequest[]
  /** Called with each request as it leaves. */
  onSend: (sent: SentRequest) => void
  /** Requests that have not ended. */
  underWay(): number
  readonly isClosed: boolean
}

const okReply: ProviderReply = {
  status: 200,
  contentType: 'application/json',
  retryAfter: undefined,
  body: '[]',
}

function numbersIn(body: string | undefined): readonly string[] {
  return body?.startsWith('[') === true ? (JSON.parse(body) as string[]) : []
}

export function rowsFor(numbers: readonly string[]): string {
  return JSON.stringify(numbers.map((number) => [number, `value of ${number}`]))
}

export function fakeTransport(timers: Timers): FakeTransport {
  let open = 0
  let isClosed = false
  const fake: FakeTransport = {
    sent: [],
    onSend: () => undefined,
    underWay: () => open,
    get isClosed() {
      return isClosed
    },
    send(request, signal) {
      open += 1
      const made = new Promise<ProviderReply>((resolve, reject) => {
        const fail: SentRequest['fail'] = (why, detail = `fake ${why}`) =>
          reject(new TransportError(why, detail))
        signal.addEventListener('abort', () => fail('aborted'))
        const numbers = numbersIn(request.body)
        const sent: SentRequest = {
          request,
          numbers,
          signal,
          fail,
          atMs: timers.monotonicMs(),
          reply: (reply) => resolve({ ...okReply, ...reply }),
          answer: () => resolve({ ...okReply, body: rowsFor(numbers) }),
        }
        fake.sent.push(sent)
        fake.onSend(sent)
      })
      return made.finally(() => {
        open -= 1
      })
    },
    async close() {
      isClosed = true
    },
  }
  return fake
}

/** Answers each request after so long. */
export function answerAfter(timers: Timers, ms: number): (sent: SentRequest) => void {
  return (sent) => {
    timers.after(ms, () => sent.answer())
  }
}

/** A row is `[number, value]`; the value `?` is not understood; a body with `<` is a login page. */
export function textQuestion(name: QuestionName = 'scrub'): BatchQuestion<Question, string> {
  return {
    name,
    findRefusal: ({ at }) => (at === undefined ? undefined : 'cannot be asked of another instant'),
    getIdentity: ({ number, projectId, postalCode }) =>
      JSON.stringify([number, projectId, postalCode]),
    getGroup: ({ projectId }) => projectId ?? '',
    buildRequest: (questions) => ({
      method: 'POST',
      path: '/app/main/rpc/fake',
      wire: { json: questions.map(({ number }) => number) },
    }),
    parseReply({ body, askedAt }, questions) {
      if (body.includes('<')) throw new ReplyError('refused', 'a login page')
      const rows = JSON.parse(body) as (readonly [string, string])[]
      return questions.map(({ number }, at) => {
        const [of, value] = rows[at] ?? []
        if (of !== number || value === undefined || value === '?') {
          return { problem: 'the row is not its own' }
        }
        return { value, holdsUntil: askedAt + 60_000 }
      })
    },
  }
}

let nextLine = 0

/** A number that no other call has given. */
export function anyNumber(): string {
  nextLine += 1
  return `${2_120_000_000 + nextLine}`
}

export function about(number: string = anyNumber(), more: Partial<Question> = {}): Question {
  return { accountId: 'main', number: toPhoneNumber(number), ...more }
}

export interface ProviderSetup {
  readonly question?: Partial<QuestionLimits>
  readonly limits?: Partial<ProviderLimits>
  readonly credentials?: ProviderCredentials
  readonly random?: () => number
  readonly budget?: (options: Pick<ProviderOptions, 'clock' | 'timers' | 'log'>) => QuestionBudget
  /** In the place of the virtual ones. */
  readonly timers?: (time: VirtualTime) => Timers
}

const usualQuestion: QuestionLimits = {
  requestsPerMinute: 6_000,
  numbersPerRequest: 1_000,
  deadlineMs: 3_000,
}

const usualLimits: ProviderLimits = {
  coalesceMs: 5,
  maxQueued: 20_000,
  maxRequests: 8,
  retries: 2,
  circuitFailures: 5,
  circuitOpenMs: 5_000,
}

export interface FakeProvider {
  readonly time: VirtualTime
  readonly transport: FakeTransport
  readonly options: ProviderOptions
  /** `level: message`, and the fields. */
  readonly lines: { readonly line: string; readonly fields: LogFields }[]
  readonly requested: string[]
  readonly circuits: string[]
  start: Instant
}

export function fakeProvider(setup: ProviderSetup = {}): FakeProvider {
  const time = virtualTime()
  const timers = setup.timers?.(time) ?? time
  const transport = fakeTransport(timers)
  const lines: FakeProvider['lines'] = []
  const requested: string[] = []
  const circuits: string[] = []
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      lines.push({ line: `${level}: ${message}`, fields })
    }
  const log: Logger = {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
  }
  const question = { ...usualQuestion, ...setup.question }
  const options: ProviderOptions = {
    name: 'vendor',
    addresses: {
      baseUrl: 'https://base.test',
      rpcUrl: 'https://rpc.test',
      monitorUrl: 'https://monitor.test',
      authUrl: 'https://auth.test/oauth/token',
    },
    credentials: setup.credentials ?? { kind: 'login-id', loginId: 'the-secret-key' },
    limits: { ...usualLimits, ...setup.limits },
    questions: {
      scrub: question,
      'internal-dnc': question,
      litigator: question,
      'legal-time': question,
    },
    clock: time,
    timers,
    random: setup.random ?? (() => 0.5),
    observer: {
      onRequest: (name, outcome, seconds) => requested.push(`${name} ${outcome} ${seconds}`),
      onCircuitChange: (name, open) => circuits.push(`${name} ${open ? 'open' : 'closed'}`),
    },
    log,
    transport,
    budget: setup.budget?.({ clock: time, timers, log }),
  }
  return { time, transport, options, lines, requested, circuits, start: time.now() }
}
