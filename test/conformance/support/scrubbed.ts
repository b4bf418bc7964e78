/** The scrub call as the cases ask it. */
import { ask } from './client.js'
import { listNumber } from './numbers.js'
import { run } from './run.js'
import { asRows, type Needs, type Row } from './sentence.js'

export const scrubPath = '/app/main/rpc/scrub'

/** Rows of version 8; each item is a number, or number, own id and postal code between bars. */
export async function scrubRows(items: readonly string[], version = '8'): Promise<readonly Row[]> {
  const query = { phoneList: items.join(','), version, output: 'json' }
  const reply = await ask({ at: 'rpc', path: scrubPath, query })
  if (reply.status !== 200) throw new Error(`scrub answers ${reply.status}: ${reply.text}`)
  return asRows(reply.json())
}

export async function scrubRow(item: string): Promise<Row> {
  const [row = {}] = await scrubRows([item])
  return row
}

const plain = new Map<string, Promise<readonly Row[]>>()

/** The row of a number nobody wrote about, in a version, asked once for all sections. */
export async function plainRow(version: string): Promise<Row> {
  const rows = plain.get(version) ?? scrubRows([listNumber()], version)
  plain.set(version, rows)
  return (await rows)[0] ?? {}
}

let known: Promise<ReadonlyMap<string, Row>> | undefined

/** The rows of the numbers that the facts tell of, asked once. */
export async function knownRows(needs: Needs): Promise<ReadonlyMap<string, Row>> {
  const phones = needs(run.facts.scrub, 'facts.scrub: numbers with their rows').map(
    ({ phone }) => phone,
  )
  known ??= scrubRows(phones).then((rows) => new Map(rows.map((row) => [String(row.Phone), row])))
  return await known
}

export async function rowsOf(needs: Needs): Promise<readonly Row[]> {
  return [...(await knownRows(needs)).values()]
}

/**
 * Whether the clock of the place is inside the row's own `CallingWindow`; `undefined` within two
 * minutes of an edge, where the answer may already be old.
 */
export function isInsideWindow(row: Row, at: number = Date.now()): boolean | undefined {
  const local = new Date(at + Number(row.UTCOffset) * 60_000)
  const weekday = local.getUTCDay()
  const part = weekday === 6 ? 1 : weekday === 0 ? 2 : 0
  const text = String(row.CallingWindow).split(';')[part] ?? ''
  const match = /^(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)$/.exec(text)
  if (!match) return false
  const [from = 0, fromMinute = 0, until = 0, untilMinute = 0] = match.slice(1).map(Number)
  const minutes = local.getUTCHours() * 60 + local.getUTCMinutes() + local.getUTCSeconds() / 60
  const edges = [from * 60 + fromMinute, until * 60 + untilMinute, 0, 1440]
  if (edges.some((edge) => Math.abs(edge - minutes) < 2)) return undefined
  return minutes >= (edges[0] ?? 0) && minutes < (edges[1] ?? 0)
}
