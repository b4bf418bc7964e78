import { expect } from 'vitest'
import { ask } from './support/client.js'
import { entitiesPath, legalEntities } from './support/legal-entities.js'
import { isInteger, isText, isTrueOrFalse } from './support/rules.js'
import { run } from './support/run.js'
import { asRows, fieldTable, section, sentence } from './support/sentence.js'

section('legal-entity', () => {
  fieldTable(legalEntities, [
    ['LegalEntityId', 'integer', isInteger],
    ['AcctId', 'the owning account', isText],
    ['IsDefault', 'boolean', isTrueOrFalse],
    ['LegalName', 'the registered legal name', (value) => isText(value) && value !== ''],
    [
      'Ein',
      'three asterisks and the last 4 digits',
      (value) => isText(value) && (value === '' || /^\*{3}\d{4}$/.test(value)),
    ],
    ['PrimaryPhoneNumber', 'string', isText],
    ['StreetAddress', 'string', isText],
    ['City', 'string', isText],
    ['State', 'state or province code', (value) => isText(value) && /^(?:[A-Z]{2})?$/.test(value)],
    ['Zip', 'ZIP or postal code', isText],
    ['CountryCode', 'two-letter code', (value) => isText(value) && /^(?:[A-Z]{2})?$/.test(value)],
  ])

  sentence('LegalEntityId is unique', async () => {
    const ids = (await legalEntities()).map((row) => row.LegalEntityId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  sentence('AcctId is the account of the key', async (needs) => {
    const accountId = needs(run.accountId, '--account-id')
    const ids = (await legalEntities()).map((row) => row.AcctId)
    expect(ids.filter((id) => id !== accountId)).toEqual([])
  })

  sentence('at most one entity is the default of the account', async () => {
    expect((await legalEntities()).filter((row) => row.IsDefault === true).length).toBeLessThan(2)
  })

  sentence('Ein is never shown whole', async () => {
    for (const { Ein } of await legalEntities()) expect(String(Ein)).not.toMatch(/\d{5}/)
  })

  sentence('entities of another account are not among them', async (needs) => {
    const key = needs(run.secondLoginId, '--second-login-id')
    const theirs = asRows((await ask({ path: entitiesPath, key })).json()).map(
      (row) => row.LegalEntityId,
    )
    const ours = (await legalEntities()).map((row) => row.LegalEntityId)
    expect(ours.filter((id) => theirs.includes(id))).toEqual([])
  })
})
