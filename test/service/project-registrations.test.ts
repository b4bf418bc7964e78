/** What registries have said of a project, and what ends by itself. */
import { describe, expect, test } from 'vitest'
import type { ProjectInput } from '../../src/service/projects/project-input.js'
import { useDatabase } from '../support/database.js'
import { caller } from '../support/service-subjects.js'
import { instant } from '../support/test-clock.js'
import { buildProjects, keptEvents } from './projects-fixture.js'

const database = useDatabase()
const main = caller('main')
const sales = { accountId: 'main', code: ' sales ' }
const url = 'https://hooks.example.com/p'
const dayMs = 86_400_000

async function build(input: ProjectInput = { san: '1-2-26', webhookUrl: url }) {
  const parts = await buildProjects(database.storage)
  await parts.projects.records.save(main, { code: 'SALES', input: { name: 'Sales', ...input } })
  const { registrations, records } = parts.projects
  return { ...parts, facts: registrations, show: () => records.get(main, 'SALES') }
}

describe('the federal validation', () => {
  test('is recorded as the registry said it, and told', async () => {
    const { facts, show, clock, queue } = await build()
    clock.advance(3_600_000)
    expect(
      await facts.recordFtcValidation(sales, {
        status: 'validated',
        orgId: '7',
        message: ' all well ',
        expiration: '12/31/2026',
        areaCodes: ['646', ' 212', '646'],
      }),
    ).toBe('SALES')
    const FtcValidation = {
      Status: 'validated',
      OrgId: '7',
      San: '1-2-26',
      CheckedOn: '2026-11-20T13:00:00Z',
      Message: 'all well',
      Expiration: '2026-12-31',
      HasEntireUs: false,
      AreaCodes: ['212', '646'],
    }
    expect(await show()).toMatchObject({ FtcValidation, LastModifiedOn: '2026-11-20T13:00:00Z' })
    expect(await keptEvents(database.db)).toMatchObject([
      { event: 'project.ftcValidation', body: { Data: { FtcValidation, Previous: 'pending' } } },
    ])
    expect(queue.woken()).toBe(1)
  })

  test('takes the place of the one before; ids stay unless given', async () => {
    const { facts, show } = await build()
    const first = { status: 'validated', expiration: '2026-12-31', entireUs: true } as const
    await facts.recordFtcValidation(sales, { ...first, message: 'm' })
    await facts.recordFtcValidation(sales, { status: 'failed' })
    expect((await show()).FtcValidation).toMatchObject({
      Status: 'failed',
      San: '1-2-26',
      Message: null,
      Expiration: null,
      HasEntireUs: false,
    })
    await facts.recordFtcValidation(sales, { ...first, san: '', orgId: '9' })
    expect((await show()).FtcValidation).toMatchObject({
      Status: 'validated',
      San: null,
      OrgId: '9',
      HasEntireUs: true,
    })
  })

  test('validated under another id stays validated', async () => {
    const { facts, show } = await build()
    await facts.recordFtcValidation(sales, { status: 'validated' })
    await facts.recordFtcValidation(sales, { status: 'validated', san: '1-2-27' })
    expect((await show()).FtcValidation).toMatchObject({ Status: 'validated', San: '1-2-27' })
    expect(await keptEvents(database.db)).toHaveLength(1)
  })

  test.each([
    ['a project nobody has', { ...sales, code: 'NOPE' }, { status: 'failed' }, 'projectCode'],
    [
      'one of another account',
      { ...sales, accountId: 'other' },
      { status: 'failed' },
      'projectCode',
    ],
    ['no id', sales, { status: 'failed', san: '', orgId: '' }, 'projectCode'],
    ['a bad id', sales, { status: 'failed', san: 'a b' }, 'san'],
    ['a date there is not', sales, { status: 'validated', expiration: '2026-02-30' }, 'expiration'],
    ['a day that is over', sales, { status: 'validated', expiration: '2026-11-19' }, 'expiration'],
    ['area codes that are none', sales, { status: 'validated', areaCodes: ['12'] }, 'areaCodes'],
    [
      'all and some',
      sales,
      { status: 'validated', areaCodes: ['212'], entireUs: true },
      'areaCodes',
    ],
    ['a long message', sales, { status: 'failed', message: 'x'.repeat(501) }, 'message'],
  ] as const)('%s is refused', async (_name, ref, said, field) => {
    const { facts, show } = await build()
    const before = await show()
    await expect(facts.recordFtcValidation(ref, said)).rejects.toMatchObject({
      kind: 'invalid-request',
      problems: [{ field }],
    })
    expect(await show()).toEqual(before)
  })
})

describe('a validation ends by itself', () => {
  const validated = { status: 'validated', expiration: '2026-11-22' } as const

  test.each([
    ['two days before its last day', '2026-11-20T12:00:00Z', 'validated', dayMs],
    ['on the day before', '2026-11-21T23:00:00Z', 'validated', dayMs],
    ['in the last second of its last day', '2026-11-22T23:59:59Z', 'validated', 1_000],
    ['at the start of the next day', '2026-11-23T00:00:00Z', 'expired', dayMs],
    ['long after, when nothing ran meanwhile', '2027-05-01T00:00:00Z', 'expired', dayMs],
  ])('%s', async (_name, at, status, nextMs) => {
    const { facts, show, clock } = await build()
    await facts.recordFtcValidation(sales, validated)
    clock.set(at)
    expect(await facts.expireDue()).toBe(nextMs)
    expect((await show()).FtcValidation).toMatchObject({
      Status: status,
      Expiration: '2026-11-22',
      San: '1-2-26',
    })
  })

  test('is told once, of every project and account, and survives a restart', async () => {
    const { facts, projects, clock } = await build()
    const other = caller('other')
    const input = { name: 'x', orgId: '7', webhookUrl: url }
    await projects.records.save(main, { code: 'TWO', input })
    await projects.records.save(other, { code: 'SALES', input })
    for (const ref of [sales, { ...sales, code: 'TWO' }, { ...sales, accountId: 'other' }]) {
      await facts.recordFtcValidation(ref, validated)
    }
    const before = (await keptEvents(database.db)).length
    clock.set('2026-11-23T00:00:00Z')
    await database.reopen()
    const again = await buildProjects(database.storage, clock)
    expect(await again.projects.registrations.expireDue()).toBe(dayMs)
    const told = (await keptEvents(database.db)).slice(before)
    expect(
      told.map(({ accountId, subject, event }) => `${accountId} ${subject} ${event}`).sort(),
    ).toEqual(
      ['main SALES', 'main TWO', 'other SALES'].map((one) => `${one} project.ftcValidation`),
    )
    expect(told[0]?.body.Data).toMatchObject({
      FtcValidation: { Status: 'expired' },
      Previous: 'validated',
    })
    expect(again.queue.woken()).toBe(2)
    await again.projects.registrations.expireDue()
    expect(await keptEvents(database.db)).toHaveLength(before + 3)
  })

  test('without a last day it does not end', async () => {
    const { facts, show, clock } = await build()
    await facts.recordFtcValidation(sales, { status: 'validated' })
    clock.set('2040-01-01T00:00:00Z')
    expect(await facts.expireDue()).toBe(dayMs)
    expect((await show()).FtcValidation.Status).toBe('validated')
  })

  test.each(['failed', 'pending', 'expired'] as const)('%s stays %s', async (status) => {
    const { facts, show, clock } = await build()
    await facts.recordFtcValidation(sales, { status, expiration: '2026-11-22' })
    clock.set('2026-12-01T00:00:00Z')
    await facts.expireDue()
    expect((await show()).FtcValidation.Status).toBe(status)
  })
})

describe('state registrations', () => {
  test('are shown by state; what is not given stays', async () => {
    const { facts, show, queue } = await build()
    const submittedAt = instant('2026-11-01T09:30:00Z')
    await facts.recordRegistration(sales, { state: 'tx', status: 'draft' })
    await facts.recordRegistration(sales, {
      state: ' fl ',
      status: 'submitted',
      confirmation: 'A-1',
      submittedAt,
    })
    await facts.recordRegistration(sales, { state: 'FL', status: 'approved' })
    expect(Object.entries((await show()).StateRegistrations)).toEqual([
      ['FL', { Status: 'approved', Confirmation: 'A-1', SubmittedOn: '2026-11-01T09:30:00Z' }],
      ['TX', { Status: 'draft', Confirmation: null, SubmittedOn: null }],
    ])
    expect(queue.woken()).toBe(3)
    const told = await keptEvents(database.db)
    expect(told.map(({ event, body }) => [event, body.Data])).toEqual([
      [
        'project.stateRegistration',
        {
          StateRegistrations: { TX: { Status: 'draft', Confirmation: null, SubmittedOn: null } },
          Previous: null,
        },
      ],
      [
        'project.stateRegistration',
        {
          StateRegistrations: {
            FL: { Status: 'submitted', Confirmation: 'A-1', SubmittedOn: '2026-11-01T09:30:00Z' },
          },
          Previous: null,
        },
      ],
      [
        'project.stateRegistration',
        {
          StateRegistrations: {
            FL: { Status: 'approved', Confirmation: 'A-1', SubmittedOn: '2026-11-01T09:30:00Z' },
          },
          Previous: 'submitted',
        },
      ],
    ])
  })

  test('a new number without a new status is kept and not told', async () => {
    const { facts, show, clock } = await build()
    await facts.recordRegistration(sales, { state: 'FL', status: 'approved', confirmation: 'A' })
    clock.advance(1_000)
    await facts.recordRegistration(sales, { state: 'FL', status: 'approved' })
    expect((await show()).LastModifiedOn).toBe('2026-11-20T12:00:00Z')
    await facts.recordRegistration(sales, { state: 'FL', status: 'approved', confirmation: '' })
    expect(await show()).toMatchObject({
      StateRegistrations: { FL: { Confirmation: null } },
      LastModifiedOn: '2026-11-20T12:00:01Z',
    })
    expect(await keptEvents(database.db)).toHaveLength(1)
  })

  test('without an address nothing is told', async () => {
    const { facts, queue } = await build({})
    await facts.recordRegistration(sales, { state: 'FL', status: 'approved' })
    expect(await keptEvents(database.db)).toEqual([])
    expect(queue.woken()).toBe(0)
  })

  test.each([
    ['a province', sales, { state: 'ON' }, 'state'],
    ['no state', sales, { state: 'XX' }, 'state'],
    ['a long number', sales, { state: 'FL', confirmation: 'x'.repeat(101) }, 'confirmation'],
    ['an unknown project', { ...sales, code: 'NOPE' }, { state: 'FL' }, 'projectCode'],
    ['one of another account', { ...sales, accountId: 'other' }, { state: 'FL' }, 'projectCode'],
  ])('%s is refused', async (_name, ref, said, field) => {
    const { facts, show } = await build()
    const record = facts.recordRegistration(ref, { status: 'approved', ...said })
    await expect(record).rejects.toMatchObject({ problems: [{ field }] })
    expect((await show()).StateRegistrations).toEqual({})
  })
})
