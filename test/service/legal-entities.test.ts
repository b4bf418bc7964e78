/** Legal entities: what one must hold, which is the default, whose they are. */
import { describe, expect, test } from 'vitest'
import type { LegalEntityInput } from '../../src/domain/legal-entity.js'
import { LegalEntities } from '../../src/service/legal-entities/legal-entities.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects, caller } from '../support/service-subjects.js'

const database = useDatabase()
const main = caller('main')
const other = caller('other')

async function build() {
  const { clock } = await buildSubjects(database.storage)
  return new LegalEntities({ storage: database.storage, clock })
}

type Texts = LegalEntityInput['texts']
const named = (texts: Texts = {}): LegalEntityInput => ({ texts: { legalName: 'Acme', ...texts } })

describe('adding', () => {
  test('shows all the list has, the number masked', async () => {
    const entities = await build()
    const written = await entities.create(main, {
      ...named({ ein: '012345678', streetAddress: ' 1 Main St ', city: 'New York', state: 'ny' }),
      industryId: 27,
      employeeCount: 0,
    })
    await entities.update(main, {
      id: written.id,
      texts: { zip: '10001-1234', countryCode: 'us', primaryPhoneNumber: '2125550100' },
    })
    expect(written).toEqual({ id: written.id, accountId: 'main', created: true })
    expect(await entities.list(main)).toEqual([
      {
        id: written.id,
        accountId: 'main',
        isDefault: true,
        legalName: 'Acme',
        ein: '***5678',
        primaryPhoneNumber: '2125550100',
        streetAddress: '1 Main St',
        city: 'New York',
        state: 'NY',
        zip: '10001-1234',
        countryCode: 'US',
      },
    ])
  })

  test('what was never given is empty, also the mask', async () => {
    const entities = await build()
    await entities.create(main, named())
    expect(await entities.list(main)).toMatchObject([{ ein: '', state: '', countryCode: '' }])
  })

  test.each<[string, LegalEntityInput, string, string]>([
    ['no name', { texts: {} }, 'LegalName', 'is required'],
    ['a blank name', named({ legalName: '  ' }), 'LegalName', 'is required'],
    ['a long name', named({ legalName: 'x'.repeat(201) }), 'LegalName', 'longer than 200'],
    ['a dash', named({ ein: '12-3456789' }), 'EIN', '9 digits without a dash'],
    ['the masked number', named({ ein: '***5678' }), 'EIN', '9 digits without a dash'],
    ['eight digits', named({ ein: '12345678' }), 'EIN', '9 digits'],
    ['a state there is not', named({ state: 'ZZ' }), 'State', 'of the US or Canada'],
    ['a state elsewhere', named({ state: 'NY', countryCode: 'CA' }), 'State', 'of CA'],
    ['a ZIP of 4', named({ zip: '1234' }), 'Zip', 'of the US or Canada'],
    ['a ZIP in Canada', named({ zip: '10001', countryCode: 'CA' }), 'Zip', 'of CA'],
    ['three letters', named({ countryCode: 'USA' }), 'CountryCode', 'two-letter'],
    ['eleven digits', named({ primaryPhoneNumber: '12125550100' }), 'PrimaryPhoneNumber', '10'],
    [
      'dashes in a number',
      named({ primaryContactPhoneNumber: '212-555-0100' }),
      'PrimaryContactPhoneNumber',
      '10 digits',
    ],
    ['no address', named({ primaryContactEmail: 'x@y' }), 'PrimaryContactEmail', 'e-mail'],
    ['industry 0', { ...named(), industryId: 0 }, 'IndustryId', '1 to 27'],
    ['industry 28', { ...named(), industryId: 28 }, 'IndustryId', '1 to 27'],
    ['a NUL', named({ dba: 'a\0b' }), 'Dba', 'control characters'],
  ])('%s is refused, and nothing is added', async (_name, input, field, rule) => {
    const entities = await build()
    await expect(entities.create(main, input)).rejects.toMatchObject({
      kind: 'invalid-request',
      problems: [{ field, rule: expect.stringContaining(rule) }],
    })
    expect(await entities.list(main)).toEqual([])
  })

  test.each<[string, Texts]>([
    ['a province', { state: 'on', zip: 'k1a 0b1', countryCode: 'CA' }],
    ['a province without its country', { state: 'ON', zip: 'K1A0B1' }],
    [
      'another country’s own forms',
      { state: 'Greater London', zip: 'SW1A 1AA', countryCode: 'GB' },
    ],
    ['a territory', { state: 'PR', zip: '00901' }],
    ['an address with parts', { primaryContactEmail: 'a.b+c@x.example.com' }],
  ])('%s is taken', async (_name, texts) => {
    const entities = await build()
    await entities.create(main, named(texts))
    expect(await entities.list(main)).toHaveLength(1)
  })
})

describe('the default', () => {
  const defaults = async (entities: LegalEntities, who = main) =>
    (await entities.list(who))
      .filter(({ isDefault }) => isDefault)
      .map(({ legalName }) => legalName)

  test('is the first one, until another is made it', async () => {
    const entities = await build()
    const first = await entities.create(main, { ...named(), isDefault: false })
    const second = await entities.create(main, named({ legalName: 'Second' }))
    expect(await defaults(entities)).toEqual(['Acme'])
    await entities.create(main, { ...named({ legalName: 'Third' }), isDefault: true })
    expect(await defaults(entities)).toEqual(['Third'])
    await entities.update(main, { id: second.id, isDefault: true, texts: {} })
    expect(await defaults(entities)).toEqual(['Second'])
    await entities.update(main, { id: first.id, isDefault: false, texts: {} })
    expect(await defaults(entities)).toEqual(['Second'])
  })

  test('cannot be given up without another', async () => {
    const entities = await build()
    const { id } = await entities.create(main, named())
    const update = entities.update(main, { id, isDefault: false, texts: { city: 'Rome' } })
    await expect(update).rejects.toMatchObject({ problems: [{ field: 'IsDefault' }] })
    expect(await entities.list(main)).toMatchObject([{ isDefault: true, city: '' }])
  })

  test('is one for each account, also when many are added at once', async () => {
    const entities = await build()
    const many = Array.from({ length: 8 }, (_none, index) => index)
    await Promise.all(
      many.map((index) =>
        entities.create(index % 2 ? main : other, {
          ...named({ legalName: String(index) }),
          isDefault: index % 3 === 0,
        }),
      ),
    )
    expect(await defaults(entities, main)).toHaveLength(1)
    expect(await defaults(entities, other)).toHaveLength(1)
  })
})

describe('changing', () => {
  test('what is not given stays, null and blank clear, hidden fields are kept', async () => {
    const entities = await build()
    const { id } = await entities.create(main, {
      ...named({ city: 'Rome', dba: 'A', url: 'x.example', ein: '123456789' }),
      industryId: 3,
      callsPerMonth: 10,
    })
    expect(
      await entities.update(main, { id, texts: { city: null, dba: ' ' }, industryId: null }),
    ).toEqual({ id, accountId: 'main', created: false })
    expect(await entities.list(main)).toMatchObject([
      { city: '', legalName: 'Acme', ein: '***6789' },
    ])
    const row = await database.db
      .selectFrom('legal_entities')
      .select('more')
      .executeTakeFirstOrThrow()
    expect(JSON.parse(row.more)).toEqual({ Url: 'x.example', CallsPerMonth: 10 })
  })

  test('the name cannot be cleared', async () => {
    const entities = await build()
    const { id } = await entities.create(main, named())
    const update = entities.update(main, { id, texts: { legalName: null } })
    await expect(update).rejects.toMatchObject({ problems: [{ field: 'LegalName' }] })
  })

  test('an entity of another account is as unknown as none', async () => {
    const entities = await build()
    const { id } = await entities.create(main, named())
    const refused = (of: number) => entities.update(other, { id: of, texts: {} }).catch(String)
    expect(await refused(id)).toBe((await refused(id + 999)).toString().replace('1000', String(id)))
    expect(await entities.owns('main', id)).toBe(true)
    expect(await entities.owns('other', id)).toBe(false)
    expect(await entities.owns('main', id + 999)).toBe(false)
    expect(await entities.list(other)).toEqual([])
  })

  test('survives a restart', async () => {
    await (await build()).create(main, named())
    await database.reopen()
    expect(await (await build()).list(main)).toMatchObject([{ legalName: 'Acme' }])
  })
})
