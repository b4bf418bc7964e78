import { expect } from 'vitest'
import type { Reply } from './support/client.js'
import { ebr, put, store, takeOff } from './support/internal-dnc.js'
import { listNumber, listNumbers, writableNumber } from './support/numbers.js'
import { scrubRow, scrubRows } from './support/scrubbed.js'
import { type Needs, type Row, section, sentence, sentences } from './support/sentence.js'
import { american, dayFromToday, monthsAfter } from './support/times.js'

const yesterday = american(dayFromToday(-1))

function record(more: Row = {}): Row {
  return { phoneNumber: listNumber(), type: 'I', dateOfLastContact: yesterday, ...more }
}

function without(field: string): Row {
  return Object.fromEntries(Object.entries(record()).filter(([name]) => name !== field))
}

section('ebr-record', () => {
  sentences(
    ['phoneNumber', 'type', 'dateOfLastContact'],
    (field) => `${field} is required`,
    async (field) => expectRefused(await ebr([without(field)])),
  )

  sentences(
    ['212555010', '12125550100', '(212) 555-0100', 'abcdefghij', ''],
    (phoneNumber) => `phoneNumber is 10 digits, and '${phoneNumber}' is not`,
    async (phoneNumber) => expectRefused(await ebr([record({ phoneNumber })])),
  )

  sentence('phoneNumber may hold several numbers separated by commas', async () => {
    expectStored(await ebr([record({ phoneNumber: listNumbers(3).join(',') })]))
  })

  sentence('each of several numbers must be 10 digits', async () => {
    expectRefused(await ebr([record({ phoneNumber: `${listNumber()},123` })]))
  })

  sentences(
    [
      ['S', 'Sale/Purchase'],
      ['I', 'Inquiry'],
      ['P', 'Permission'],
      ['T', 'Trial'],
    ] as const,
    ([type, meaning]) => `type ${type} is ${meaning}`,
    async ([type], needs) => {
      const phoneNumber = writableNumber(needs)
      expectStored(await ebr([record({ phoneNumber, type })]))
      expect((await scrubRow(phoneNumber)).EBRType).toBe(type)
    },
  )

  sentences(
    ['X', 'Sale', '', 7],
    (type) => `type ${JSON.stringify(type)} does not exist`,
    async (type) => expectRefused(await ebr([record({ type })])),
  )

  sentence('dateOfLastContact is MM/DD/YYYY', async () => {
    expectStored(await ebr([record({ dateOfLastContact: '02/28/2026' })]))
  })

  sentences(
    ['02/30/2026', '13/01/2026', 'last week', ''],
    (dateOfLastContact) => `dateOfLastContact '${dateOfLastContact}' is no date`,
    async (dateOfLastContact) => expectRefused(await ebr([record({ dateOfLastContact })])),
  )

  sentences(
    [
      ['dateObligationEnds', american(dayFromToday(90))],
      ['referenceNum', 'lead 7/b'],
      ['brand', 'Example & Sons'],
      ['email', 'person@example.com'],
    ] as const,
    ([field]) => `${field} is optional and may be given`,
    async ([field, value]) => {
      expectStored(await ebr([record()]))
      expectStored(await ebr([record({ [field]: value })]))
    },
  )

  sentence('email may have 100 characters', async () => {
    expectStored(await ebr([record({ email: emailOf(100) })]))
  })

  sentence('email must not have 101 characters', async () => {
    expectRefused(await ebr([record({ email: emailOf(101) })]))
  })

  sentence('a P record allows contact for marketing and sales', async (needs) => {
    const phone = writableNumber(needs)
    await store(phone, 'P', 1)
    expect(await scrubRow(phone)).toMatchObject({
      EBRType: 'P',
      ResultCode: expect.stringMatching(/^[EOGH]$/),
    })
  })

  sentence('a P record holds until the number is added to the internal list', async (needs) => {
    const phone = writableNumber(needs)
    await store(phone, 'P', 1)
    await put(phone)
    try {
      expect((await scrubRow(phone)).ResultCode).not.toMatch(/^[EOGH]$/)
    } finally {
      await takeOff(phone)
    }
  })

  sentence('a P record of years ago still holds', async (needs) => {
    const phone = writableNumber(needs)
    await store(phone, 'P', 4 * 365)
    expect((await scrubRow(phone)).ResultCode).toMatch(/^[EOGH]$/)
  })

  sentence('only type P overrides an internal list entry', async (needs) => {
    const phones = ['S', 'I'].map((type) => ({ type, phone: writableNumber(needs) }))
    await put(...phones.map(({ phone }) => phone))
    try {
      for (const { phone, type } of phones) await store(phone, type, 0)
      const rows = await scrubRows(phones.map(({ phone }) => phone))
      expect(rows.map(({ ResultCode }) => ResultCode)).not.toContainEqual(
        expect.stringMatching(/^[EOGH]$/),
      )
    } finally {
      await takeOff(...phones.map(({ phone }) => phone))
    }
  })

  sentences(
    [
      ['S', 18],
      ['I', 3],
    ] as const,
    ([type, months]) => `federal expiry: ${type} expires ${months} months after its date`,
    async ([type, months], needs) => {
      const held = await rowOfAge(needs, type, monthsAfter(dayFromToday(2), -months))
      expect(held.ResultCode).toMatch(/^[EOGH]$/)
      const expired = await rowOfAge(needs, type, monthsAfter(dayFromToday(-2), -months))
      expect(expired.ResultCode).not.toMatch(/^[EOGH]$/)
    },
  )

  sentences(
    [
      ['S', 18],
      ['I', 3],
    ] as const,
    ([type, months]) => `EBRExpiresOn of ${type} is ${months} months after its date`,
    async ([type, months], needs) => {
      const day = dayFromToday(-20)
      const row = await rowOfAge(needs, type, day)
      expect(String(row.EBRExpiresOn)).toContain(monthsAfter(day, months))
    },
  )
})

async function rowOfAge(needs: Needs, type: string, day: string): Promise<Row> {
  const phoneNumber = writableNumber(needs)
  expectStored(await ebr([{ phoneNumber, type, dateOfLastContact: american(day) }]))
  return await scrubRow(phoneNumber)
}

function emailOf(length: number): string {
  return `${'p'.repeat(length - '@example.com'.length)}@example.com`
}

function expectStored(reply: Reply): void {
  expect(`${reply.status} ${reply.text}`).toBe('200 {"success":true}')
}

function expectRefused({ status, text }: Reply): void {
  expect(`${status} ${text}`).toMatch(/^4\d\d \S/)
}
