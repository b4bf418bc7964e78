/** Every call that takes a list lets the event loop turn while it works on a long one. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Caller, noLimits } from '../../src/domain/caller.js'
import { serviceRoutes } from '../../src/service/service-routes.js'
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
  ...{ phoneNumber, type: 'P', dateOfLastContact: '11/20/2026' },
}))

/** Once per statement of 256 rows or less. */
const perChunk = 4
/** Once per row, or nearly. */
const perRow = 900

test.each<[name: string, fields: object, leastTurns: number]>([
  ['scrub-post', { phoneList, version: '8', output: 'json' }, perRow],
  ['scrub-post', { phoneList }, perRow],
  ['pdnc-post', { phoneList, actionType: 'add' }, perChunk],
  ['pdnc-post', { phoneList, actionType: 'status' }, perRow],
  ['pdnc-post', { phoneList, actionType: 'remove' }, perChunk],
  ['ebr', { ebrList }, perRow],
  ['ebr', { ebrList, keepBetterEBR: 1 }, perRow],
  ['ebr', { ebrList: [{ ...ebrList[0], phoneNumber: phoneList }] }, perRow],
  ['scrub-post', { phoneList: numbers[0], ebrList }, perRow],
  ['ebr-remove', { phoneList }, perChunk],
  ['time-legal', { IsTimeLegalToCall: numbers.map((PhoneNumber) => ({ PhoneNumber })) }, perRow],
  [
    'legal-call-times',
    { LegalCallTimesForDate: numbers.map((PhoneNumber) => ({ PhoneNumber })) },
    perRow,
  ],
  ['time-zone-info', { PhoneList: numbers }, perRow],
  ['litigator-post', { PhoneList: fictional.join(',') }, perRow],
  [
    'enhanced-rnd-post',
    { Data: numbers.map((phoneNumber) => ({ phoneNumber, date: '2024-01-31' })) },
    perRow,
  ],
  ['reputation-get-post', { body: numbers }, perChunk],
  ['reputation-remove', { body: numbers }, perChunk],
  [
    'scan-submit',
    { PhoneNumbers: numbers, NotificationURL: 'https://hooks.example', ScanType: 'carrier' },
    perChunk,
  ],
])('%s lets the event loop turn', async (name, fields, leastTurns) => {
  const routes = serviceRoutes(running.callgate.service, { wrappedRows: false })
  const found = routes.find(({ endpoint }) => endpoint.name === name)
  if (!found) throw new Error(`there is no endpoint ${name}`)
  const ask = () => found.answer(fields, { caller, jsonRequested: true })
  const { turns } = await turnsDuring(ask, 6)
  expect(turns).toBeGreaterThanOrEqual(leastTurns)
})
