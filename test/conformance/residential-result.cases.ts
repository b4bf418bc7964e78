import { expect } from 'vitest'
import { lookUpRow } from './support/look-ups.js'
import { isOneOf, isTenDigits } from './support/rules.js'
import { run } from './support/run.js'
import { fieldTable, section, sentence, sentences } from './support/sentence.js'

const known = run.facts.residential ?? []

function rows() {
  const phones = ['2125550100', ...known.map(({ phone }) => phone)]
  return Promise.all(phones.map((phone) => lookUpRow('residential', phone)))
}

section('residential-result', () => {
  fieldTable(rows, [
    ['Phone', 'string', isTenDigits],
    ['ResOrBusiness', 'one character: R, B or U', isOneOf(['R', 'B', 'U'])],
  ])

  sentence('Phone is the number queried', async () => {
    expect((await lookUpRow('residential', '2125550100')).Phone).toBe('2125550100')
  })

  sentences(
    known,
    ({ phone, about }) => `${phone}: ${about}`,
    async ({ phone, answer }) => {
      expect(await lookUpRow('residential', phone)).toMatchObject({ ...answer, Phone: phone })
    },
  )
})
