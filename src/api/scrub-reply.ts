/** How the rows of a scrub travel: as JSON or CSV, whole, or for a long list while they are made. */
import type { ScrubRow } from '../domain/scrub-row.js'
import { forEachInSlices, mapInSlices } from '../domain/slices.js'
import type { LongReply, Reply } from './endpoint.js'
import type { ScrubRequest } from './scrub.js'
import { csvLine, jsonRow } from './scrub-row.js'
import { warningHeader, warningHeaders, warningReplyHeader } from './warnings.js'

/** Those of a long request come in batches, in the order of its numbers; at least one is there. */
export type ScrubRows = readonly ScrubRow[] | AsyncIterable<readonly ScrubRow[]>

type Form = Pick<ScrubRequest, 'output' | 'version'>

/** Names each list that a row of the reply rests on: `us-dnc=<version>;state-dnc-fl=<version>`. */
const listsHeader = 'X-Callgate-Lists'

export const scrubReplyHeaders: Readonly<Record<string, string>> = {
  [listsHeader]:
    'Version of each imported list a row rests on, such as us-dnc=1f2e3d4c;litigators=5b6a7988; ' +
    'absent where none does. With more than 10,000 numbers it is a trailer',
  ...warningReplyHeader,
}

export async function scrubReply(rows: ScrubRows, form: Form): Promise<Reply | LongReply> {
  if (Symbol.asyncIterator in rows) return await longReply(rows, form)
  const said = new SaidOfRows()
  await said.note(rows)
  const headers = said.headers()
  if (form.output === 'json') {
    return { json: await mapInSlices(rows, (row) => jsonRow(row, form.version)), headers }
  }
  const lines = await mapInSlices(rows, (row) => csvLine(row, form.version))
  return { text: lines.join(''), contentType: csvType, headers }
}

const csvType = 'text/csv; charset=utf-8'

async function longReply(
  batches: AsyncIterable<readonly ScrubRow[]>,
  form: Form,
): Promise<LongReply> {
  const rest = batches[Symbol.asyncIterator]()
  // What refuses the request does so now, while a refusal can still be sent.
  const first = await rest.next()
  const said = new SaidOfRows()
  return {
    parts: partsOf({ first, rest }, form, said),
    contentType: form.output === 'json' ? 'application/json; charset=utf-8' : csvType,
    trailerNames: [listsHeader, warningHeader],
    trailers: () => said.headers(),
  }
}

interface Batches {
  readonly first: IteratorResult<readonly ScrubRow[]>
  readonly rest: AsyncIterator<readonly ScrubRow[]>
}

async function* partsOf(
  { first, rest }: Batches,
  { output, version }: Form,
  said: SaidOfRows,
): AsyncGenerator<string> {
  const isJson = output === 'json'
  const write = (row: ScrubRow) =>
    isJson ? JSON.stringify(jsonRow(row, version)) : csvLine(row, version)
  let before = isJson ? '[' : ''
  for (let batch = first; !batch.done; batch = await rest.next()) {
    await said.note(batch.value)
    const written = await mapInSlices(batch.value, write)
    yield `${before}${written.join(isJson ? ',' : '')}`
    before = isJson ? ',' : ''
  }
  if (isJson) yield ']'
}

/** What the headers say of all rows together. */
class SaidOfRows {
  /** Of a list that was replaced while the rows were made, both versions. */
  readonly #lists = new Set<string>()
  readonly #warnings: string[] = []
  #latest: ScrubRow['lists']

  note(rows: readonly ScrubRow[]): Promise<void> {
    return forEachInSlices(rows, ({ lists, warning }) => {
      if (warning !== undefined) this.#warnings.push(warning)
      if (!lists || lists === this.#latest) return
      this.#latest = lists
      for (const { name, version } of lists) this.#lists.add(`${name}=${version}`)
    })
  }

  headers(): NonNullable<Reply['headers']> {
    return {
      ...(this.#lists.size > 0 && { [listsHeader]: [...this.#lists].join(';') }),
      ...warningHeaders(this.#warnings),
    }
  }
}
