import { expect } from 'vitest'
import { wrongKey } from './support/calls.js'
import { ask } from './support/client.js'
import { type LookUp, lookUp, lookUps } from './support/look-ups.js'
import { asRow, section, sentences } from './support/sentence.js'

const names = Object.keys(lookUps) as readonly LookUp[]
const words = { identification: 'PhoneType', disconnect: 'Status', residential: 'ResOrBusiness' }

const badPhones = ['12125550100', '212555010', '212-555-0100', 'abcdefghij']

section('lookups', () => {
  sentences(
    names,
    (which) => `GET ${lookUps[which].path} answers a result with ${words[which]}`,
    async (which) => {
      const reply = await lookUp(which, '2125550100')
      expect(reply.status).toBe(200)
      expect(asRow(reply.json())).toHaveProperty(words[which])
    },
  )

  sentences(
    names,
    (which) => `GET ${lookUps[which].path}: ${lookUps[which].parameter} is required`,
    async (which) => {
      const { status } = await ask({ path: lookUps[which].path })
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(500)
    },
  )

  sentences(
    names.flatMap((which) => badPhones.map((phone) => ({ which, phone }))),
    ({ which, phone }) => `GET ${lookUps[which].path}: '${phone}' is not 10 digits`,
    async ({ which, phone }) => expectNoFact(await lookUp(which, phone)),
  )

  sentences(
    names,
    (which) => `GET ${lookUps[which].path}: 401 without a valid key`,
    async (which) => {
      const { path, parameter } = lookUps[which]
      for (const key of [null, wrongKey]) {
        expect((await ask({ path, query: { [parameter]: '2125550100' }, key })).status).toBe(401)
      }
    },
  )
})

/** A number that is none is refused, or answered by the words for it. */
function expectNoFact({ status, json }: { status: number; json: () => unknown }): void {
  const { PhoneType, Status, ResOrBusiness } = status === 200 ? asRow(json()) : {}
  const none = ['N', 'U', 'invalid phone', 'invalid-format', 'invalid-phone', 'ERROR', 400]
  expect(none).toContain(PhoneType ?? Status ?? ResOrBusiness ?? status)
}
