/** Decisions that have to ask PostgreSQL share their queries. */
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { isPostgres } from '../support/test-engine.js'

const noon = '2026-11-23T17:00:00Z'
const areaCodes = '212 718 646 917 347 516 914 607 315 845 585 716 631 518 838 680 929 934'
/** Landlines of the sandbox, on no list. */
const lines = areaCodes.split(' ').map((areaCode) => toPhoneNumber(`${areaCode}5550100`))

let app: TestCallgate

beforeEach(async () => {
  app = await openTestCallgate({
    environment: { CALLGATE_GATE_CACHE_MAX_ENTRIES: '0', CALLGATE_SANDBOX_AT: noon },
  })
})

afterEach(async () => {
  vi.restoreAllMocks()
  await app.end()
})

const decide = (dialed: string) =>
  app.callgate.gate.decide({ accountId: 'sandbox', dialed, callKind: 'manual', via: 'http' })

const decideAll = (numbers: readonly string[]) => Promise.all(numbers.map(decide))

/** How many queries of lists and of records were sent meanwhile. */
async function countQueries(work: () => Promise<unknown>): Promise<readonly [number, number]> {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  await work()
  const texts = query.mock.calls.map(([text]) => String(text))
  query.mockRestore()
  const countOf = (table: string) => texts.filter((text) => text.includes(`from "${table}"`)).length
  return [countOf('internal_dnc'), countOf('ebr_records')]
}

describe.runIf(isPostgres())('decisions at the same time', () => {
  it('read the lists with one query, and the records with another', async () => {
    await decideAll(lines)
    const [lists, records] = await countQueries(async () => {
      for (const { decision } of await decideAll(lines)) expect(decision).toBe('allow')
    })
    expect([lists, records]).toEqual([1, 1])
  })

  it('each get the answer for their own number', async () => {
    const listed = lines.filter((_, index) => index % 3 === 0)
    const rpc = { phoneList: listed.join(','), actionType: 'add' }
    expect((await app.postJson('/app/main/rpc/pdnc', rpc)).status).toBe(200)
    const decisions = await decideAll([...lines, ...lines])
    for (const { number, decision, reason } of decisions) {
      const isListed = listed.some((one) => one === number)
      const expected = isListed ? 'block internal-dnc' : 'allow permitted'
      expect(`${decision} ${reason}`, number).toBe(expected)
    }
  })

  it('are all blocked when the query fails', async () => {
    await decideAll(lines)
    await app.callgate.storage.db.schema.alterTable('internal_dnc').renameTo('away').execute()
    for (const { decision, reason } of await decideAll(lines)) {
      expect(`${decision} ${reason}`).toBe('block check-unanswered')
    }
  })
})
