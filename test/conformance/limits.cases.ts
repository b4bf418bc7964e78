import { expect } from 'vitest'
import { ask, askOnce, type Reply } from './support/client.js'
import { ebr } from './support/internal-dnc.js'
import { monitor, rowsIn } from './support/monitored.js'
import { listNumber, listNumbers } from './support/numbers.js'
import { scanBody, submit } from './support/scans.js'
import { type Needs, type Row, section, sentence, sentences } from './support/sentence.js'
import { askTimeLegal, flat, timeLegalRow } from './support/time-legal.js'
import { american, dayFromToday, instantInYears } from './support/times.js'
import { tokenAnswer } from './support/tokens.js'

interface Limit {
  readonly what: string
  readonly inside: number | string
  readonly outside: number | string
  readonly ask: (size: never, needs: Needs) => Promise<Reply>
}

const many = (count: number) => Array.from({ length: count }, () => '2125550100')

/** Every limit with a number, asked just inside and just outside. */
const limits: readonly Limit[] = [
  {
    what: 'time-legal: phones per request',
    inside: 1000,
    outside: 1001,
    ask: (count: number) => askTimeLegal(many(count).map((PhoneNumber) => ({ PhoneNumber }))),
  },
  {
    what: 'monitor get with GET: numbers',
    inside: 200,
    outside: 201,
    ask: (count: number) => monitor.getByQuery(many(count)),
  },
  {
    what: 'litigator: numbers per request',
    inside: 10_000,
    outside: 10_001,
    ask: (count: number) =>
      ask({ path: '/v1.5/Scrub/litigator', json: { PhoneList: many(count).join(',') } }),
  },
  {
    what: 'EBR record: characters of email',
    inside: 100,
    outside: 101,
    ask: (length: number) => ebr([record({ email: `${'p'.repeat(length - 6)}@ex.io` })]),
  },
  {
    what: 'flags-removed summary: days, least',
    inside: 1,
    outside: 0,
    ask: (days: number) => flagsRemoved(days),
  },
  {
    what: 'flags-removed summary: days, most',
    inside: 90,
    outside: 91,
    ask: (days: number) => flagsRemoved(days),
  },
  {
    what: 'one-time scan submit: characters of NotificationURL',
    inside: 1500,
    outside: 1501,
    ask: async (length: number, needs: Needs) => {
      const { NotificationURL, ...body } = await scanBody(needs, { TestNotificationURL: true })
      const long = `${NotificationURL}?`.padEnd(length, 'x')
      return await submit({ ...body, NotificationURL: long })
    },
  },
  {
    what: 'one-time scan submit: characters of NotificationAPIKey',
    inside: 1500,
    outside: 1501,
    ask: async (length: number, needs: Needs) =>
      submit(
        await scanBody(needs, {
          TestNotificationURL: true,
          NotificationAPIKey: 'k'.repeat(length),
        }),
      ),
  },
]

function record(more: Row): Row {
  const dateOfLastContact = american(dayFromToday(-1))
  return { phoneNumber: listNumber(), type: 'I', dateOfLastContact, ...more }
}

function flagsRemoved(days: number): Promise<Reply> {
  return askOnce({
    path: '/v1.5/Reputation/FlagsRemovedSummary',
    query: { days: String(days) },
  })
}

section('limits', () => {
  sentences(
    limits,
    ({ what, inside }) => `${what}: ${inside} is inside`,
    async ({ inside, ask: asked }, needs) => {
      const { status, text } = await asked(inside as never, needs)
      expect(`${status} ${status === 200 ? '' : text.slice(0, 300)}`).toBe('200 ')
    },
  )

  sentences(
    limits,
    ({ what, outside }) => `${what}: ${outside} is outside`,
    async ({ outside, ask: asked }, needs) => {
      const { status } = await asked(outside as never, needs)
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(500)
    },
  )

  sentence('time-legal: 1000 phones have 1000 rows', async () => {
    const reply = await askTimeLegal(many(1000).map((PhoneNumber) => ({ PhoneNumber })))
    expect(flat(reply.json())).toHaveLength(1000)
  })

  sentence('time-legal: 1001 phones are 400 with ReasonPhrase', async () => {
    const reply = await askTimeLegal(many(1001).map((PhoneNumber) => ({ PhoneNumber })))
    expect(reply.status).toBe(400)
    expect(reply.json()).toHaveProperty('ReasonPhrase')
  })

  sentence('monitor add: 50 numbers are inside', async () => {
    const phones = listNumbers(50)
    try {
      expect(await rowsIn(monitor.add(phones.map((Phone) => ({ Phone }))))).toHaveLength(50)
    } finally {
      await monitor.remove(phones)
    }
  })

  sentence('monitor add: 51 numbers are outside', async () => {
    const phones = listNumbers(51)
    const { status } = await monitor.add(phones.map((Phone) => ({ Phone })))
    if (status === 200) await monitor.remove(phones)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
  })

  sentence('monitor get with POST: no limit is stated, so 1000 numbers are inside', async () => {
    expect((await monitor.getByPost(many(1000))).status).toBe(200)
  })

  sentences(
    [
      [50, 200],
      [51, 400],
    ] as const,
    ([length]) => `Label: ${length} characters are ${length > 50 ? 'outside' : 'inside'}`,
    async ([length, wanted]) => {
      const Phone = listNumber()
      const { status } = await monitor.add([{ Phone, Label: 'l'.repeat(length) }])
      if (status === 200) await monitor.remove([Phone])
      expect(status).toBe(wanted)
    },
  )

  sentence('flags-removed summary: 7 days are the default', async () => {
    const plain = await askOnce({ path: '/v1.5/Reputation/FlagsRemovedSummary' })
    expect(plain.json()).toEqual((await flagsRemoved(7)).json())
  })

  sentences(
    [
      [instantInYears(50, -2), false],
      [instantInYears(50, 2), true],
      [instantInYears(-50, 2), false],
      [instantInYears(-50, -2), true],
    ] as const,
    ([at, outside]) =>
      `time-legal: ${at} is ${outside ? 'more than' : 'within'} 50 years from today`,
    async ([at, outside]) => {
      const row = await timeLegalRow({ PhoneNumber: '2125550100', CallProposedDateTimeInUTC: at })
      expect(row.Status === 'INVALID_DATE').toBe(outside)
    },
  )

  sentence('OAuth access token: lifetime of 3600 seconds', async (needs) => {
    expect((await tokenAnswer(needs)).expires_in).toBe(3600)
  })
})
