import { expect } from 'vitest'
import { wrongKey } from './support/calls.js'
import { type Ask, ask } from './support/client.js'
import { isInteger, isText } from './support/rules.js'
import { asRow, section, sentence, sentences } from './support/sentence.js'

const path = '/v1.5/Auth/Validate'

const refusals: readonly (readonly [string, Pick<Ask, 'key' | 'headers'>])[] = [
  ['no key', { key: null }],
  ['an unknown key', { key: wrongKey }],
  ['an empty key', { key: '' }],
  ['an unknown token', { key: null, headers: { authorization: `Bearer ${wrongKey}` } }],
]

section('authentication-check', () => {
  sentence('a valid loginId header is validated', async () => {
    expect((await ask({ path })).status).toBe(200)
  })

  sentences(
    refusals,
    ([what]) => `${what} is refused with 401`,
    async ([, credentials]) => {
      expect((await ask({ path, ...credentials })).status).toBe(401)
    },
  )

  sentences(
    [
      ['type', isText],
      ['title', isText],
      ['status', isInteger],
      ['detail', isText],
      ['instance', isText],
    ] as const,
    ([field]) =>
      `error bodies have the field ${field}${field === 'status' ? ', an integer' : ', a string'}`,
    async ([field, holds]) => {
      const body = asRow((await ask({ path, key: wrongKey })).json())
      expect(body).toHaveProperty(field)
      expect(body).toSatisfy((row: typeof body) => holds(row[field]))
    },
  )

  sentence('the field status of an error body is that of the response', async () => {
    expect(asRow((await ask({ path, key: null })).json()).status).toBe(401)
  })
})
