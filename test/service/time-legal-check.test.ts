import { describe, expect, test } from 'vitest'
import { fixedClock } from '../../src/domain/time/clock.js'
import { formatInstant } from '../../src/domain/time/dates.js'
import { checkItem, type HoursItem } from '../../src/service/calling-hours/calling-hours.js'
import { TimeLegalCheck } from '../../src/service/calling-hours/time-legal-check.js'
import { chooseByAccount } from '../../src/service/sandbox/sandbox.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects, caller } from '../support/service-subjects.js'
import { instant } from '../support/test-clock.js'

const database = useDatabase()
const me = caller('main')
const good = { phoneNumber: '2125550100', proposedAt: undefined, projectId: undefined }

/**
 * Refuses items as the calling hours do, and permits the rest for as many seconds as the project
 * has rows of hours, telling the instant it judged.
 */
function permissiveHours(judged: string[] = []) {
  return {
    checkTimeLegal(item: HoursItem) {
      const checked = checkItem(item)
      if ('refused' in checked) return checked.refused
      judged.push(formatInstant(checked.at))
      return {
        status: 'OK' as const,
        permitted: true,
        secondsLeft: item.overrides?.length ?? -1,
        opensAt: checked.at,
        says: [],
        restrictedDay: undefined,
        placeSource: undefined,
        message: null,
        holdsUntil: Number.POSITIVE_INFINITY,
      }
    },
  }
}

async function build(judged: string[] = []) {
  const subjects = await buildSubjects(database.storage)
  await subjects.projects.create({ accountId: 'main', code: 'SALES', name: 'x' })
  await subjects.projects.create({ accountId: 'other', code: 'FOREIGN', name: 'x' })
  await subjects.projects.setHours({ accountId: 'main', code: 'SALES' }, 'FL', {
    monFri: '09:00-10:00',
    sat: 'none',
    sun: 'none',
  })
  const timeLegal = new TimeLegalCheck({
    projects: subjects.projects,
    viewOf: () => ({ clock: subjects.clock, hours: permissiveHours(judged) }),
  })
  return { ...subjects, timeLegal }
}

test.each([
  ['ten digits', {}, 'OK'],
  ['nine digits', { phoneNumber: '212555010' }, 'INVALID_PHONE'],
  ['a country code', { phoneNumber: '12125550100' }, 'INVALID_PHONE'],
  ['letters', { phoneNumber: '212555010a' }, 'INVALID_PHONE'],
  ['no number', { phoneNumber: undefined }, 'INVALID_PHONE'],
  ['null for a number', { phoneNumber: null }, 'INVALID_PHONE'],
  ['a number as a number', { phoneNumber: 2_125_550_100 }, 'INVALID_PHONE'],
  ['an object for a number', { phoneNumber: {} }, 'INVALID_PHONE'],
  ['toll-free', { phoneNumber: '8005550100' }, 'TOLL_FREE'],
  ['reserved toll-free', { phoneNumber: '8895550100' }, 'TOLL_FREE'],
  ['null for a date', { proposedAt: null }, 'OK'],
  ['an instant', { proposedAt: '2026-11-24T13:00:00Z' }, 'OK'],
  ['an instant without an offset', { proposedAt: '2026-11-24T13:00:00' }, 'OK'],
  ['nonsense for a date', { proposedAt: 'tomorrow' }, 'INVALID_DATE'],
  ['an empty date', { proposedAt: '' }, 'INVALID_DATE'],
  ['a number for a date', { proposedAt: 1_795_000_000_000 }, 'INVALID_DATE'],
  ['a day that is not', { proposedAt: '2026-02-30T00:00:00Z' }, 'INVALID_DATE'],
  ['fifty years ahead', { proposedAt: '2076-11-20T23:59:59Z' }, 'OK'],
  ['a day more', { proposedAt: '2076-11-21T00:00:00Z' }, 'INVALID_DATE'],
  ['fifty years back', { proposedAt: '1976-11-20T00:00:00Z' }, 'OK'],
  ['a day less', { proposedAt: '1976-11-19T23:59:59Z' }, 'INVALID_DATE'],
  ['a project', { projectId: 'sales' }, 'OK'],
  ['the account id', { projectId: 'main' }, 'OK'],
  ['an empty project', { projectId: '' }, 'OK'],
  ['null for a project', { projectId: null }, 'OK'],
  ['an unknown project', { projectId: 'NOPE' }, 'INVALID_PROJECT'],
  ['an unknown project as a number', { projectId: 77 }, 'INVALID_PROJECT'],
  ['a project of another account', { projectId: 'FOREIGN' }, 'INVALID_PROJECT'],
  ['a list for a project', { projectId: ['SALES'] }, 'INVALID_PROJECT'],
  ['everything wrong', { phoneNumber: 1, projectId: 'NOPE', proposedAt: 'x' }, 'INVALID_PHONE'],
  ['project and date wrong', { projectId: 'NOPE', proposedAt: 'x' }, 'INVALID_PROJECT'],
  ['date wrong, toll-free', { phoneNumber: '8005550100', proposedAt: 'x' }, 'INVALID_DATE'],
])('%s: %j is %s', async (_name, change, status) => {
  const { timeLegal } = await build()
  const [row] = await timeLegal.check(me, [{ ...good, ...change }])
  expect(row?.status).toBe(status)
  expect(row?.permitted).toBe(status === 'OK')
  if (status === 'OK') expect(row?.message).toBeNull()
  else expect(row?.message).toMatch(/\S/)
})

test('one row per item comes back in order, bad ones among good ones', async () => {
  const { timeLegal } = await build()
  const phones = ['2125550100', 'x', '8005550100', '2125550100', null]
  const rows = await timeLegal.check(
    me,
    phones.map((phoneNumber) => ({ ...good, phoneNumber })),
  )
  expect(rows.map((row) => [row.phoneNumber, row.status])).toEqual([
    ['2125550100', 'OK'],
    ['x', 'INVALID_PHONE'],
    ['8005550100', 'TOLL_FREE'],
    ['2125550100', 'OK'],
    ['', 'INVALID_PHONE'],
  ])
})

test('without a date the item is judged as of now, with one as of then', async () => {
  const judged: string[] = []
  const { timeLegal } = await build(judged)
  await timeLegal.check(me, [good, { ...good, proposedAt: '2026-12-01T08:00:00-05:00' }])
  expect(judged).toEqual(['2026-11-20T12:00:00Z', '2026-12-01T13:00:00Z'])
})

test("each item has its own project's hours", async () => {
  const { timeLegal } = await build()
  const projects = ['SALES', undefined, 'sales']
  const rows = await timeLegal.check(
    me,
    projects.map((projectId) => ({ ...good, projectId })),
  )
  expect(rows.map((row) => row.secondsLeft)).toEqual([1, 0, 1])
})

describe('messages', () => {
  test.each([
    [{ proposedAt: 'tomorrow' }, "CallProposedDateTimeInUTC 'tomorrow': must be an ISO 8601"],
    [{ proposedAt: '2176-01-01T00:00:00Z' }, 'must be within 50 years of today'],
    [{ projectId: 'NOPE' }, "DNCProjId 'NOPE': is not an active project of this account"],
    [{ phoneNumber: '12' }, "PhoneNumber '12': must be exactly 10 digits"],
  ])('%j names the field, the value and the rule', async (change, text) => {
    const { timeLegal } = await build()
    const [row] = await timeLegal.check(me, [{ ...good, ...change }])
    expect(row?.message).toContain(text)
  })
})

test('the account answers by its own clock and its own hours', async () => {
  const { projects } = await build()
  const judged: string[] = []
  const timeLegal = new TimeLegalCheck({
    projects,
    viewOf: chooseByAccount({
      sandbox: {
        clock: fixedClock(instant('2026-11-23T17:00:00Z')),
        hours: permissiveHours(judged),
      },
      real: { clock: fixedClock(instant('2030-01-01T00:00:00Z')), hours: permissiveHours([]) },
    }),
  })
  await timeLegal.check(caller('sandbox'), [good])
  await timeLegal.check(me, [good])
  expect(judged).toEqual(['2026-11-23T17:00:00Z'])
})
