import { expect } from 'vitest'
import { isCount, isOneOf, isTenDigits, isUuid } from './support/rules.js'
import { run } from './support/run.js'
import { complete, resultsOf, scan } from './support/scans.js'
import { fieldTable, section, sentence, sentences } from './support/sentence.js'

const words = ['Submitted', 'Processing', 'Complete', 'Failed']
const flagged = isOneOf(['Clean', 'Flagged'])

section('scan-job', () => {
  fieldTable(
    async (needs) => {
      const { submitted, statuses } = await scan(needs, 'carrier')
      return [submitted, ...statuses]
    },
    [
      ['JobId', 'a UUID', isUuid],
      ['Status', words.join(', '), isOneOf(words)],
      ['PhoneCount', 'integer, the numbers in the job', isCount],
    ],
  )

  sentence('JobId is the same in every answer about the job', async (needs) => {
    const { submitted, statuses } = await scan(needs, 'carrier')
    expect(statuses.map((row) => row.JobId)).toEqual(statuses.map(() => submitted.JobId))
  })

  sentence('PhoneCount counts the numbers submitted', async (needs) => {
    const { phones, submitted } = await scan(needs, 'carrier')
    expect(submitted.PhoneCount).toBe(phones.length)
  })

  sentence('ProcessedCount is in status calls only', async (needs) => {
    const { submitted, statuses } = await scan(needs, 'carrier')
    expect(submitted).not.toHaveProperty('ProcessedCount')
    for (const row of statuses) expect(row).toHaveProperty('ProcessedCount')
  })

  sentence('ProcessedCount counts the numbers processed so far', async (needs) => {
    const { statuses } = await scan(needs, 'carrier')
    const counts = statuses.map((row) => Number(row.ProcessedCount))
    expect(counts).toEqual([...counts].sort((one, other) => one - other))
    expect(counts.every((count, at) => count <= Number(statuses[at]?.PhoneCount))).toBe(true)
  })

  sentence('ProcessedCount is PhoneCount when Status is Complete', async (needs) => {
    const row = await complete(needs, 'carrier')
    expect(row.ProcessedCount).toBe(row.PhoneCount)
  })

  sentence('Results are absent unless Status is Complete', async (needs) => {
    const { submitted, statuses } = await scan(needs, 'carrier')
    const unfinished = [submitted, ...statuses].filter((row) => row.Status !== 'Complete')
    for (const row of unfinished) expect(row).not.toHaveProperty('Results')
  })

  sentence('Results are an array when Status is Complete, one per number', async (needs) => {
    const results = await resultsOf(needs, 'carrier')
    const { phones } = await scan(needs, 'carrier')
    expect(results.map((row) => row.Phone)).toEqual(phones)
  })

  fieldTable(
    (needs) => resultsOf(needs, 'carrierandapps'),
    [
      ['Phone', 'the number scanned', isTenDigits],
      ['CurrScore', 'Clean, Medium or High', isOneOf(['Clean', 'Medium', 'High'])],
      ['CarrierAScore', 'Clean or Flagged', flagged],
      ['CarrierBScore', 'Clean or Flagged', flagged],
      ['CarrierCScore', 'Clean or Flagged', flagged],
      ['AppAStatus', 'Clean or Flagged for scan type carrierandapps', flagged],
      ['AppBStatus', 'Clean or Flagged for scan type carrierandapps', flagged],
      [
        'FTCComplaints',
        'array or null for scan type carrierandapps',
        (value) => value === null || Array.isArray(value),
      ],
    ],
  )

  sentences(
    ['AppAStatus', 'AppBStatus', 'FTCComplaints'],
    (field) => `${field} is not filled for scan type carrier`,
    async (field, needs) => {
      const filled = (await resultsOf(needs, 'carrier')).map((row) => row[field])
      expect(filled.filter((value) => !isEmpty(value))).toEqual([])
    },
  )

  sentences(
    run.facts.labels ?? [],
    ({ phone, about }) => `results tell the labels of ${phone}: ${about}`,
    async ({ phone, answer }, needs) => {
      const results = await resultsOf(needs, 'carrierandapps')
      expect(results.find((row) => row.Phone === phone)).toMatchObject(answer)
    },
  )
})

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}
