import { expect } from 'vitest'
import { askOnce } from './support/client.js'
import { isCount } from './support/rules.js'
import { run } from './support/run.js'
import { asRow, fieldTable, type Row, section, sentence } from './support/sentence.js'

const carriers = ['CarrierA', 'CarrierB', 'CarrierC', 'CarrierD']

const path = '/v1.5/Reputation/FlagsRemovedSummary'

async function summary(): Promise<Row> {
  return asRow((await askOnce({ path })).json())
}

section('flags-removed', () => {
  fieldTable(
    async () => [await summary()],
    [
      ...carriers.map(
        (name) => [name, 'integer, the spam flags removed in the period', isCount] as const,
      ),
      ['Total', 'integer', isCount] as const,
      [
        'Total',
        'the sum across supported carriers',
        (total, row) => total === carriers.reduce((sum, name) => sum + Number(row[name]), 0),
      ] as const,
    ],
  )

  sentence('CarrierB is 0 for Canadian accounts', async (needs) => {
    const own = run.facts.country === 'CA' ? run.loginId : undefined
    const key = needs(run.canadianLoginId ?? own, '--canadian-login-id')
    expect(asRow((await askOnce({ path, key })).json()).CarrierB).toBe(0)
  })

  sentence('CarrierD is 0 for US accounts', async (needs) => {
    needs(run.facts.country === 'US' || undefined, 'facts.country US')
    expect((await summary()).CarrierD).toBe(0)
  })
})
