import { expect } from 'vitest'
import { legalEntities } from './support/legal-entities.js'
import { monitor, monitored, rowsIn } from './support/monitored.js'
import { listNumber } from './support/numbers.js'
import { isInteger, isOneOf, isOptional, isTenDigits, isText } from './support/rules.js'
import { asRows, type FieldRule, fieldTable, section, sentence } from './support/sentence.js'

const carrierScores = isOneOf(['Clean', 'Flagged', 'Processing'])
/** Nothing but `Processing` can be said truly of a number that no app was asked about yet. */
const appStatuses = isOneOf(['Clean', 'Flagged', 'Processing'])

const fields: readonly FieldRule[] = [
  ['Response', 'string', isText],
  ['Phone', '10 digits', isTenDigits],
  ['LegalEntityId', 'integer or null', isOptional(isInteger)],
  [
    'CurrScore',
    'Clean, Medium, High or Processing',
    isOneOf(['Clean', 'Medium', 'High', 'Processing']),
  ],
  ['MaxScore', 'a score word', isOneOf(['Clean', 'Medium', 'High', 'Processing'])],
  ['MaxScore', 'not below CurrScore', (score, row) => rank(score) >= rank(row.CurrScore)],
  [
    'HistoricalScore',
    'a digit from 0 to 5, as text',
    (value) => isText(value) && /^[0-5]$/.test(value),
  ],
  ['CarrierAScore', 'Clean, Flagged or Processing', carrierScores],
  ['CarrierBScore', 'Clean, Flagged or Processing', carrierScores],
  ['CarrierCScore', 'Clean, Flagged or Processing', carrierScores],
  ['AppAStatus', 'Clean or Flagged once it is known', appStatuses],
  ['AppBStatus', 'Clean or Flagged once it is known', appStatuses],
  [
    'FTCComplaints',
    'array or null, and null when there are none',
    (value) => value === null || (Array.isArray(value) && value.length > 0),
  ],
]

function rank(score: unknown): number {
  return ['Processing', 'Clean', 'Medium', 'High'].indexOf(String(score))
}

section('monitored-number', () => {
  fieldTable(async () => {
    const { added, got, posted, all } = await monitored()
    return [...added, ...got, ...posted, ...all]
  }, fields)

  sentence('get-all of version 1.5 answers the same records', async () => {
    const rows = asRows((await monitored()).getAll.json())
    expect(rows.length).toBeGreaterThan(2)
    const wrong = rows.filter((row) => fields.some(([name, , holds]) => !holds(row[name], row)))
    expect(wrong).toEqual([])
  })

  sentence('LegalEntityId is the legal entity the number belongs to', async (needs) => {
    const [entity] = await legalEntities()
    const LegalEntityId = needs(entity?.LegalEntityId, 'a legal entity in the account')
    const Phone = listNumber()
    try {
      await rowsIn(monitor.add([{ Phone, LegalEntityId }]))
      expect(await rowsIn(monitor.getByPost([Phone]))).toMatchObject([{ Phone, LegalEntityId }])
    } finally {
      await monitor.remove([Phone])
    }
  })

  sentence('the record returned by remove carries Phone and Response alone', async () => {
    for (const row of (await monitored()).removed) {
      expect(Object.keys(row).sort()).toEqual(['Phone', 'Response'])
    }
  })
})
