/** The internal list and the records as the cases write and read them. */
import { expect } from 'vitest'
import { ask, type Reply } from './client.js'
import { noteRecords } from './records.js'
import { asRow, asRows, type Row } from './sentence.js'
import { american, dayFromToday } from './times.js'

export const pdncPath = '/app/main/rpc/pdnc'
export const ebrPath = '/app/main/rpc/ebr'

const json = { 'content-type': 'application/json' }

export function pdnc(
  query: Readonly<Record<string, string>>,
  more: { readonly key?: string; readonly json?: boolean } = {},
): Promise<Reply> {
  return ask({
    at: 'rpc',
    path: pdncPath,
    query,
    ...(more.key !== undefined && { key: more.key }),
    ...(more.json === true && { headers: json }),
  })
}

export async function put(...phones: readonly string[]): Promise<void> {
  expect((await pdnc({ phoneList: phones.join(','), actionType: 'add' })).status).toBe(200)
}

export async function takeOff(...phones: readonly string[]): Promise<void> {
  expect((await pdnc({ phoneList: phones.join(','), actionType: 'remove' })).status).toBe(200)
}

/** Status items in JSON. */
export async function statusOf(...phones: readonly string[]): Promise<readonly Row[]> {
  const reply = await pdnc({ phoneList: phones.join(','), actionType: 'status' }, { json: true })
  expect(reply.status).toBe(200)
  return asRows(reply.json())
}

export async function countInJson(): Promise<Row> {
  return asRow((await pdnc({ actionType: 'count', phoneList: '' }, { json: true })).json())
}

/** Puts numbers on the list for the time of a case. */
export async function whileOnList(
  phones: readonly string[],
  check: () => Promise<void>,
): Promise<void> {
  await put(...phones)
  try {
    await check()
  } finally {
    await takeOff(...phones)
  }
}

export function ebr(records: unknown, more: Row = {}): Promise<Reply> {
  noteRecords(records)
  return ask({ at: 'rpc', path: ebrPath, json: { ...more, ebrList: records } })
}

/** Stores a record so many days old. */
export async function store(
  phoneNumber: string,
  type: string,
  daysAgo: number,
  more: Row = {},
): Promise<void> {
  const dateOfLastContact = american(dayFromToday(-daysAgo))
  const reply = await ebr([{ phoneNumber, type, dateOfLastContact }], more)
  expect(`${reply.status} ${reply.text}`).toMatch(/^200 /)
}
