/** The time-legal call as the cases ask it. */
import { type Ask, ask, type Reply } from './client.js'
import { asRows, type Row } from './sentence.js'

export interface Item {
  readonly PhoneNumber?: unknown
  readonly CallProposedDateTimeInUTC?: unknown
  readonly DNCProjId?: unknown
}

export const timeLegalPath = '/v1.5/GeoScrub/IsTimeLegalToCall'

export function askTimeLegal(
  items: unknown,
  more: Pick<Ask, 'key' | 'headers'> = {},
): Promise<Reply> {
  return ask({ path: timeLegalPath, json: { IsTimeLegalToCall: items }, ...more })
}

/** Rows of a batch that must be answered with 200; both documented forms are read. */
export async function timeLegalRows(
  items: readonly (Item | null)[],
  key?: string,
): Promise<readonly Row[]> {
  const reply = await askTimeLegal(items, key === undefined ? {} : { key })
  if (reply.status !== 200) throw new Error(`time-legal answers ${reply.status}: ${reply.text}`)
  return flat(reply.json())
}

export async function timeLegalRow(item: Item, key?: string): Promise<Row> {
  const [row = {}] = await timeLegalRows([item], key)
  return row
}

/** Rows in one list, or lists of rows under `Response`. */
export function flat(answer: unknown): readonly Row[] {
  return asRows(answer).flatMap((row) => ('Response' in row ? asRows(row.Response) : [row]))
}
