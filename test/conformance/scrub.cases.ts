import { expect } from 'vitest'
import { wrongKey } from './support/calls.js'
import { ask } from './support/client.js'
import { listNumber } from './support/numbers.js'
import { run } from './support/run.js'
import { plainRow, scrubPath, scrubRow, scrubRows } from './support/scrubbed.js'
import { asRows, section, sentence, sentences } from './support/sentence.js'

const scrub = (query: Readonly<Record<string, string>>) =>
  ask({ at: 'rpc', path: scrubPath, query })

section('scrub', () => {
  sentence('phoneList for one number is answered with one row', async () => {
    const phone = listNumber()
    expect((await scrubRows([phone])).map((row) => row.Phone)).toEqual([phone])
  })

  sentences(
    ['', '|lead-7', '|lead-7|10001', '||10001', '||', '|lead 7 / é|'],
    (fields) => `phoneList may be <phone>${fields}`,
    async (fields) => {
      const phone = listNumber()
      expect(await scrubRow(`${phone}${fields}`)).toMatchObject({
        Phone: phone,
        Reserved: fields.split('|')[1] ?? '',
      })
    },
  )

  sentence(
    'with a postal code calling hours follow the contact’s actual location',
    async (needs) => {
      const { phone } = needs(run.facts.scrub?.[0], 'facts.scrub')
      const [east, west] = await scrubRows([`${phone}||10001`, `${phone}||90210`])
      expect(Number(east?.UTCOffset) - Number(west?.UTCOffset)).toBe(180)
    },
  )

  sentences(
    ['5', '8'],
    (version) => `version ${version} occurs`,
    async (version) => {
      expect(await plainRow(version)).toHaveProperty('ResultCode')
    },
  )

  sentence('version=8 adds the three IsCallAllowed flags', async () => {
    const [eight, five] = [await plainRow('8'), await plainRow('5')]
    const added = Object.keys(eight).filter((name) => !(name in five))
    expect(added).toEqual(
      expect.arrayContaining(['IsCallAllowedNonATDS', 'IsCallAllowedATDS', 'IsCallAllowedAI']),
    )
  })

  sentence('output=json returns JSON', async () => {
    const reply = await scrub({ phoneList: listNumber(), version: '8', output: 'json' })
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/)
    expect(asRows(reply.json())).toHaveLength(1)
  })

  sentence('phoneList is required', async () => {
    const { status } = await scrub({ version: '8', output: 'json' })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
  })

  sentence('the answer is deterministic', async () => {
    const phone = listNumber()
    const [once, again] = [await scrubRow(phone), await scrubRow(phone)]
    expect(again).toEqual(once)
  })

  sentence('a scrub adds no stored state', async () => {
    const phone = listNumber()
    const path = '/app/main/rpc/pdnc'
    const count = { at: 'rpc', path, query: { actionType: 'count' } } as const
    const before = (await ask(count)).text
    await scrubRow(phone)
    expect((await ask(count)).text).toBe(before)
  })

  sentences(
    [null, wrongKey],
    (key) => `${key === null ? 'no key' : 'an unknown key'} is 401`,
    async (key) => {
      const query = { phoneList: '2125550100', version: '8', output: 'json' }
      expect((await ask({ at: 'rpc', path: scrubPath, query, key })).status).toBe(401)
    },
  )
})
