import { expect } from 'vitest'
import { ask } from './support/client.js'
import { isInteger, isTrueOrFalse } from './support/rules.js'
import { run } from './support/run.js'
import { asRows, fieldTable, section, sentences } from './support/sentence.js'

const path = '/v1.5/Scrub/litigator'

async function rows(phones: readonly string[]) {
  return asRows((await ask({ path, json: { PhoneList: phones.join(',') } })).json())
}

section('litigator-result', () => {
  fieldTable(
    () => rows(['2125550100', '2125550105']),
    [
      [
        'Phone',
        'integer, 10-digit number',
        (value) => isInteger(value) && /^\d{10}$/.test(String(value)),
      ],
      ['IsLitigator', 'boolean', isTrueOrFalse],
    ],
  )

  sentences(
    [
      [true, run.facts.litigators],
      [false, run.facts.notLitigators],
    ] as const,
    ([is]) =>
      `IsLitigator: ${is} when the number is ${is ? '' : 'not '}linked to a known litigator`,
    async ([is, known], needs) => {
      const phones = needs(known, `facts.${is ? 'litigators' : 'notLitigators'}`)
      expect(await rows(phones)).toEqual(
        phones.map((phone) => ({ Phone: Number(phone), IsLitigator: is })),
      )
    },
  )
})
