/** The webhooks of a test: a sender that does what the test says, in time that the test lets pass. */
import { createHash, randomBytes } from 'node:crypto'
import type { Timers } from '../../src/domain/time/clock.js'
import type { FailedDelivery } from '../../src/service/webhooks/webhook-deliveries.js'
import type { NewWebhookEvent } from '../../src/service/webhooks/webhook-queue.js'
import {
  SendError,
  type SendFailure,
  type SendReply,
  type SendRequest,
  type WebhookSender,
} from '../../src/service/webhooks/webhook-sender.js'
import { Webhooks, type WebhooksOptions } from '../../src/service/webhooks/webhooks.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { type VirtualTime, virtualTime } from './virtual-time.js'

export type Answer = number | SendFailure | SendReply | 'hang'

interface FakeSender extends WebhookSender {
  /** Requests in their order. */
  readonly sent: SendRequest[]
  /** How many were under way at the same time, at most, and how many are. */
  most: number
  underWay: number
}

/** A request that hangs ends with `timeout` when its time is over. */
function fakeSender(timers: Timers, answer: (request: SendRequest) => Answer): FakeSender {
  const sender: FakeSender = {
    sent: [],
    most: 0,
    underWay: 0,
    findProblem: (url) => (url.startsWith('http') ? undefined : 'must be an address'),
    async post(request) {
      sender.sent.push(request)
      sender.underWay += 1
      sender.most = Math.max(sender.most, sender.underWay)
      try {
        const given = answer(request)
        if (given === 'hang') return await hang(request, timers)
        if (typeof given === 'number') return { status: given, retryAfter: undefined }
        if (typeof given === 'string') throw new SendError(given, `it is ${given}`)
        return given
      } finally {
        sender.underWay -= 1
      }
    },
  }
  return sender
}

function hang({ timeoutMs, signal }: SendRequest, timers: Timers): Promise<never> {
  return new Promise((_, reject) => {
    const callOff = timers.after(timeoutMs, () => reject(new SendError('timeout', 'no answer')))
    signal?.addEventListener('abort', () => {
      callOff()
      reject(new SendError('aborted', 'given up'))
    })
  })
}

export interface WebhookParts {
  readonly webhooks: Webhooks
  readonly time: VirtualTime
  readonly sender: FakeSender
  /** Of each attempt, and of each event given up. */
  readonly outcomes: string[]
  readonly givenUp: FailedDelivery[]
  readonly errors: unknown[]
  /** The latest count of what waits. */
  pending: number
  /** Adds and commits each, wakes, and gives the ids. */
  add(...events: readonly Partial<NewWebhookEvent>[]): Promise<string[]>
}

export const webhookSettings: WebhooksOptions['settings'] = {
  keyHeader: 'x-api-key',
  version: '1.2.3',
  timeoutMs: 10_000,
  retryMs: [60_000, 300_000, 1_800_000, 7_200_000, 21_600_000],
  maxUnderWay: 16,
}

export function openWebhooks(
  storage: OpenDatabase,
  answer: (request: SendRequest) => Answer,
  more: Partial<WebhooksOptions> & { readonly time?: VirtualTime } = {},
): WebhookParts {
  const { time = virtualTime(), ...options } = more
  const sender = fakeSender(time, answer)
  const webhooks = new Webhooks({
    storage,
    sender,
    clock: time,
    findToday: () => time.now(),
    timers: time,
    randomBytes,
    random: () => 0,
    getSecret: async (accountId) => `secret of ${accountId}`,
    settings: webhookSettings,
    observer: {
      onAttempt: (outcome) => parts.outcomes.push(outcome),
      onPending: (count) => {
        parts.pending = count
      },
      onFailure: (event) => parts.givenUp.push(event),
    },
    onError: (cause) => parts.errors.push(cause),
    ...options,
  })
  const parts: WebhookParts = {
    webhooks,
    time,
    sender,
    outcomes: [],
    givenUp: [],
    errors: [],
    pending: 0,
    async add(...events) {
      const ids: string[] = []
      for (const event of events) {
        const whole = { ...scanEvent, ...event }
        ids.push(await storage.db.transaction().execute((within) => webhooks.add(within, whole)))
      }
      webhooks.wake()
      await time.advance(0)
      return ids
    },
  }
  return parts
}

export const scanEvent: NewWebhookEvent = {
  accountId: 'main',
  kind: 'scan',
  subject: '5f1d1c2e-0000-4000-8000-000000000001',
  event: 'scan.complete',
  url: 'https://hooks.example/scan',
  apiKey: 'key of the receiver',
  body: { JobId: '5f1d1c2e-0000-4000-8000-000000000001', Status: 'Complete', Results: [] },
}

export const projectEvent: NewWebhookEvent = {
  accountId: 'main',
  kind: 'project',
  subject: 'SPRING',
  event: 'project.ftcValidation',
  url: 'https://hooks.example/project',
  body: { ProjectCode: 'SPRING', AcctId: 'main', Data: { Status: 'validated' } },
}

/** Addresses of receivers that share no lane. */
export function receiversApart(count: number): readonly string[] {
  const byLane = new Map<number, string>()
  for (let at = 0; byLane.size < count; at += 1) {
    const url = `https://hooks${at}.example`
    const [byte = 0] = createHash('sha256').update(url).digest()
    if (!byLane.has(byte % 8)) byLane.set(byte % 8, url)
  }
  return [...byLane.values()]
}
