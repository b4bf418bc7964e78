/** Every call that takes a list lets the event loop turn while it works on a long one. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Caller, noLimits } from '../../src/domain/caller.js'
import { createServiceRoutes } from '../../src/service/service-routes.js'
import { turnsDuring } from '../support/event-loop-turns.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
const caller: Caller = {
  accountId: 'sandbox',
  role: 'Administrator',
  keyId: 'test',
  limits: noLimits,
}

beforeAll(async () => {
  running = await openTestCallgate()
  await running.callgate.accounts.set('sandbox', { mayScan: true })
})

afterAll(async () => {
  await running.end()
})

const count = 1000
const numbers = Array.from({ length: count }, (_, index) => String(2_122_000_000 + index))
const fictional = numbers.map((_, index) => `21255501${String(index % 20).padStart(2, '0')}`)
const phoneList = numbers.join(',')
const ebrList = numbers.map((phoneNumber) => ({
  phoneNumber,
  type: 'P',
  dateOfLastContact: '11/20/2026',
}))

/**
 * The least turns are one per row for each time the list is gone through, of which not one may be at
 * a stretch, and one per statement. The first row of a list gives way to nobody. The rows of a scrub are
 * written in parts, which take less than half a millisecond.
 */
const perRow = 998

test.each<[name: string, fields: object, leastTurns: number]>([
  ['scrub-post', { phoneList, version: '8', output: 'json' }, 5 * perRow + 12],
  ['scrub-post', { phoneList }, 5 * perRow + 12],
  ['pdnc-post', { phoneList, actionType: 'add' }, 2 * perRow + 24],
  ['pdnc-post', { phoneList, actionType: 'status' }, 5 * perRow + 6],
  ['pdnc-post', { phoneList, actionType: 'remove' }, 2 * perRow + 6],
  ['ebr', { ebrList }, 11 * perRow + 38],
  ['ebr', { ColValue: ebrList }, 11 * perRow + 38],
  ['ebr', { ebrList, keepBetterEBR: 1 }, 12 * perRow + 38],
  ['ebr', { ebrList: [{ ...ebrList[0], phoneNumber: phoneList }] }, 10 * perRow + 38],
  ['scrub-post', { phoneList: numbers[0], ebrList }, 12 * perRow + 38],
  ['ebr-remove', { phoneList }, perRow + 12],
  [
    'time-legal',
    { IsTimeLegalToCall: numbers.map((PhoneNumber) => ({ PhoneNumber })) },
    3 * perRow,
  ],
  [
    'legal-call-times',
    { LegalCallTimesForDate: numbers.map((PhoneNumber) => ({ PhoneNumber })) },
    3 * perRow,
  ],
  ['time-zone-info', { PhoneList: numbers }, 2 * perRow],
  ['litigator-post', { PhoneList: fictional.join(',') }, 2 * perRow],
  [
    'enhanced-rnd-post',
    { Data: numbers.map((phoneNumber) => ({ phoneNumber, date: '2024-01-31' })) },
    4 * perRow,
  ],
  ['reputation-get-post', { body: numbers }, 2 * perRow],
  ['reputation-remove', { body: numbers }, 2 * perRow],
  [
    'scan-submit',
    { PhoneNumbers: numbers, NotificationURL: 'https://hooks.example', ScanType: 'carrier' },
    perRow,
  ],
])('%s lets the event loop turn', async (name, fields, leastTurns) => {
  const routes = createServiceRoutes(running.callgate.service, { wrappedRows: false })
  const found = routes.find(({ endpoint }) => endpoint.name === name)
  if (!found) throw new Error(`there is no endpoint ${name}`)
  const ask = () => found.handle(fields, { caller, jsonRequested: true })
  const { turns } = await turnsDuring(ask, 6)
  expect(turns).toBeGreaterThanOrEqual(leastTurns)
})
