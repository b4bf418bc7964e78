/** `callgate opt-outs list` as an operator runs it, beside a running server. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { registerOptOuts } from '../../src/commands/records/opt-outs.js'
import { runCommand } from '../support/run-command.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate({ at: Date.UTC(2026, 10, 20, 17) })
})

afterAll(() => running.end())

const list = (...args: string[]) =>
  runCommand(registerOptOuts, ['opt-outs', 'list', ...args], { dataDir: running.dataDir })

const read = (...ids: string[]) =>
  runCommand(registerOptOuts, ['opt-outs', 'read', ...ids], { dataDir: running.dataDir })

it('shows when each came in and took effect, until when the law would have it honored, and the words', async () => {
  const report = (body: object) => running.postJson('/v1/opt-outs', body, running.keys.main)
  const received = {
    receivedAt: '2026-11-19T17:00:00Z',
    channel: 'voicemail',
    said: 'stop calling',
    goods: 'solar\u001b[31m panels',
  }
  expect((await report({ number: '2125550100', ...received })).status).toBe(200)
  running.clock.at += 60_000
  const said = 'I said\n\u001b[31mno'
  expect((await report({ number: '2125550101', channel: 'text', said })).status).toBe(200)
  const { out, code } = await list()
  expect(code).toBe(0)
  const [head, ...rows] = out.trimEnd().split('\n')
  expect(head).toMatch(
    /^RECEIVED +IN FORCE +LAW +NUMBER +SCOPE +CHANNEL +SOURCE +BY +GOODS +WORDS$/,
  )
  expect(rows).toEqual([
    expect.stringMatching(
      /^2026-11-20T17:01:00Z +2026-11-20T17:01:00Z +2026-12-07 +2125550101 +everything +text +api +key-\w+ +- +I said {2}\[31mno$/,
    ),
    expect.stringMatching(
      /^2026-11-19T17:00:00Z +2026-11-20T17:00:00Z +2026-12-04 +2125550100 +everything +voicemail +api +key-\w+ +solar \[31m panels +stop calling$/,
    ),
  ])
  const lines = async (...args: string[]) =>
    (await list(...args)).out.trimEnd().split('\n').length - 1
  expect(await lines('--unclear')).toBe(1)
  expect(await lines('--number', '+1 212 555 0100')).toBe(1)
  expect(await lines('--limit', '1')).toBe(1)
  expect(await lines('--account', 'sandbox')).toBe(0)
  const [, unclear = ''] = (await list('--unclear')).out.split('\n')
  const [id = ''] = unclear.split(' ')
  expect(await read(id)).toMatchObject({ code: 0, err: 'read: 1; they stay in force\n' })
  expect(await lines('--unclear')).toBe(0)
  expect(await lines()).toBe(2)
  expect(await read(id)).toMatchObject({ code: 1, err: expect.stringContaining('is to be read') })
  const decision = { number: '2125550101', callKind: 'manual' }
  const decided = await running.postJson('/v1/decisions', decision, running.keys.main)
  expect(await decided.json()).toMatchObject({ decision: 'block', reason: 'internal-dnc' })
  expect(await list('--number', '911')).toMatchObject({
    code: 2,
    err: expect.stringContaining("--number '911'"),
  })
  expect(await list('--account', 'nobody')).toMatchObject({ code: 2 })
})
