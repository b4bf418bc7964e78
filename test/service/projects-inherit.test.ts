/** What the switches and the registry's answers of a project make of the calls it is judged by. */
import { describe, expect, test } from 'vitest'
import type { PhoneNumber } from '../../src/domain/phone-number.js'
import type { FtcValidationInput } from '../../src/service/projects/project-registrations.js'
import { useDatabase } from '../support/database.js'
import { planWith, testScrub } from '../support/scrub-parts.js'
import { buildSubjects, caller } from '../support/service-subjects.js'
import { buildProjects, type ProjectParts } from './projects-fixture.js'

const database = useDatabase()
const main = caller('main')
const ny = '2127361000' as PhoneNumber
const miami = '3057361000' as PhoneNumber
const tampa = '8137361000' as PhoneNumber

type Door = (parts: ProjectParts, inheritsInternalDnc: boolean) => Promise<unknown>

const doors: readonly [string, Door][] = [
  [
    'the call for projects',
    ({ projects }, inheritsInternalDnc) =>
      projects.records.update(main, {
        code: 'SALES',
        bodyCode: undefined,
        input: { inheritsInternalDnc },
      }),
  ],
  [
    'the older call',
    ({ projects }, inheritsInternalDnc) =>
      projects.rpc.handle(main, { code: 'SALES', inheritsInternalDnc, listing: false }),
  ],
]

async function build(inheritsInternalDnc: boolean) {
  const parts = await buildProjects(database.storage)
  const { projects, internalDnc, clock } = parts
  await projects.create({ accountId: 'main', code: 'SALES', name: 'Sales', inheritsInternalDnc })
  await projects.create({ accountId: 'main', code: 'THIRD', name: 'Third' })
  await projects.create({ accountId: 'other', code: 'SALES', name: 'Theirs' })
  const optOut = async (projectId: string, ...numbers: readonly PhoneNumber[]) => {
    clock.advance(60_000)
    await internalDnc.add(main, { numbers, projectId, ignoreInvalid: false })
  }
  const optIn = async (projectId: string, ...numbers: readonly PhoneNumber[]) => {
    clock.advance(60_000)
    await internalDnc.remove(main, { numbers, projectId })
  }
  return { ...parts, optOut, optIn }
}

async function letterOf({ projects, internalDnc, clock }: ProjectParts, number: PhoneNumber) {
  const scope = await projects.resolve('main', { projectId: 'SALES' })
  const list = scope?.internalDncList ?? ''
  const stored = (await internalDnc.findEntries('main', list, [number])).get(number)
  const { scrub } = testScrub({
    clock,
    projects,
    plan: planWith({ [number]: { lineClass: 'wireline' } }),
    entries: stored ? { [`${list} ${number}`]: stored } : {},
  })
  const [row] = await scrub.listRows('main', {
    items: [{ phone: number }],
    version: 8,
    projectId: 'SALES',
  })
  return row?.letter
}

const stored = (list: string) =>
  database.db
    .selectFrom('internal_dnc')
    .selectAll()
    .where('account_id', '=', 'main')
    .where('list', '=', list)
    .orderBy('number')
    .execute()

describe.each(doors)('opt-outs outlive the switch of the list, by %s', (_name, turn) => {
  test.each([
    ['on', true, 'SALES', 'main'],
    ['off', false, 'main', 'SALES'],
  ])('%s', async (_way, wanted, from, to) => {
    const parts = await build(!wanted)
    await parts.optOut('SALES', ny)
    expect([await letterOf(parts, ny), await letterOf(parts, miami)]).toEqual(['P', 'C'])
    parts.clock.advance(60_000)
    await turn(parts, wanted)
    expect([await letterOf(parts, ny), await letterOf(parts, miami)]).toEqual(['P', 'C'])
    const [source] = await stored(from)
    expect(await stored(to)).toEqual([{ ...source, list: to, modified_at: parts.clock.now() }])
    expect(await stored('THIRD')).toEqual([])
    expect(await parts.internalDnc.findEntries('other', to, [ny])).toEqual(new Map())
    parts.clock.advance(1_000)
    expect(await parts.internalDnc.count(main, { projectId: 'SALES' })).toMatchObject({ count: 1 })
    await turn(parts, !wanted)
    expect(await letterOf(parts, ny)).toBe('P')
  })

  test('what is on both lists keeps its dates and takes the later opt-out', async () => {
    const parts = await build(false)
    await parts.optOut('main', ny, miami)
    await parts.optOut('SALES', ny)
    await parts.optOut('SALES', miami)
    await parts.optOut('main', miami)
    const before = await stored('main')
    const [own] = await stored('SALES')
    await turn(parts, true)
    expect(await stored('main')).toEqual([
      {
        ...before[0],
        opted_out_at: own?.opted_out_at,
        stored_at: own?.stored_at,
        opted_out_seq: own?.opted_out_seq,
      },
      before[1],
    ])
  })

  test('what was removed there comes back, what was removed here does not', async () => {
    const parts = await build(false)
    await parts.optOut('main', ny, tampa)
    await parts.optOut('SALES', ny, miami)
    await parts.optIn('main', ny)
    await parts.optIn('SALES', miami)
    const [own] = await stored('SALES')
    const kept = (await stored('main')).find(({ number }) => number === tampa)
    parts.clock.advance(60_000)
    await turn(parts, true)
    const modified_at = parts.clock.now()
    const [back, ...others] = await stored('main')
    expect(back).toMatchObject({ number: ny, removed_at: null, modified_at })
    expect(back?.added_at).toBe(own?.added_at)
    expect(others).toEqual([
      expect.objectContaining({ number: miami, removed_at: expect.any(Number) }),
      kept,
    ])
    expect([await letterOf(parts, ny), await letterOf(parts, miami)]).toEqual(['P', 'C'])
  })

  test('a switch that changes nothing carries nothing', async () => {
    const parts = await build(false)
    await parts.optOut('main', ny)
    await turn(parts, false)
    expect(await stored('SALES')).toEqual([])
  })
})

describe.each([
  ['on', true, 'main'],
  ['off', false, 'SALES'],
])('a process that has not yet heard of the switch %s', (_way, wanted, list) => {
  const build = async () => {
    const here = await buildSubjects(database.storage)
    const there = await buildSubjects(database.storage)
    const project = { accountId: 'main', code: 'SALES', name: 'Sales' }
    await here.projects.create({
      ...project,
      inheritsInternalDnc: !wanted,
      inheritsEbr: !wanted,
    })
    const resolved = await there.projects.resolve('main', { projectId: 'SALES' })
    await here.projects.set(project, { inheritsInternalDnc: wanted, inheritsEbr: wanted })
    expect(there.projects.resolve('main', { projectId: 'SALES' })).toBe(resolved)
    return there
  }
  const listsOf = (rows: readonly { readonly list: string; readonly removed_at: unknown }[]) =>
    rows.map((row) => [row.list, row.removed_at === null ? 'on' : 'off'])
  const written = () =>
    database.db.selectFrom('internal_dnc').selectAll().where('number', '=', ny).execute()

  test('puts numbers on the list that counts, and takes them off it', async () => {
    const { internalDnc } = await build()
    const request = { numbers: [ny], projectId: 'SALES' }
    await internalDnc.add(main, { ...request, ignoreInvalid: false })
    expect(listsOf(await written())).toEqual([[list, 'on']])
    await internalDnc.remove(main, request)
    expect(listsOf(await written())).toEqual([[list, 'off']])
  })

  test('stores records where they count, and takes them out of force there', async () => {
    const { ebrRecords, ebrRecordList } = await build()
    const record = { phoneNumber: ny, type: 'I', dateOfLastContact: '2026-11-19' }
    await ebrRecords.record(main, { records: [record], keepBetterEbr: false, projectId: 'SALES' })
    const rows = () =>
      database.db.selectFrom('ebr_records').select(['project_code', 'superseded_at']).execute()
    expect(await rows()).toEqual([{ project_code: list, superseded_at: null }])
    expect(await ebrRecordList.remove(main, { numbers: [ny], projectId: 'SALES' })).toBe(1)
  })
})

describe('what the registry said decides at once', () => {
  test.each<[string, FtcValidationInput | undefined, string, string]>([
    ['nothing', undefined, 'C', 'C'],
    ['pending', { status: 'pending' }, 'C', 'C'],
    ['all', { status: 'validated', entireUs: true }, 'C', 'C'],
    ['some', { status: 'validated', areaCodes: ['305', '646'] }, 'B', 'C'],
    ['no area code', { status: 'validated' }, 'B', 'B'],
    ['failed', { status: 'failed', entireUs: true }, 'B', 'B'],
    ['expired', { status: 'expired', areaCodes: ['212', '305'] }, 'B', 'B'],
  ])('%s', async (_name, facts, ofNy, ofMiami) => {
    const parts = await build(false)
    const { projects, changes } = parts
    await projects.records.save(main, { code: 'SALES', input: { san: '1-2-26' } })
    expect([await letterOf(parts, ny), await letterOf(parts, miami)]).toEqual(['C', 'C'])
    const heard = changes.heard.length
    const ref = { accountId: 'main', code: 'SALES' }
    if (facts) await projects.registrations.recordFtcValidation(ref, facts)
    expect([await letterOf(parts, ny), await letterOf(parts, miami)]).toEqual([ofNy, ofMiami])
    if (ofNy === 'B') expect(changes.heard.length).toBeGreaterThan(heard)
  })

  test('other area codes count without a new status, and the end of the last day', async () => {
    const parts = await build(false)
    const { registrations, records } = parts.projects
    await records.save(main, { code: 'SALES', input: { san: '1-2-26' } })
    const ref = { accountId: 'main', code: 'SALES' }
    const said = { status: 'validated', expiration: '2026-11-22' } as const
    await registrations.recordFtcValidation(ref, { ...said, areaCodes: ['305'] })
    expect(await letterOf(parts, ny)).toBe('B')
    await registrations.recordFtcValidation(ref, { ...said, areaCodes: ['212'] })
    expect(await letterOf(parts, ny)).not.toBe('B')
    await registrations.recordFtcValidation(ref, { ...said, entireUs: true })
    expect(await letterOf(parts, miami)).not.toBe('B')
    parts.clock.set('2026-11-23T00:00:00Z')
    await registrations.expireDue()
    expect(await letterOf(parts, miami)).toBe('B')
  })
})
