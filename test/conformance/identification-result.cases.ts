import { expect } from 'vitest'
import { lookUpRow } from './support/look-ups.js'
import { isOneOf, isTenDigits, isText } from './support/rules.js'
import { run } from './support/run.js'
import { fieldTable, section, sentences } from './support/sentence.js'

const known = run.facts.identification ?? []

function rows() {
  const phones = ['2125550100', ...known.map(({ phone }) => phone)]
  return Promise.all(phones.map((phone) => lookUpRow('identification', phone)))
}

section('identification-result', () => {
  fieldTable(rows, [
    ['Phone', 'the number queried', isTenDigits],
    ['PhoneType', 'one character: N, L, V, W or O', isOneOf(['N', 'L', 'V', 'W', 'O'])],
    [
      'OCN',
      '4 alphanumeric characters, or empty when not available',
      (value) => isText(value) && /^(?:[A-Za-z0-9]{4})?$/.test(value),
    ],
    ['TelcoName', 'at most 50 characters', (value) => isText(value) && value.length <= 50],
    ['ODate', 'YYYYMMDD, or empty without a look-up', (value) => isText(value) && isODate(value)],
  ])

  sentences(
    known,
    ({ phone, about }) => `${phone}: ${about}`,
    async ({ phone, answer }) => {
      expect(await lookUpRow('identification', phone)).toMatchObject({ ...answer, Phone: phone })
    },
  )
})

function isODate(text: string): boolean {
  const match = /^(\d{4})(\d\d)(\d\d)$/.exec(text)
  if (!match) return text === ''
  return !Number.isNaN(Date.parse(`${match[1]}-${match[2]}-${match[3]}T00:00:00Z`))
}
