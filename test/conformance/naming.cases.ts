import { expect } from 'vitest'
import { ask, askOnce } from './support/client.js'
import { ebr, statusOf } from './support/internal-dnc.js'
import { legalEntities } from './support/legal-entities.js'
import { listNumber } from './support/numbers.js'
import { isPascalCase } from './support/rules.js'
import { plainRow } from './support/scrubbed.js'
import { type Row, section, sentence, sentences } from './support/sentence.js'
import { askTimeLegal } from './support/time-legal.js'

const phone = '2125550100'

const pascal: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['time-legal rows', async () => (await askTimeLegal([{ PhoneNumber: phone }])).json()],
  ['scrub rows', () => plainRow('8')],
  [
    'litigator results',
    async () => (await ask({ path: '/v1.5/Scrub/litigator', json: { PhoneList: phone } })).json(),
  ],
  [
    'reassigned-number results',
    async () =>
      (
        await ask({
          path: '/v1.5/Data/EnhancedRND',
          query: { phoneNumber: phone, date: '01/31/2024' },
        })
      ).json(),
  ],
  [
    'identification results',
    async () => (await ask({ path: '/v1.4/Data/IDPremium', query: { phone } })).json(),
  ],
  [
    'disconnect results',
    async () =>
      (await ask({ path: '/v1.4/Data/RealTimeDisconnect', query: { phoneNumber: phone } })).json(),
  ],
  [
    'residential-or-business results',
    async () => (await ask({ path: '/v1.4/Data/ResOrBusiness', query: { phone } })).json(),
  ],
  [
    'flags-removed summaries',
    async () => (await askOnce({ path: '/v1.5/Reputation/FlagsRemovedSummary' })).json(),
  ],
  ['legal entities', legalEntities],
]

function namesIn(answer: unknown): readonly string[] {
  if (Array.isArray(answer)) return answer.flatMap(namesIn)
  if (typeof answer !== 'object' || answer === null) return []
  return Object.keys(answer as Row)
}

section('naming', () => {
  sentences(
    pascal,
    ([what]) => `JSON field names of ${what} are PascalCase`,
    async ([, answer]) => {
      expect(namesIn(await answer()).filter((name) => !isPascalCase(name))).toEqual([])
    },
  )

  sentence('fields of the Internal DNC object are written exactly as given', async () => {
    const [item = {}] = await statusOf(listNumber())
    expect(Object.keys(item).sort()).toEqual(['addedOn', 'lastModifiedOn', 'onList', 'phone'])
  })

  sentence('fields of the EBR object are written exactly as given', async () => {
    const reply = await ebr([
      {
        phoneNumber: '2125550197',
        type: 'I',
        dateOfLastContact: '01/31/2024',
        dateObligationEnds: '01/31/2024',
        referenceNum: 'naming',
        brand: 'Example',
        email: 'person@example.com',
      },
    ])
    expect(reply.json()).toEqual({ success: true })
  })

  sentence('the segment of the product name is written Reputation', async () => {
    expect((await askOnce({ path: '/v1.5/Reputation/FlagsRemovedSummary' })).status).toBe(200)
  })
})
