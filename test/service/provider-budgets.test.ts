/** What accounts may ask a provider on one day: counted in the database, over servers and restarts. */
import type { KyselyPlugin } from 'kysely'
import { describe, expect, it } from 'vitest'
import { createProviderBudget } from '../../src/app/provider-budgets.js'
import { findBudgetFindings } from '../../src/commands/doctor/budget-findings.js'
import { settingsSchema } from '../../src/config/settings.js'
import type { Answer, Question } from '../../src/domain/compliance.js'
import type { PhoneNumber } from '../../src/domain/phone-number.js'
import { toUtcDay } from '../../src/domain/time/dates.js'
import { silentLogger } from '../../src/runtime/runtime.js'
import { BudgetStore, listBudgetUse } from '../../src/storage/cluster/budget-store.js'
import { openLookups, replyJson } from '../sources/remote/lookups/lookup-fixture.js'
import { useDatabase } from '../support/database.js'
import { about, anyNumber, type SentRequest } from '../support/fake-provider.js'
import { type AskerSetup, nothingLeft, openAsker } from '../support/open-batch-client.js'
import { n } from '../support/service-subjects.js'
import { virtualTime } from '../support/virtual-time.js'

const database = useDatabase()

const settingsWith = (budget: object) =>
  settingsSchema.parse({
    source: {
      kind: 'remote',
      provider: { name: 'vendor', baseUrl: 'https://base.test', loginId: 'a', budget },
    },
  })

interface Server extends ReturnType<typeof openAsker> {
  /** Asks about so many new numbers at once; gives the answers. */
  ask(count: number, more?: Partial<Question>): Promise<readonly Answer<string>[]>
  /** How many numbers the provider was sent. */
  sentCount(): number
  /** Replaces the settings, as a reload does. */
  reload(budget: object): void
  stop(): Promise<void>
}

/** One server with a provider that answers at once. */
function openServer(budget: object, setup: AskerSetup = {}): Server {
  let settings = settingsWith(budget)
  const opened = openAsker({
    ...setup,
    budget: (runtime) =>
      createProviderBudget(
        { path: 'source.provider', name: 'vendor' },
        { getSettings: () => settings, storage: database.storage, runtime },
      ),
  })
  const { asker, time, transport, options } = opened
  transport.onSend = (sent) => sent.answer()
  return {
    ...opened,
    sentCount: () => transport.sent.reduce((sum, { numbers }) => sum + numbers.length, 0),
    async ask(count, more = {}) {
      const answers = Promise.all(
        Array.from({ length: count }, () => asker.ask(about(anyNumber(), more))),
      )
      await time.advance(500)
      return await answers
    },
    reload(next) {
      settings = settingsWith(next)
    },
    async stop() {
      await opened.close()
      await options.budget?.close()
    },
  }
}

const answered = (answers: readonly Answer<string>[]) => answers.filter(({ ok }) => ok).length
const failuresOf = (answers: readonly Answer<string>[]) =>
  answers.flatMap((answer) => (answer.ok ? [] : [answer]))

async function readUse({ start }: Pick<Server, 'start'>) {
  const all = await listBudgetUse(database.db, toUtcDay(start))
  return Object.fromEntries(
    all.map(({ accountId, unit, taken }) => [`${accountId} ${unit}`, taken]),
  )
}

describe('a part that the database refuses to store at first', () => {
  it('is taken once', async () => {
    const locked = new Error('locked by another process')
    let isLocked = true
    const lockOnce: KyselyPlugin = {
      transformQuery({ node }) {
        if (node.kind === 'UpdateQueryNode' && isLocked) {
          isLocked = false
          throw locked
        }
        return node
      },
      transformResult: async ({ result }) => result,
    }
    const store = new BudgetStore(
      {
        db: database.db.withPlugin(lockOnce),
        retryWhileLocked: (work) =>
          work().catch((cause: unknown) => {
            if (cause !== locked) throw cause
            return work()
          }),
      },
      'source.provider',
    )
    const day = toUtcDay(virtualTime().now())
    const key = { day, accountId: 'main', unit: 'numbers' } as const
    expect(await store.take(key, 50, 80)).toEqual({ granted: 50, taken: 50 })
    expect(isLocked).toBe(false)
    expect(await listBudgetUse(database.db, day)).toMatchObject([{ taken: 50 }])
  })
})

describe('without a budget', () => {
  it('nothing is counted, and accounts share answers', async () => {
    const server = openServer({})
    const number = anyNumber()
    const { answers } = await server.gathered(about(number), about(number, { accountId: 'acme' }))
    await answers
    expect(server.sentCount()).toBe(1)
    expect(await readUse(server)).toEqual({})
    await server.stop()
  })
})

describe('a budget of numbers', () => {
  it.each([1, 7, 100, 250])('of %i is used up exactly, never more', async (numbersPerDay) => {
    const server = openServer({ numbersPerDay })
    const all = [...(await server.ask(numbersPerDay - 1)), ...(await server.ask(5))]
    expect(answered(all)).toBe(numbersPerDay)
    expect(server.sentCount()).toBe(numbersPerDay)
    expect(answered(await server.ask(2))).toBe(0)
    expect(server.sentCount()).toBe(numbersPerDay)
    expect(await readUse(server)).toEqual({ 'main numbers': numbersPerDay })
    expect(server.left()).toEqual(nothingLeft)
    await server.stop()
  })

  it('says who may ask no more, by which setting, and until when', async () => {
    const server = openServer({ numbersPerDay: 1_000, accounts: { acme: { numbersPerDay: 2 } } })
    const [one, two] = await Promise.all([
      server.ask(3, { accountId: 'acme' }),
      server.ask(3, { accountId: 'other' }),
    ])
    expect(answered(two)).toBe(3)
    expect(failuresOf(one)).toEqual([
      {
        ok: false,
        reason: 'budget-spent',
        source: 'vendor',
        says: [
          {
            code: 'budget-spent',
            quote:
              'account acme may ask vendor no more on 2026-11-23 (UTC): its budget of 2 numbers ' +
              '(source.provider.budget.accounts.acme.numbersPerDay) is used up, and renewed at 2026-11-24T00:00:00Z',
          },
        ],
      },
    ])
    await server.stop()
  })

  it('of one of two accounts in a request ends only that account', async () => {
    const server = openServer({ accounts: { acme: { numbersPerDay: 1 } } })
    await server.ask(1, { accountId: 'acme' })
    const [acmes, others] = [anyNumber(), anyNumber()]
    const { answers } = await server.gathered(
      about(acmes, { accountId: 'acme' }),
      about(others, { accountId: 'other' }),
    )
    expect(await answers).toMatchObject([{ ok: false, reason: 'budget-spent' }, { ok: true }])
    expect(server.transport.sent.at(-1)?.numbers).toEqual([others])
    await server.stop()
  })

  it('is charged to each account that asks the same, in requests of its own', async () => {
    const server = openServer({ numbersPerDay: 10 })
    await Promise.all([server.ask(1), server.ask(1, { accountId: 'acme' })])
    const before = server.sentCount()
    const number = anyNumber()
    const { answers } = await server.gathered(
      about(number),
      about(number),
      about(number, { accountId: 'acme' }),
    )
    expect(answered(await answers)).toBe(3)
    expect(server.sentCount() - before).toBe(2)
    await server.stop()
    expect(await readUse(server)).toEqual({ 'main numbers': 2, 'acme numbers': 2 })
  })

  it('counts retries, and not what was never sent', async () => {
    const server = openServer({ numbersPerDay: 1_000 })
    await server.ask(1)
    let failures = 2
    server.transport.onSend = (sent) => {
      failures -= 1
      if (failures >= 0) sent.fail('unreachable')
      else sent.answer()
    }
    const asked = server.asker.ask(about())
    await server.time.advance(3_000)
    expect(await asked).toMatchObject({ ok: true })
    expect(server.sentCount()).toBe(4)
    const canceled = server.asker.ask(about())
    await server.stop()
    expect(await canceled).toMatchObject({
      ok: false,
      says: [{ code: 'source-failed', quote: 'closing' }],
    })
    expect(await readUse(server)).toEqual({ 'main numbers': 4 })
  })

  it('that ends before a retry leaves the question unanswered', async () => {
    const server = openServer({ numbersPerDay: 1 })
    server.transport.onSend = (sent) => sent.fail('unreachable')
    const asked = server.asker.ask(about())
    await server.time.advance(3_000)
    expect(await asked).toMatchObject({ ok: false, reason: 'budget-spent' })
    expect(server.sentCount()).toBe(1)
    await server.stop()
  })
})

describe('a retry of more than this server has left of its part', () => {
  const failures: Readonly<Record<string, (sent: SentRequest) => void>> = {
    'a failed request': (sent) => sent.fail('unreachable'),
    'a rate limit': (sent) => sent.reply({ status: 429, retryAfter: '1' }),
    'an expired token': (sent) => sent.reply({ status: 401 }),
    'a rejection, in halves': (sent) => sent.reply({ status: 400 }),
  }
  it.each(Object.entries(failures))('after %s may use the whole budget', async (_, fail) => {
    const credentials = { kind: 'oauth', clientId: 'a', clientSecret: 'b' } as const
    const server = openServer({ numbersPerDay: 1_000 }, { splitsRefusedBatches: true, credentials })
    const token = JSON.stringify({ access_token: 'a', token_type: 'Bearer', expires_in: 3_600 })
    let left = 2
    server.transport.onSend = (sent) => {
      if (sent.numbers.length === 0) return sent.reply({ body: token })
      left -= 1
      if (left === 0) fail(sent)
      else sent.answer()
    }
    await server.ask(1)
    const asked = Array.from({ length: 200 }, () => server.asker.ask(about(anyNumber())))
    await server.time.advance(2_900)
    expect(failuresOf(await Promise.all(asked))).toEqual([])
    await server.stop()
    expect(await readUse(server)).toEqual({ 'main numbers': server.sentCount() })
  })
})

describe('the count', () => {
  it('survives a restart, which gives back what was not used', async () => {
    const budget = { numbersPerDay: 1_000 }
    const before = openServer(budget)
    await before.ask(123)
    await before.stop()
    expect(await readUse(before)).toEqual({ 'main numbers': 123 })
    await database.reopen()
    const after = openServer(budget)
    expect(answered(await after.ask(1_000))).toBe(877)
    await after.stop()
  })

  it('is of all servers together, less a hundredth for each', async () => {
    const servers = [1, 2, 3].map(() => openServer({ numbersPerDay: 300 }))
    const all = await Promise.all(servers.map((server) => server.ask(200)))
    const count = servers.reduce((sum, server) => sum + server.sentCount(), 0)
    expect(answered(all.flat())).toBe(count)
    expect(count).toBeLessThanOrEqual(300)
    expect(count).toBeGreaterThanOrEqual(300 - 3 * 3)
    await Promise.all(servers.map((server) => server.stop()))
  })

  it('begins again at midnight UTC', async () => {
    const server = openServer({ numbersPerDay: 2 })
    expect(answered(await server.ask(3))).toBe(2)
    const toMidnight = 7 * 3_600_000
    await server.time.advance(toMidnight - 2_000)
    expect(answered(await server.ask(1))).toBe(0)
    await server.time.advance(2_000)
    expect(answered(await server.ask(3))).toBe(2)
    expect(await readUse(server)).toEqual({ 'main numbers': 2 })
    expect(await readUse({ start: server.start + 86_400_000 })).toEqual({ 'main numbers': 2 })
    await server.stop()
  })

  it('needs the database once in a hundredth of the budget', async () => {
    const server = openServer({ numbersPerDay: 10_000 })
    await server.ask(1)
    // In one turn of the event loop, in which no database can answer.
    for (let count = 1; count < 100; count += 1) {
      expect(server.options.budget?.take('main', 'scrub', false)).toHaveProperty('giveBack')
    }
    expect(await readUse(server)).toEqual({ 'main numbers': 200 })
    await server.stop()
  })

  it('that cannot be made leaves questions unanswered', async () => {
    const server = openServer({ numbersPerDay: 10 })
    await database.db.schema.alterTable('shared_limits').renameTo('elsewhere').execute()
    expect(failuresOf(await server.ask(1))).toMatchObject([
      {
        reason: 'source-failed',
        says: [
          {
            code: 'source-failed',
            quote: expect.stringContaining(
              'whether the budget of account main is used up is not known',
            ),
          },
        ],
      },
    ])
    expect(server.sentCount()).toBe(0)
    await database.db.schema.alterTable('elsewhere').renameTo('shared_limits').execute()
    expect(answered(await server.ask(1))).toBe(1)
    await server.stop()
  })

  it('takes changed limits over', async () => {
    const server = openServer({ numbersPerDay: 2 })
    expect(answered(await server.ask(3))).toBe(2)
    server.reload({ numbersPerDay: 5 })
    expect(answered(await server.ask(9))).toBe(3)
    server.reload({ numbersPerDay: 4 })
    expect(answered(await server.ask(1))).toBe(0)
    server.reload({})
    expect(answered(await server.ask(1))).toBe(1)
    await server.stop()
  })
})

const prices = { scrub: 0.004, internalDnc: 0, litigator: 0.002, legalTime: 0 }

describe('a budget of money', () => {
  it('is used up by the price of each question', async () => {
    const server = openServer({ costPerDay: 0.05, costPerNumber: prices })
    const answers = await server.ask(20)
    expect(answered(answers)).toBe(12)
    expect(failuresOf(answers)[0]).toMatchObject({
      reason: 'budget-spent',
      says: [
        {
          code: 'budget-spent',
          quote: expect.stringContaining(
            'its budget of 0.05 USD (source.provider.budget.costPerDay)',
          ),
        },
      ],
    })
    await server.stop()
    expect(await readUse(server)).toEqual({ 'main money': 48_000 })
  })

  it('gives back what a question was charged, also when its price has changed since', async () => {
    const server = openServer({ costPerDay: 1, costPerNumber: prices })
    await server.ask(1)
    const asked = server.asker.ask(about())
    server.reload({ costPerDay: 1, costPerNumber: { ...prices, scrub: 0.1 } })
    await server.stop()
    expect(await asked).toMatchObject({
      ok: false,
      says: [{ code: 'source-failed', quote: 'closing' }],
    })
    expect(await readUse(server)).toEqual({ 'main money': 4_000 })
  })

  it('and one of numbers both hold', async () => {
    const server = openServer({ costPerDay: 1, costPerNumber: prices, numbersPerDay: 3 })
    expect(answered(await server.ask(5))).toBe(3)
    await server.stop()
    expect(await readUse(server)).toEqual({ 'main money': 12_000, 'main numbers': 3 })
  })

  it('is not charged for what is free', async () => {
    const budget = { costPerDay: 0.001, costPerNumber: { ...prices, scrub: 0 } }
    const server = openServer(budget)
    expect(answered(await server.ask(50))).toBe(50)
    await server.stop()
    expect(await readUse(server)).toEqual({})
  })
})

describe('work that no call waits for', () => {
  it('stops at the warning share, so that calls have the rest', async () => {
    const server = openServer({ numbersPerDay: 100, warnAtPercent: 60 })
    const warmed = await server.ask(100, { inBackground: true })
    expect(answered(warmed)).toBe(60)
    expect(failuresOf(warmed)[0]).toMatchObject({
      reason: 'budget-reserved',
      says: [
        {
          code: 'budget-reserved',
          quote:
            'account main has used 60 % of its budget of 100 numbers (source.provider.budget.numbersPerDay); ' +
            'the rest until 2026-11-24T00:00:00Z is for calls (source.provider.budget.warnAtPercent)',
        },
      ],
    })
    expect(answered(await server.ask(100))).toBe(40)
    await server.stop()
  })

  it('that a call joins while it is counted may use the rest', async () => {
    const server = openServer({ numbersPerDay: 2, warnAtPercent: 50 })
    await server.ask(1)
    await server.stop()
    const restarted = openServer({ numbersPerDay: 2, warnAtPercent: 50 })
    const number = anyNumber()
    const { answers } = await restarted.gathered(
      about(number, { inBackground: true }),
      about(number),
    )
    await restarted.time.advance(500)
    expect(await answers).toMatchObject([{ ok: true }, { ok: true }])
    expect(restarted.sentCount()).toBe(1)
    await restarted.stop()
  })
})

describe('the log', () => {
  it('says it once a day, at the share and at the end, for all servers', async () => {
    const budget = { numbersPerDay: 10 }
    const servers = [openServer(budget), openServer(budget)]
    for (let round = 0; round < 12; round += 1) {
      for (const server of servers) await server.ask(1)
    }
    const lines = servers.flatMap((server) => server.lines)
    expect(lines.map(({ line }) => line).sort()).toEqual([
      'warn: an account has used 80 % of its budget of a provider',
      expect.stringMatching(/^warn: an account has used up its budget of a provider/),
    ])
    expect(lines[0]?.fields).toEqual({
      provider: 'vendor',
      account: 'main',
      budget: '10 numbers',
      setting: 'source.provider.budget.numbersPerDay',
      renewedAt: '2026-11-24T00:00:00Z',
    })
    await Promise.all(servers.map((server) => server.stop()))
    const restarted = openServer(budget)
    await restarted.ask(3)
    expect(restarted.lines).toEqual([])
    await restarted.stop()
  })
})

describe('the doctor', () => {
  const findingsOf = async (server: Server, budget: object) => {
    const found = await findBudgetFindings(settingsWith(budget), database.db, server.time)
    return found.map(({ level, problem, fix }) => `${level}: ${problem} -> ${fix}`)
  }

  const createAccount = async (id: string, { start }: Server) => {
    const account = { id, kind: 'real', name: id, agents_may_remove: 0, created_at: start } as const
    await database.db.insertInto('accounts').values(account).execute()
  }

  it('says whose budget is used up or nearly so', async () => {
    const budget = {
      numbersPerDay: 10,
      accounts: { acme: { costPerDay: 1 } },
      costPerNumber: prices,
    }
    const server = openServer(budget)
    await createAccount('acme', server)
    await server.ask(8, { accountId: 'other' })
    await server.ask(1, { accountId: 'acme' })
    await server.ask(11)
    expect(await findingsOf(server, budget)).toEqual([
      'now: account main has used up its budget of vendor for today: 10 of 10 numbers, and vendor is not asked for it ' +
        'until 2026-11-24T00:00:00Z -> raise source.provider.budget.numbersPerDay and reload, or wait until ' +
        '2026-11-24T00:00:00Z; callgate report budgets',
      'soon: account other has used much of its budget of vendor for today: 9 of 10 numbers -> raise ' +
        'source.provider.budget.numbersPerDay and reload, or wait until 2026-11-24T00:00:00Z; callgate report budgets',
    ])
    await server.stop()
    await server.time.advance(7 * 3_600_000)
    expect(await findingsOf(server, budget)).toEqual([])
  })

  it('names the accounts of budgets that do not exist', async () => {
    const server = openServer({})
    const accounts = { main: { numbersPerDay: 1 }, amce: { numbersPerDay: 500 } }
    await createAccount('main', server)
    expect(await findingsOf(server, { accounts })).toEqual([
      "soon: source.provider.budget.accounts has a budget for account 'amce', which does not exist -> correct the " +
        'name or remove it, and reload; the accounts: callgate accounts list',
    ])
    await server.stop()
  })

  it('says which providers have none', async () => {
    const server = openServer({})
    expect(await findingsOf(server, {})).toEqual([
      'note: accounts may ask vendor without a limit a day, whatever it costs -> set source.provider.budget ' +
        '(docs/remote-source.md#budgets)',
    ])
    await server.stop()
  })
})

describe('lookups', () => {
  it('are counted for the account that looks up, and not when they are cached', async () => {
    const budget = { numbersPerDay: 2, accounts: { acme: { numbersPerDay: 1 } } }
    const settings = settingsSchema.parse({
      lookups: { name: 'acme', baseUrl: 'https://acme.test', loginId: 'a', budget },
    })
    const time = virtualTime()
    const runtime = { clock: time, timers: time, log: silentLogger }
    const { provider, transport, outcome } = openLookups({
      budget: createProviderBudget(
        { path: 'lookups', name: 'acme' },
        { getSettings: () => settings, storage: database.storage, runtime },
      ),
    })
    transport.onSend = (sent) => {
      const phone = new URL(sent.request.url).searchParams.get('phone') ?? ''
      replyJson(sent, { Phone: phone, ResOrBusiness: 'R' })
    }
    const find = async (accountId: string, number: PhoneNumber) =>
      await outcome(provider.forAccount(accountId).resOrBusiness(number), 200)
    const [one, two] = [n('2127360001'), n('2127360002')]
    expect(await find('acme', one)).toEqual({ value: 'R' })
    expect(await find('acme', one)).toEqual({ value: 'R' })
    expect(await find('acme', two)).toMatchObject({
      error: {
        message: expect.stringContaining('(lookups.budget.accounts.acme.numbersPerDay) is used up'),
      },
    })
    expect(await find('other', two)).toEqual({ value: 'R' })
    expect(transport.sent).toHaveLength(2)
    await provider.close()
  })
})

describe('settings', () => {
  const problemsOf = (budget: object, more: object = {}) => {
    const provider = { name: 'vendor', baseUrl: 'https://base.test', loginId: 'a', budget }
    const parsed = settingsSchema.safeParse({ source: { kind: 'remote', provider }, ...more })
    return parsed.error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []
  }

  it('name a price for every question if money is limited', () => {
    const { litigator: _, ...others } = prices
    expect(problemsOf({ costPerDay: 1, costPerNumber: prices })).toEqual([])
    expect(problemsOf({ costPerNumber: others })).toEqual([])
    const problem =
      'source.provider.budget.costPerNumber: litigator must be given with costPerDay, 0 for what is free'
    expect(problemsOf({ costPerDay: 1, costPerNumber: others })).toEqual([problem])
    const accounts = { acme: { costPerDay: 1 } }
    expect(problemsOf({ accounts, costPerNumber: others })).toEqual([problem])
  })

  it('have no unknown question and no amount that cannot be counted', () => {
    expect(problemsOf({ costPerNumber: { scrubs: 1 } })).toHaveLength(1)
    expect(problemsOf({ costPerNumber: { scrub: 0.0000001 } })).toEqual([
      'source.provider.budget.costPerNumber.scrub: must have at most six decimals',
    ])
    expect(problemsOf({ numbersPerDay: 0 })).toHaveLength(1)
    expect(problemsOf({ atEnd: 'own-data' })).toHaveLength(1)
    expect(problemsOf({ costPerDay: 0, costPerNumber: prices })).toHaveLength(1)
  })

  it('have no budget on an edge', () => {
    const edge = { centers: ['https://center.test'], loginIdFile: '/key' }
    expect(problemsOf({}, { edge })).toEqual([])
    expect(problemsOf({ accounts: { acme: { numbersPerDay: 1 } } }, { edge })).toEqual([
      'source.provider.budget: must have no limit with edge.centers: each edge would count by itself',
    ])
  })
})
