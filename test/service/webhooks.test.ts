import { beforeEach, describe, expect, it } from 'vitest'
import { AppError } from '../../src/errors.js'
import { signatureHeader } from '../../src/service/webhooks/webhook-signature.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects } from '../support/service-subjects.js'
import { verifyWebhookSignature } from '../support/verify-webhook-signature.js'
import {
  openWebhooks,
  projectEvent,
  scanEvent,
  type WebhookParts,
  webhookSettings,
} from '../support/webhook-parts.js'

const database = useDatabase()
beforeEach(async () => {
  await buildSubjects(database.storage)
})

const minute = 60_000
const hour = 60 * minute

/** Rows without the body. */
async function rows(): Promise<unknown[]> {
  return await database.db
    .selectFrom('webhook_events')
    .select(['state', 'attempts', 'next_attempt_at'])
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

async function attempts(): Promise<unknown[]> {
  return await database.db
    .selectFrom('webhook_attempts')
    .select(['attempt', 'http_status', 'error'])
    .orderBy('attempt')
    .execute()
}

const delivered = { state: 'delivered', attempts: 1, next_attempt_at: null }

describe('an event', () => {
  it('is sent as soon as its transaction is committed, and once', async () => {
    const { webhooks, add, sender, outcomes, time } = openWebhooks(database.storage, () => 200)
    webhooks.start()
    const [id] = await add({})
    expect(id).toMatch(/^evt_[0-9a-z]{32}$/)
    expect(sender.sent.map(({ url }) => url)).toEqual([scanEvent.url])
    expect(await rows()).toEqual([delivered])
    await time.advance(48 * hour)
    expect([sender.sent.length, outcomes]).toEqual([1, ['delivered']])
    await webhooks.close()
  })

  it('that another server delivered meanwhile stays delivered, and the attempt is recorded once', async () => {
    const former = openWebhooks(database.storage, () => 'hang')
    former.webhooks.start()
    await former.add({})
    const { time } = former
    const leader = openWebhooks(database.storage, () => 200, { time })
    leader.webhooks.start()
    await time.advance(1_000)
    expect(await rows()).toEqual([delivered])
    await time.advance(60_000)
    expect([await rows(), former.errors]).toEqual([[delivered], []])
    expect(await attempts()).toEqual([{ attempt: 1, http_status: 200, error: null }])
    expect([former.sender.sent.length, leader.sender.sent.length]).toEqual([1, 1])
    await Promise.all([former.webhooks.close(), leader.webhooks.close()])
  })

  it('is not there when its transaction is rolled back', async () => {
    const { webhooks, sender, time } = openWebhooks(database.storage, () => 200)
    webhooks.start()
    const failing = database.db.transaction().execute(async (within) => {
      await webhooks.add(within, scanEvent)
      throw new Error('rolled back')
    })
    await expect(failing).rejects.toThrow('rolled back')
    webhooks.wake()
    await time.advance(hour)
    expect([await rows(), sender.sent]).toEqual([[], []])
    await webhooks.close()
  })

  it('of an account that does not exist is refused', async () => {
    const { webhooks } = openWebhooks(database.storage, () => 200)
    const event = { ...scanEvent, accountId: 'nobody' }
    await expect(webhooks.add(database.db, event)).rejects.toThrow(/foreign key/i)
  })

  it('that another process leaves is found within a minute', async () => {
    const here = openWebhooks(database.storage, () => 200)
    here.webhooks.start()
    await here.time.settle()
    const elsewhere = openWebhooks(database.storage, () => 200)
    await elsewhere.add({})
    await here.time.advance(minute)
    expect([here.sender.sent.length, elsewhere.sender.sent.length]).toEqual([1, 0])
    await here.webhooks.close()
  })

  it('is sent with the next start when the program ends before', async () => {
    const before = openWebhooks(database.storage, () => 200)
    await before.add({}, projectEvent)
    await database.reopen()
    const after = openWebhooks(database.storage, () => 200)
    after.webhooks.start()
    await after.time.advance(0)
    expect([before.sender.sent.length, after.sender.sent.length]).toEqual([0, 2])
    await after.webhooks.close()
  })
})

describe('a scan', () => {
  it('has its body as it is, the key of the receiver, and the rest in headers', async () => {
    const { webhooks, add, sender, time } = openWebhooks(database.storage, () => 200)
    webhooks.start()
    const [id = ''] = await add({})
    const [request] = sender.sent
    expect(request).toMatchObject({ body: JSON.stringify(scanEvent.body), timeoutMs: 10_000 })
    const { [signatureHeader]: header = '', ...headers } = request?.headers ?? {}
    expect(headers).toEqual({
      'content-type': 'application/json',
      'user-agent': 'callgate/1.2.3',
      'webhook-id': id,
      'webhook-timestamp': String(time.now() / 1000),
      'x-api-key': 'key of the receiver',
    })
    const about = { header, body: request?.body ?? '', now: time.now() }
    expect(verifyWebhookSignature({ ...about, secret: 'secret of main' })).toBe('valid')
    expect(verifyWebhookSignature({ ...about, secret: 'secret of other' })).toBe('wrong')
    expect(header).toContain(`id=${id},`)
    await webhooks.close()
  })

  it.each([
    ['has no key header without a key', undefined, 'x-api-key', undefined],
    ['has the key header that the operator names', 'k', 'X-Hook-Key', 'k'],
    ['does not let a key take the place of the signature', 'k', signatureHeader, 't='],
    ['does not let a key take the place of the type', 'k', 'Content-Type', 'application/json'],
  ])('%s', async (_, apiKey, keyHeader, value) => {
    const settings = { ...webhookSettings, keyHeader }
    const { webhooks, add, sender } = openWebhooks(database.storage, () => 200, { settings })
    webhooks.start()
    await add({ apiKey })
    const found = sender.sent[0]?.headers[keyHeader.toLowerCase()]
    if (value === undefined) expect(found).toBeUndefined()
    else expect(found).toContain(value)
    await webhooks.close()
  })
})

describe('a project', () => {
  it('has the attempt in front of its body, each time anew', async () => {
    let answer = 500
    const { webhooks, add, sender, time } = openWebhooks(database.storage, () => answer)
    webhooks.start()
    const [id] = await add(projectEvent)
    answer = 200
    await time.advance(minute)
    const bodies = sender.sent.map(({ body }) => JSON.parse(body) as unknown)
    const about = { EventId: id, Event: 'project.ftcValidation' }
    expect(bodies).toEqual([
      { ...about, Attempt: 1, SentOn: '2026-11-23T17:00:00Z', ...projectEvent.body },
      { ...about, Attempt: 2, SentOn: '2026-11-23T17:01:00Z', ...projectEvent.body },
    ])
    const ids = sender.sent.map(({ headers }) => headers['webhook-id'])
    expect(ids).toEqual([id, id])
    const signatures = sender.sent.map(({ headers }) => headers[signatureHeader])
    expect(new Set(signatures).size).toBe(2)
    expect(Object.keys(JSON.parse(sender.sent[0]?.body ?? '{}') as object)).toEqual([
      'EventId',
      'Event',
      'Attempt',
      'SentOn',
      'ProjectCode',
      'AcctId',
      'Data',
    ])
    await webhooks.close()
  })

  it('tells its last delivery, of the project alone', async () => {
    let answer: number | 'timeout' = 'timeout'
    const { webhooks, add, time } = openWebhooks(database.storage, () => answer)
    const last = () => webhooks.findLastDelivery('main', 'project', 'SPRING')
    const [id] = await add(projectEvent)
    expect(await last()).toBeUndefined()
    webhooks.start()
    await time.advance(0)
    const first = { eventId: id, event: 'project.ftcValidation' }
    const sentAt = time.now()
    expect(await last()).toEqual({ ...first, attempt: 1, httpStatus: null, sentAt })
    answer = 503
    await time.advance(minute)
    expect(await last()).toMatchObject({ ...first, attempt: 2, httpStatus: 503 })
    answer = 200
    const [second] = await add({ ...projectEvent, event: 'project.status' })
    const latest = { eventId: second, event: 'project.status', attempt: 1, httpStatus: 200 }
    expect(await last()).toMatchObject(latest)
    answer = 500
    const [late] = await add({ ...projectEvent, url: 'https://late.example' })
    await time.advance(1)
    answer = 200
    await add({ ...projectEvent, url: 'https://early.example' })
    expect(await last()).toMatchObject({ attempt: 1, httpStatus: 200 })
    await time.advance(minute)
    expect(await last()).toMatchObject({ eventId: late, attempt: 2, httpStatus: 200 })
    for (const [account, kind, subject] of [
      ['other', 'project', 'SPRING'],
      ['main', 'scan', 'SPRING'],
      ['main', 'project', 'AUTUMN'],
    ] as const) {
      expect(await webhooks.findLastDelivery(account, kind, subject)).toBeUndefined()
    }
    await webhooks.close()
  })
})

describe('a delivery that fails', () => {
  it('is tried again after 1, 5 and 30 minutes, 2 and 6 hours, and is then given up', async () => {
    const parts = openWebhooks(database.storage, () => 500)
    const { webhooks, add, sender, time, givenUp, outcomes } = parts
    const sentAt: number[] = []
    webhooks.start()
    const started = time.now()
    const [eventId] = await add({})
    for (const pauseMs of [...webhookSettings.retryMs, 48 * hour]) {
      sentAt.push((time.now() - started) / minute)
      await time.advance(pauseMs - 1)
      expect(sender.sent.length).toBe(sentAt.length)
      await time.advance(1)
    }
    expect(sentAt).toEqual([0, 1, 6, 36, 156, 516])
    expect(await rows()).toEqual([{ state: 'failed', attempts: 6, next_attempt_at: null }])
    expect(await attempts()).toEqual(
      [1, 2, 3, 4, 5, 6].map((attempt) => ({ attempt, http_status: 500, error: 'bad-status' })),
    )
    const problem = 'the receiver answered 500'
    const event = 'scan.complete'
    expect(givenUp).toEqual([{ accountId: 'main', eventId, event, attempts: 6, problem }])
    expect([outcomes.length, parts.pending]).toEqual([6, 0])
    await webhooks.close()
  })

  it('is tried again whatever failed, and delivered when it is mended', async () => {
    const failures = ['blocked-address', 'unreachable', 'timeout', 'cut-off', 302] as const
    let at = 0
    const { webhooks, add, time, outcomes } = openWebhooks(database.storage, () => {
      at += 1
      return failures[at - 1] ?? 204
    })
    webhooks.start()
    await add({})
    await time.advance(9 * hour)
    expect(outcomes).toEqual([...failures.slice(0, 4), 'bad-status', 'delivered'])
    expect(await rows()).toEqual([{ state: 'delivered', attempts: 6, next_attempt_at: null }])
    expect(await attempts()).toEqual([
      ...failures.slice(0, 4).map((error, before) => {
        return { attempt: before + 1, http_status: null, error }
      }),
      { attempt: 5, http_status: 302, error: 'bad-status' },
      { attempt: 6, http_status: 204, error: null },
    ])
    await webhooks.close()
  })

  it.each([410, 'bad-url', 'bad-header'] as const)(
    'is given up at once after %s',
    async (answer) => {
      const { webhooks, add, time, sender, givenUp } = openWebhooks(database.storage, () => answer)
      webhooks.start()
      await add({})
      await time.advance(9 * hour)
      expect([sender.sent.length, givenUp.length]).toEqual([1, 1])
      expect(await rows()).toEqual([{ state: 'failed', attempts: 1, next_attempt_at: null }])
      await webhooks.close()
    },
  )

  it('goes on with its plan after a restart', async () => {
    const before = openWebhooks(database.storage, () => 500)
    before.webhooks.start()
    const [id] = await before.add({})
    await before.time.advance(minute)
    await before.webhooks.close()
    await database.reopen()
    const after = openWebhooks(database.storage, () => 200, { time: before.time })
    after.webhooks.start()
    await after.time.advance(5 * minute - 1)
    expect(after.sender.sent).toEqual([])
    await after.time.advance(1)
    expect(after.sender.sent.map(({ headers }) => headers['webhook-id'])).toEqual([id])
    expect(await rows()).toEqual([{ state: 'delivered', attempts: 3, next_attempt_at: null }])
    await after.webhooks.close()
  })
})

describe('when this house fails', () => {
  it('an event without a secret waits, and is sent when there is one', async () => {
    let broken = true
    const getSecret = async () => {
      if (broken) throw new Error('no secret')
      return 's'
    }
    const { webhooks, add, time, sender, errors } = openWebhooks(database.storage, () => 200, {
      getSecret,
    })
    webhooks.start()
    await add({})
    await time.advance(minute)
    expect([sender.sent, errors.length > 5]).toEqual([[], true])
    broken = false
    await time.advance(5_000)
    expect([sender.sent.length, await rows()]).toEqual([1, [delivered]])
    await webhooks.close()
  })

  it('what was sent and cannot be recorded is recorded later, and not sent twice', async () => {
    let broken = true
    const storage = {
      ...database.storage,
      retryWhileLocked: async <Result>(work: () => Promise<Result>) => {
        if (broken) throw new Error('the disk is full')
        return await database.storage.retryWhileLocked(work)
      },
    }
    const { webhooks, add, time, sender, errors, outcomes } = openWebhooks(storage, () => 200)
    webhooks.start()
    await add({})
    await time.advance(10 * minute)
    expect([sender.sent.length, errors.length > 100]).toEqual([1, true])
    broken = false
    await time.advance(5_000)
    expect([await rows(), sender.sent.length, outcomes]).toEqual([[delivered], 1, ['delivered']])
    await webhooks.close()
  })
})

describe('the end of the program', () => {
  it('lets what is under way end, and begins nothing more', async () => {
    let answered: ((status: number) => void) | undefined
    const sender = {
      findProblem: () => undefined,
      post: () =>
        new Promise<{ status: number; retryAfter: undefined }>((resolve) => {
          answered = (status) => resolve({ status, retryAfter: undefined })
        }),
    }
    const { webhooks, add, time } = openWebhooks(database.storage, () => 200, { sender })
    webhooks.start()
    await add({})
    await time.advance(1)
    const closed = webhooks.close()
    await add({})
    answered?.(200)
    await closed
    await time.advance(hour)
    expect(await rows()).toMatchObject([{ state: 'delivered' }, { state: 'pending', attempts: 0 }])
  })

  it('calls off what takes too long, which is no attempt and is made at the next start', async () => {
    const { webhooks, add, time, sender, outcomes } = openWebhooks(database.storage, () => 'hang')
    webhooks.start()
    await add({})
    const closed = webhooks.close()
    await time.advance(2_000)
    await closed
    expect([sender.underWay, outcomes, await attempts(), time.waiting()]).toEqual([0, [], [], 0])
    const after = openWebhooks(database.storage, () => 200, { time })
    after.webhooks.start()
    await time.advance(0)
    expect(await rows()).toEqual([delivered])
    await after.webhooks.close()
  })

  it('does not wait for what cannot be recorded', async () => {
    const retryWhileLocked = () => Promise.reject(new Error('the disk is full'))
    const storage = { ...database.storage, retryWhileLocked }
    const { webhooks, add, time, errors } = openWebhooks(storage, () => 200)
    webhooks.start()
    await add({})
    const closed = webhooks.close()
    await time.advance(2_000)
    await closed
    expect([errors.length, time.waiting()]).toEqual([1, 0])
  })
})

describe('a probe', () => {
  it.each([
    [200, { httpStatus: 200, problem: undefined }],
    [204, { httpStatus: 204, problem: undefined }],
    [302, { httpStatus: 302, problem: 'the receiver answered 302' }],
    [500, { httpStatus: 500, problem: 'the receiver answered 500' }],
    ['timeout', { httpStatus: undefined, problem: 'it is timeout' }],
    ['blocked-address', { httpStatus: undefined, problem: 'it is blocked-address' }],
  ] as const)('of a receiver that answers %s', async (answer, found) => {
    const { webhooks, sender, time, outcomes } = openWebhooks(database.storage, () => answer)
    const probe: WebhookParts['webhooks']['probe'] = (event) => webhooks.probe(event)
    expect(await probe(scanEvent)).toEqual(found)
    expect(sender.sent[0]).toMatchObject({
      url: scanEvent.url,
      body: JSON.stringify(scanEvent.body),
    })
    const header = sender.sent[0]?.headers[signatureHeader] ?? ''
    const proof = { header, body: JSON.stringify(scanEvent.body), now: time.now() }
    expect(verifyWebhookSignature({ ...proof, secret: 'secret of main' })).toBe('valid')
    expect([await rows(), outcomes]).toEqual([[], []])
  })
})

describe('what is refused when it is given', () => {
  it('is an address that nothing may be sent to', () => {
    const { webhooks } = openWebhooks(database.storage, () => 200)
    expect(() => webhooks.refuseBadUrl('NotificationURL', 'https://a.example')).not.toThrow()
    const refused = expect(() => webhooks.refuseBadUrl('NotificationURL', 'ftp://a.example'))
    refused.toThrow(AppError)
    refused.toThrow("NotificationURL 'ftp://a.example': must be an address")
  })
})
