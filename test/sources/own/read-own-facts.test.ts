/** What is read of a number: which lists and records, for which project, with a provider and without. */

import { describe, expect, it } from 'vitest'
import type { Question } from '../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { invalidRequest } from '../../../src/errors.js'
import { noon } from '../../support/fake-compliance.js'
import { readAll } from '../../support/own-facts.js'
import { cleanLists, fakeLists, fakeProjects } from '../../support/scrub-parts.js'
import { entryOf, openSource } from './own-facts-fixture.js'

const number = toPhoneNumber('2127361000')
const question: Question = { accountId: 'main', number }
const away = () => Promise.reject(new Error('the database is away'))
const hours = [{ region: 'NY', monFri: undefined, sat: undefined, sun: undefined }]
const ofAccount = entryOf(noon - 1_000)
const ofProject = entryOf(noon - 2_000)
const stored = {
  entries: { 'main 2127361000': ofAccount, 'P1 2127361000': ofProject },
  projects: fakeProjects({ P1: { internalDncList: 'P1', ebrProject: 'P1', hours } }),
}
const badQuestion = { ok: false, reason: 'bad-question', source: 'embedded' }

describe('without a provider', () => {
  it('the lists, records and hours are those of the project', async () => {
    const { reader, asked } = openSource({ ...stored, lists: fakeLists(cleanLists) })
    const facts = await readAll(reader, { ...question, projectId: 'P1' })
    expect(facts).toMatchObject({
      asOf: noon,
      number: { status: 'ok' },
      litigator: { value: { status: 'clear' } },
      entry: { value: ofProject },
      hours: { value: hours },
      permission: { value: { entry: ofProject, hours, lists: { national: { status: 'clear' } } } },
    })
    expect(asked).toEqual(['entry of P1', 'record of P1'])
  })

  it('an unknown project is the fault of the question: nothing but litigators is known', async () => {
    const { reader, asked, errors } = openSource(stored)
    const facts = await readAll(reader, { ...question, projectId: 'THEIRS' })
    const says = [{ code: 'bad-question', quote: expect.stringContaining("'THEIRS'") }]
    const why = { ...badQuestion, says }
    expect(facts).toMatchObject({ entry: { why }, hours: { why }, permission: { why } })
    expect(facts.litigator).toMatchObject({ value: { status: 'clear' } })
    expect([asked, errors]).toEqual([[], []])
  })

  it('an unknown campaign is named in place of its project', async () => {
    const { reader } = openSource(stored)
    const facts = await readAll(reader, { ...question, projectId: 'P1', campaignId: '77' })
    const says = [{ code: 'bad-question', quote: expect.stringContaining("campaignId '77'") }]
    expect(facts.entry).toMatchObject({ why: { ...badQuestion, says } })
  })

  it('a refusal of the question is not reported, a failure of the database is', async () => {
    const { reader, stored: database, errors } = openSource(stored)
    database.findEntry = () => {
      throw invalidRequest([{ field: 'projectId', value: 'P1', rule: 'was deleted' }])
    }
    const refused = await readAll(reader, question)
    expect(refused.entry).toMatchObject({ why: { reason: 'bad-question' } })
    expect(errors).toEqual([])
    database.findEntry = away
    const failed = await readAll(reader, question)
    expect(failed.entry).toMatchObject({ why: { reason: 'source-failed' } })
    expect(errors).toEqual(['Error: the database is away'])
  })

  it('a record that cannot be read leaves the entry known, and nothing permitted', async () => {
    const { reader, stored: database } = openSource(stored)
    database.findRecord = away
    const { entry, permission } = await readAll(reader, question)
    expect(entry).toEqual({ value: ofAccount })
    expect(permission).toMatchObject({ why: { reason: 'source-failed' } })
  })

  it.each([undefined, '', '  '])('the postal code %j is none', async (postalCode) => {
    const { reader } = openSource(stored)
    const facts = await readAll(reader, { ...question, postalCode })
    expect([facts.postalCode, facts.postal]).toEqual([undefined, undefined])
  })

  it('a postal code is kept as sent, with its place if that is known', async () => {
    const { reader } = openSource(stored)
    const west = await readAll(reader, { ...question, postalCode: '90001' })
    expect(west).toMatchObject({ postalCode: '90001', postal: { candidates: [{ region: 'CA' }] } })
    const forces = await readAll(reader, { ...question, postalCode: '09001' })
    expect([forces.postalCode, forces.postal]).toEqual(['09001', undefined])
  })

  it('no list is asked of a number that is not in service', async () => {
    const { reader } = openSource(stored)
    const facts = await readAll(reader, { ...question, number: toPhoneNumber('9997361000') })
    expect(facts.number.status).toBe('unknown-prefix')
    expect(facts.permission).toMatchObject({ value: { lists: undefined } })
  })

  it('all is known at once where nothing has to be waited for', () => {
    const { reader } = openSource(stored)
    expect(readAll(reader, question)).not.toBeInstanceOf(Promise)
    expect(readAll(reader, { ...question, projectId: 'P1' })).not.toBeInstanceOf(Promise)
  })
})

describe('beside a provider', () => {
  const open = () => openSource({ ...stored, besideProvider: true })

  it('permission is not asked, nor any record or hours of a project', async () => {
    const { reader, asked } = open()
    const facts = await readAll(reader, { ...question, projectId: 'P1' })
    expect(facts).toMatchObject({ entry: { value: ofProject }, hours: { value: [] } })
    expect(facts.permission).toBe('not-asked')
    expect(asked).toEqual(['entry of P1'])
  })

  it.each([
    ['project', { projectId: 'THEIRS' }],
    ['campaign', { campaignId: '77' }],
    ['campaign of a project of ours', { projectId: 'P1', campaignId: '77' }],
  ])('an unknown %s is the provider’s: the list is that of the account', async (_, more) => {
    const { own, asked, errors, seen } = open()
    const found = own.find({ ...question, ...more }, 100)
    const { facts } = await (found.later ?? found)
    expect(facts).toMatchObject({
      litigator: { value: { status: 'clear' } },
      entry: { value: ofAccount },
      hours: { value: [] },
      permission: 'not-asked',
    })
    expect([asked, errors]).toEqual([['entry of main'], []])
    // They are complete, so they are cached.
    expect(own.find({ ...question, ...more }, 100).facts).toBe(facts)
    expect(seen).toEqual(['miss', 'hit'])
  })

  it('projects that cannot be read are no projects of the provider', async () => {
    const resolve: typeof stored.projects.resolve = (accountId, choice) =>
      choice?.projectId === undefined ? stored.projects.resolve(accountId, choice) : away()
    const { reader, asked } = openSource({ ...stored, besideProvider: true, projects: { resolve } })
    const facts = await readAll(reader, { ...question, projectId: 'THEIRS' })
    expect(facts.entry).toMatchObject({ why: { reason: 'source-failed' } })
    expect(facts.hours).toEqual({ value: [] })
    expect(facts.permission).toBe('not-asked')
    expect(asked).toEqual([])
  })

  it('the hours of the account narrow the statutory ones, also where the project is the provider’s', async () => {
    const late = { start: 20 * 3_600, end: 21 * 3_600 }
    const hours = [{ region: 'NY', monFri: late, sat: late, sun: late }]
    const resolve: typeof stored.projects.resolve = (accountId, choice) => {
      if (choice?.projectId !== undefined) return undefined
      const scope = stored.projects.resolve(accountId, choice)
      return scope instanceof Promise || scope === undefined ? scope : { ...scope, hours }
    }
    const { reader } = openSource({ ...stored, besideProvider: true, projects: { resolve } })
    const facts = await readAll(reader, { ...question, projectId: 'THEIRS' })
    expect(facts.hours).toEqual({ value: hours })
  })
})
