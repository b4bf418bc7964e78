import { expect } from 'vitest'
import { wrongKey } from './support/calls.js'
import { ask, type Reply } from './support/client.js'
import { ebr, ebrPath, store } from './support/internal-dnc.js'
import { listNumber, writableNumber } from './support/numbers.js'
import { scrubRow, scrubRows } from './support/scrubbed.js'
import { type Row, section, sentence, sentences } from './support/sentence.js'
import { american, dayFromToday } from './support/times.js'

const today = american(dayFromToday(-1))

function record(more: Row = {}): Row {
  return { phoneNumber: listNumber(), type: 'I', dateOfLastContact: today, ...more }
}

section('ebr-and-consent', () => {
  sentence('response 200 is {success: true}', async () => {
    const reply = await ebr([record()])
    expect(reply.status).toBe(200)
    expect(reply.json()).toEqual({ success: true })
  })

  sentences(
    [
      ['ebrList is missing', {}],
      ['ebrList is null', { ebrList: null }],
      ['ebrList is text', { ebrList: '2125550100' }],
      ['a record is text', { ebrList: ['2125550100'] }],
    ] as const,
    ([what]) => `ebrList is a required array of records: ${what} is a 4xx with the reason`,
    async ([, json]) => expectReason(await ask({ at: 'rpc', path: ebrPath, json })),
  )

  sentences(
    [
      ['a bad number', { phoneNumber: '12' }, '12'],
      ['a bad type', { type: 'Q' }, 'type'],
      ['a bad date', { dateOfLastContact: '99/99/2026' }, 'dateOfLastContact'],
    ] as const,
    ([what]) => `response 4xx: the body holds the reason of ${what}`,
    async ([, wrong, named]) => {
      const reply = await ebr([record(wrong)])
      expectReason(reply)
      expect(reply.text.toLowerCase()).toContain(named.toLowerCase())
    },
  )

  sentence('a body that is no JSON is a 4xx', async () => {
    const headers = { 'content-type': 'application/json' }
    expectReason(
      await ask({ at: 'rpc', path: ebrPath, method: 'POST', body: '{"ebrList"', headers }),
    )
  })

  sentence('one bad record adds nothing of the request', async (needs) => {
    const phoneNumber = writableNumber(needs)
    expectReason(await ebr([record({ phoneNumber, type: 'P' }), record({ type: 'Q' })]))
    expect((await scrubRow(phoneNumber)).EBRType).toBe('')
  })

  sentence('several records are added by one request', async (needs) => {
    const [first, second] = [writableNumber(needs), writableNumber(needs)]
    const reply = await ebr([
      record({ phoneNumber: first, type: 'S' }),
      record({ phoneNumber: second, type: 'P' }),
    ])
    expect(reply.status).toBe(200)
    const rows = await scrubRows([first, second])
    expect(rows.map(({ EBRType }) => EBRType)).toEqual(['S', 'P'])
  })

  sentence('a record with several numbers adds the same EBR to each', async (needs) => {
    const phones = [writableNumber(needs), writableNumber(needs)]
    expect((await ebr([record({ phoneNumber: phones.join(','), type: 'S' })])).status).toBe(200)
    const rows = await scrubRows(phones)
    expect(rows.map(({ EBRType }) => EBRType)).toEqual(['S', 'S'])
    expect(new Set(rows.map(({ EBRExpiresOn }) => EBRExpiresOn)).size).toBe(1)
  })

  sentences(
    [undefined, 0, 1],
    (keepBetterEBR) => `keepBetterEBR is an optional integer: ${keepBetterEBR ?? 'absent'}`,
    async (keepBetterEBR) => {
      expect(
        (await ebr([record()], keepBetterEBR === undefined ? {} : { keepBetterEBR })).status,
      ).toBe(200)
    },
  )

  sentence('keepBetterEBR 1 keeps the existing record if it expires later', async (needs) => {
    const phone = writableNumber(needs)
    await store(phone, 'S', 10)
    await store(phone, 'I', 0, { keepBetterEBR: 1 })
    expect((await scrubRow(phone)).EBRType).toBe('S')
  })

  sentence('keepBetterEBR 1 replaces the existing record if it expires earlier', async (needs) => {
    const phone = writableNumber(needs)
    await store(phone, 'I', 10)
    await store(phone, 'S', 0, { keepBetterEBR: 1 })
    expect((await scrubRow(phone)).EBRType).toBe('S')
  })

  sentence('keepBetterEBR 1 keeps a permission, which does not expire', async (needs) => {
    const phone = writableNumber(needs)
    await store(phone, 'P', 30)
    await store(phone, 'S', 0, { keepBetterEBR: 1 })
    expect((await scrubRow(phone)).EBRType).toBe('P')
  })

  sentence('without keepBetterEBR the new record replaces the existing one', async (needs) => {
    const phone = writableNumber(needs)
    await store(phone, 'S', 10)
    await store(phone, 'I', 0)
    expect((await scrubRow(phone)).EBRType).toBe('I')
  })

  sentences(
    [null, wrongKey],
    (key) => `${key === null ? 'no key' : 'an unknown key'} is 401`,
    async (key) => {
      const reply = await ask({ at: 'rpc', path: ebrPath, json: { ebrList: [record()] }, key })
      expect(reply.status).toBe(401)
    },
  )
})

function expectReason({ status, text }: Reply): void {
  expect(`${status} ${text}`).toMatch(/^4\d\d \S/)
}
