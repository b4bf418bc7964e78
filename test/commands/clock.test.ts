/** A clock that runs behind what was stored: no allow, not ready, logged; and the way out. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { registerClock } from '../../src/commands/clock.js'
import { ClockMonitor } from '../../src/commands/serve/clock-monitor.js'
import { runCommand } from '../support/run-command.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { openTwoAccounts } from '../support/two-accounts.js'

const number = '2127361000'
const monday = Date.UTC(2026, 10, 23, 17)
const sunday = Date.UTC(2026, 10, 22, 17)

let running: TestCallgate
beforeEach(async () => {
  running = (await openTwoAccounts()).running
})
afterEach(async () => await running.end())

async function restart() {
  await running.stop()
  const { dataDir, clock } = running
  running = await openTestCallgate({ dataDir, at: clock.at })
}

async function decide(dialed = number, key = running.keys.main) {
  const asked = { number: dialed, callKind: 'manual' }
  const answer = await running.postJson('/v1/decisions', asked, key)
  const { decision, reason } = (await answer.json()) as Record<string, string>
  return `${decision} ${reason}`
}

const pdnc = (actionType: 'add' | 'remove', phoneList: string) =>
  running.postJson('/app/main/rpc/pdnc', { actionType, phoneList }, running.keys.main)

async function clockCheck() {
  const answer = await running.get('/readyz')
  const { checks } = (await answer.json()) as {
    checks: { name: string; ready: boolean; detail?: string }[]
  }
  return { status: answer.status, ...checks.find(({ name }) => name === 'clock') }
}

describe('a clock that was set back behind', () => {
  test('a decision gives no allow after a stop and a start either', async () => {
    expect(await decide()).toMatch(/^allow/)
    running.clock.at = monday - 10_000
    await restart()
    expect(await decide()).toBe('block clock-behind')
  })

  test.each([
    ['an opt-out', async () => void (await pdnc('add', '2127361009'))],
    ['a removal', async () => void (await pdnc('remove', '2127361009'))],
    [
      'a consent',
      async () => {
        const ebrList = [{ phoneNumber: '2127361009', type: 'P', dateOfLastContact: '2026-11-01' }]
        await running.postJson('/app/main/rpc/ebr', { ebrList }, running.keys.main)
      },
    ],
    ['a decision', async () => void (await decide())],
  ])('%s gives no allow, for any account, until it is right again', async (_what, store) => {
    await store()
    running.clock.at = monday - 2_001
    expect(await decide()).toBe('block clock-behind')
    expect(await decide('2125550100', running.keys.sandbox)).toBe('block clock-behind')
    expect(await decide('911')).toBe('allow service-code')
    expect(await clockCheck()).toMatchObject({ status: 503, ready: false })
    running.clock.at = monday - 2_000
    expect(await decide()).toBe('allow permitted')
    expect((await clockCheck()).ready).toBe(true)
  })

  test('an opt-out gives none after a restart either', async () => {
    await pdnc('add', '2127361009')
    running.clock.at = monday - 3_600_000
    await restart()
    expect(await decide()).toBe('block clock-behind')
    expect((await clockCheck()).detail).toContain(
      'the clock shows 2026-11-23T16:00:00Z, but a record was stored at 2026-11-23T17:00:00Z',
    )
  })

  test('a decision is remembered over a restart once the server has written it back', async () => {
    running.clock.at = monday + 3_600_000
    await decide()
    await new ClockMonitor(running.callgate).check()
    running.clock.at = monday
    await restart()
    expect(await decide()).toBe('block clock-behind')
  })

  test('a row that another process stored gives none once it is seen', async () => {
    await running.callgate.storage.db
      .updateTable('change_head')
      .set({ newest_at: monday + 3_600_000 })
      .execute()
    await new ClockMonitor(running.callgate).check()
    expect(await decide()).toBe('block clock-behind')
  })

  test('a record is blocked by its record too, with how far it is behind', async () => {
    await pdnc('add', '2127361009')
    running.clock.at = monday - 60_000
    const answer = await running.postJson(
      '/v1/decisions',
      { number, callKind: 'manual' },
      running.keys.main,
    )
    const { id, message } = (await answer.json()) as { id: string; message: string }
    expect(message).toBe(
      'the clock is behind the newest stored record, so times are unreliable: by 60 s',
    )
    await running.callgate.journal.drain()
    expect(await running.callgate.journal.find('main', id)).toMatchObject({
      decision: 'block',
      reason: 'clock-behind',
    })
  })

  test('is logged once when it falls behind and once when it is right again', async () => {
    await pdnc('add', '2127361009')
    const report = new ClockMonitor(running.callgate)
    const logged = async () => {
      running.logLines.length = 0
      await report.check()
      await report.check()
      return running.logLines
        .filter((line) => line.includes('clock'))
        .map((line) => line.length > 0)
    }
    expect(await logged()).toEqual([])
    running.clock.at = sunday
    expect(await logged()).toEqual([true])
    running.clock.at = monday
    expect(await logged()).toEqual([true])
  })
})

test('an opt-out of a clock that is behind is dated after what was stored before it', async () => {
  await decide()
  running.clock.at = sunday
  await pdnc('add', number)
  const [row] = await running.callgate.storage.db
    .selectFrom('internal_dnc')
    .selectAll()
    .where('number', '=', number)
    .execute()
  expect(row).toMatchObject({ added_at: sunday, stored_at: sunday, opted_out_at: monday })
})

describe('callgate clock accept', () => {
  test('ends the wait for a clock that ran ahead, at once on a running server', async () => {
    const year = 365 * 86_400_000
    running.clock.at = Date.now() + year
    await pdnc('add', '2127361009')
    await decide()
    running.clock.at = Date.now()
    await pdnc('add', '2127361008')
    // The command reads the real clock, so the call may also be outside its hours.
    expect(await decide('2127361000')).toMatch(/^block /)
    expect(running.callgate.changeHead.getLagMs()).toBeGreaterThan(0)
    const { dataDir } = running
    const ended = await runCommand(registerClock, ['clock', 'accept'], { dataDir })
    expect(ended.code).toBe(0)
    expect(ended.err).toContain('opt-outs redated from a later time: 2')
    running.clock.at = Date.now()
    await new ClockMonitor(running.callgate).check()
    expect((await clockCheck()).ready).toBe(true)
    const rows = await running.callgate.storage.db
      .selectFrom('internal_dnc')
      .select('opted_out_at')
      .execute()
    expect(rows.every((row) => row.opted_out_at <= Date.now())).toBe(true)
  })
})

test('a database that cannot be asked is logged once, and again after it could be', async () => {
  const { changeHead, runtime } = running.callgate
  let fails = true
  const refresh = () => (fails ? Promise.reject(new Error('locked')) : changeHead.refresh())
  const watched = {
    refresh,
    getLagMs: () => changeHead.getLagMs(),
    newestAt: changeHead.newestAt,
  } as unknown as typeof changeHead
  const report = new ClockMonitor({ changeHead: watched, runtime })
  const failures = () =>
    running.logLines.filter((line) => line.includes('could not be read')).length
  await report.check()
  await report.check()
  expect(failures()).toBe(1)
  fails = false
  await report.check()
  fails = true
  await report.check()
  expect(failures()).toBe(2)
})
