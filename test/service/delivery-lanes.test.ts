/** A receiver that hangs holds up its own events, and nobody else's for long. */
import { beforeEach, describe, expect, it } from 'vitest'
import { computeLane } from '../../src/service/webhooks/delivery-lanes.js'
import type { NewWebhookEvent } from '../../src/service/webhooks/webhook-queue.js'
import type { SendRequest } from '../../src/service/webhooks/webhook-sender.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects } from '../support/service-subjects.js'
import { openWebhooks, receiversApart, webhookSettings } from '../support/webhook-parts.js'

const database = useDatabase()
const accountIds = Array.from({ length: 20 }, (_, at) => `a${at}`)
beforeEach(async () => {
  const { accounts } = await buildSubjects(database.storage)
  for (const id of [...accountIds, 'healthy']) await accounts.ensure({ id, kind: 'real', name: id })
})

const [first = '', second = '', third = ''] = receiversApart(3)
const isDead = ({ url }: SendRequest) => !url.includes('alive')
const answer = (request: SendRequest) => (isDead(request) ? 'hang' : 200)
const alive = 'https://alive.example/'

const many = (count: number, event: Partial<NewWebhookEvent>) =>
  Array.from({ length: count }, () => event)

describe('deliveries under way', () => {
  it('are at most as many as the setting says', async () => {
    const { webhooks, add, sender, time } = openWebhooks(database.storage, answer)
    webhooks.start()
    for (const accountId of accountIds) await add(...many(3, { accountId, url: first }))
    await time.advance(60 * 60_000)
    expect([sender.most, sender.underWay <= 16]).toEqual([16, true])
    const closed = webhooks.close()
    await time.advance(2_000)
    await closed
  })

  it('of one account are a quarter of that, of one receiver half as many', async () => {
    const { webhooks, add, sender, time } = openWebhooks(database.storage, answer)
    webhooks.start()
    await add(...many(9, { accountId: 'a0', url: first }))
    expect(sender.underWay).toBe(2)
    await add(...many(9, { accountId: 'a0', url: second }))
    expect(sender.underWay).toBe(4)
    await add(...many(9, { accountId: 'a0', url: third }))
    expect(sender.underWay).toBe(4)
    const closed = webhooks.close()
    await time.advance(2_000)
    await closed
  })

  it.each([1, 2, 3, 5, 1_000])('keep their bounds when %i may be', async (maxUnderWay) => {
    const settings = { ...webhookSettings, maxUnderWay }
    const { webhooks, add, sender, time } = openWebhooks(database.storage, answer, { settings })
    webhooks.start()
    await add(
      ...many(30, { accountId: 'a0', url: first }),
      ...many(30, { accountId: 'a0', url: second }),
    )
    const ofAccount = Math.min(8, Math.ceil(maxUnderWay / 4))
    expect(sender.underWay).toBe(Math.min(ofAccount, 2 * Math.ceil(ofAccount / 2)))
    const closed = webhooks.close()
    await time.advance(2_000)
    await closed
  })
})

describe('a dead receiver with a hundred events', () => {
  it('does not hold up another account', async () => {
    const { webhooks, add, sender, time } = openWebhooks(database.storage, answer)
    webhooks.start()
    await add(...many(100, { accountId: 'a0', url: first }))
    await add({ accountId: 'healthy', url: alive })
    expect(sender.sent.at(-1)?.url).toBe(alive)
    const closed = webhooks.close()
    await time.advance(2_000)
    await closed
  })

  it('does not hold up another receiver of its account', async () => {
    const { webhooks, add, sender, time } = openWebhooks(database.storage, (request) =>
      request.url.startsWith(second) ? 200 : answer(request),
    )
    webhooks.start()
    await add(...many(100, { accountId: 'a0', url: first }))
    await add({ accountId: 'a0', url: `${second}/a` })
    expect(sender.sent.at(-1)?.url).toBe(`${second}/a`)
    const closed = webhooks.close()
    await time.advance(2_000)
    await closed
  })

  it('in each of twenty accounts lets a healthy one wait for one round at most', async () => {
    const { webhooks, add, sender, time } = openWebhooks(database.storage, answer)
    for (const accountId of accountIds) await add(...many(20, { accountId, url: first }))
    webhooks.start()
    await time.advance(30_000)
    await add({ accountId: 'healthy', url: alive })
    await time.advance(20_000)
    expect(sender.sent.filter((request) => !isDead(request)).length).toBe(1)
    const closed = webhooks.close()
    await time.advance(2_000)
    await closed
  })
})

describe('of several events', () => {
  it('accounts take turns, each with its oldest first', async () => {
    const settings = { ...webhookSettings, maxUnderWay: 1 }
    const parts = openWebhooks(database.storage, () => 200, { settings })
    const { webhooks, add, sender, time } = parts
    for (const [accountId, path] of [
      ...[
        ['a0', 1],
        ['a0', 2],
        ['a0', 3],
      ],
      ...[
        ['a1', 1],
        ['a1', 2],
        ['a2', 1],
      ],
    ] as const) {
      await add({ accountId, url: `${alive}${accountId}/${path}` })
      await time.advance(1)
    }
    webhooks.start()
    await time.advance(1_000)
    expect(sender.sent.map(({ url }) => url.slice(alive.length))).toEqual([
      'a0/1',
      'a1/1',
      'a2/1',
      'a0/2',
      'a1/2',
      'a0/3',
    ])
    await webhooks.close()
  })

  it('an account with many receivers has no more turns than one with one', async () => {
    const settings = { ...webhookSettings, maxUnderWay: 1 }
    const { webhooks, add, sender, time } = openWebhooks(database.storage, () => 200, { settings })
    for (const url of [first, second, third]) await add({ accountId: 'a0', url: `${url}/a0` })
    await time.advance(1)
    for (const path of ['a1/1', 'a1/2']) await add({ accountId: 'a1', url: `${first}/${path}` })
    webhooks.start()
    await time.advance(1_000)
    const accounts = sender.sent.map(({ url }) => new URL(url).pathname.slice(1, 3))
    expect(accounts).toEqual(['a0', 'a1', 'a0', 'a1', 'a0'])
    await webhooks.close()
  })

  it('receivers of one account take turns', async () => {
    const settings = { ...webhookSettings, maxUnderWay: 1 }
    const { webhooks, add, sender, time } = openWebhooks(database.storage, () => 200, { settings })
    await add(...many(3, { accountId: 'a0', url: `${first}/1` }))
    await time.advance(1)
    await add(...many(2, { accountId: 'a0', url: `${second}/2` }))
    webhooks.start()
    await time.advance(1_000)
    expect(sender.sent.map(({ url }) => url.at(-1))).toEqual(['1', '2', '1', '2', '1'])
    await webhooks.close()
  })

  it('hundreds are all delivered, each once', async () => {
    const { webhooks, add, sender, outcomes, time } = openWebhooks(database.storage, () => 200)
    webhooks.start()
    const events = Array.from({ length: 300 }, (_, at) => {
      return { accountId: `a${at % 20}`, url: `https://hooks${at % 7}.example/${at}` }
    })
    await add(...events)
    while (outcomes.length < 300) await time.advance(1)
    expect(new Set(sender.sent.map(({ url }) => url)).size).toBe(300)
    await time.advance(24 * 60 * 60_000)
    expect(sender.sent.length).toBe(300)
    await webhooks.close()
  })
})

describe('a lane', () => {
  it('is of the account and of scheme, host and port', () => {
    const lane = computeLane('a0', 'https://hooks.example/a')
    expect(computeLane('a0', 'https://HOOKS.example:443/b?c')).toBe(lane)
    expect(computeLane('a1', 'https://hooks.example/a')).not.toBe(lane)
    expect(computeLane('a0', 'no address')).toMatch(/^a0 [0-7]$/)
  })

  it('is one of eight of its account, however many addresses there are', () => {
    const urls = Array.from({ length: 1_000 }, (_, at) => `https://hooks${at}.example/`)
    expect(new Set(urls.map((url) => computeLane('a0', url))).size).toBe(8)
  })
})
