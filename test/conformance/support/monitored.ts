/** Numbers put into monitoring once for all sections, and taken out again by the last of them. */
import { ask, type Reply } from './client.js'
import { listNumbers } from './numbers.js'
import { asRows, type Row } from './sentence.js'

const path = '/v1.4/reputation'
const json = { 'content-type': 'application/json' }

export const monitor = {
  add: (items: unknown) => ask({ at: 'monitor', path: `${path}/add`, json: items }),
  getByQuery: (phones: readonly string[]) =>
    ask({
      at: 'monitor',
      path: `${path}/get`,
      query: { phoneList: phones.join(',') },
      headers: json,
    }),
  getByPost: (phones: readonly unknown[]) =>
    ask({ at: 'monitor', path: `${path}/get`, json: phones }),
  getAll: () => ask({ at: 'monitor', path: `${path}/getAll`, headers: json }),
  remove: (phones: readonly unknown[]) =>
    ask({ at: 'monitor', path: `${path}/remove`, json: phones }),
}

/** The rows of an answer that must be 200. */
export async function rowsIn(asked: Promise<Reply>): Promise<readonly Row[]> {
  const reply = await asked
  if (reply.status !== 200) throw new Error(`answered ${reply.status}: ${reply.text}`)
  return asRows(reply.json())
}

export interface Monitored {
  readonly phones: readonly string[]
  readonly added: readonly Row[]
  readonly got: readonly Row[]
  readonly posted: readonly Row[]
  readonly all: readonly Row[]
  /** What get-all of version 1.5 answers. */
  readonly getAll: Reply
  readonly removed: readonly Row[]
  readonly allAfter: readonly Row[]
}

let once: Promise<Monitored> | undefined

/** What each call answers about three numbers: added, read in every way, removed. */
export function monitored(): Promise<Monitored> {
  once ??= gather()
  return once
}

async function gather(): Promise<Monitored> {
  const phones = listNumbers(3)
  // The first has no label.
  const items = phones.map((Phone, at) => ({ Phone, ...(at > 0 && { Label: 'conformance' }) }))
  const added = await rowsIn(monitor.add(items))
  const got = await rowsIn(monitor.getByQuery(phones))
  const posted = await rowsIn(monitor.getByPost(phones))
  const all = await rowsIn(monitor.getAll())
  const getAll = await ask({ path: '/v1.5/Reputation/GetAll' })
  const removed = await rowsIn(monitor.remove(phones))
  const allAfter = await rowsIn(monitor.getAll())
  return { phones, added, got, posted, all, getAll, removed, allAfter }
}

/** Records of the numbers alone, in their order. */
export function recordsOf(rows: readonly Row[], phones: readonly string[]): readonly Row[] {
  return phones.flatMap((phone) => rows.filter((row) => row.Phone === phone))
}
