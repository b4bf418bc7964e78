import { expect } from 'vitest'
import { lookUpRow } from './support/look-ups.js'
import { isOneOf, isText } from './support/rules.js'
import { run } from './support/run.js'
import { fieldTable, section, sentence, sentences } from './support/sentence.js'

const statuses = [
  'connected',
  'connected-75',
  'pending',
  'disconnected',
  'disconnected-70',
  'busy',
  'unreachable',
  'invalid phone',
  'restricted',
  'invalid-format',
  'invalid-phone',
  'bad-zip-code',
  'serverunavailable',
  'ERROR',
]

const known = run.facts.disconnect ?? []

function rows() {
  const phones = ['2125550100', ...known.map(({ phone }) => phone)]
  return Promise.all(phones.map((phone) => lookUpRow('disconnect', phone)))
}

section('disconnect-result', () => {
  fieldTable(rows, [
    ['Phone', 'the number queried', isText],
    ['Status', 'one of the words of the status table', isOneOf(statuses)],
    ['ErrorText', 'string', (value) => value === null || isText(value)],
    [
      'ErrorText',
      'filled when Status is ERROR',
      (value, row) => row.Status !== 'ERROR' || (isText(value) && value !== ''),
    ],
  ])

  sentence('Phone is the number queried', async () => {
    expect((await lookUpRow('disconnect', '2125550100')).Phone).toBe('2125550100')
  })

  sentences(
    known,
    ({ phone, about }) => `${phone}: ${about}`,
    async ({ phone, answer }) => {
      expect(await lookUpRow('disconnect', phone)).toMatchObject({ ...answer, Phone: phone })
    },
  )
})
