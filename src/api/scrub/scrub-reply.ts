/** Encodes the rows of a scrub as JSON or CSV, either as one reply or, for a long list, as a stream. */
import type { ScrubRow, ScrubVersion } from '../../domain/scrub-row.js'
import { forEachInSlices, mapInSlices } from '../../runtime/yield-to-event-loop.js'
import type { Reply, StreamedReply } from '../endpoint.js'
import { createWarningHeaders, warningHeader, warningReplyHeader } from '../warnings.js'
import { toCsvLine, toJsonRow } from './scrub-row.js'

/** The rows in request order; those of a long request come in batches, at least one. */
export type ScrubRows = readonly ScrubRow[] | AsyncIterable<readonly ScrubRow[]>

interface ReplyForm {
  readonly version: ScrubVersion
  readonly output: 'json' | 'csv'
}

/** Names each list used for a row of the reply: `us-dnc=<version>;state-dnc-fl=<version>`. */
const listsHeader = 'X-Callgate-Lists'

export const scrubReplyHeaders: Readonly<Record<string, string>> = {
  [listsHeader]:
    'Version of each imported list used for a row, such as us-dnc=1f2e3d4c;litigators=5b6a7988; ' +
    'absent when none was used. With more than 10,000 numbers it is a trailer',
  ...warningReplyHeader,
}

export async function createScrubReply(
  rows: ScrubRows,
  form: ReplyForm,
): Promise<Reply | StreamedReply> {
  if (Symbol.asyncIterator in rows) return await createStreamedReply(rows, form)
  const collector = new ReplyHeaderCollector()
  await collector.add(rows)
  const headers = collector.headers()
  if (form.output === 'json') {
    return { json: await mapInSlices(rows, (row) => toJsonRow(row, form.version)), headers }
  }
  const lines = await mapInSlices(rows, (row) => toCsvLine(row, form.version))
  return { text: lines.join(''), contentType: csvType, headers }
}

const csvType = 'text/csv; charset=utf-8'

async function createStreamedReply(
  batches: AsyncIterable<readonly ScrubRow[]>,
  form: ReplyForm,
): Promise<StreamedReply> {
  const rest = batches[Symbol.asyncIterator]()
  // Wait for the first batch, since an error status can be sent only before the headers.
  const first = await rest.next()
  const collector = new ReplyHeaderCollector()
  return {
    parts: streamParts({ first, rest }, form, collector),
    contentType: form.output === 'json' ? 'application/json; charset=utf-8' : csvType,
    trailerNames: [listsHeader, warningHeader],
    trailers: () => collector.headers(),
  }
}

interface Batches {
  readonly first: IteratorResult<readonly ScrubRow[]>
  readonly rest: AsyncIterator<readonly ScrubRow[]>
}

async function* streamParts(
  { first, rest }: Batches,
  { output, version }: ReplyForm,
  collector: ReplyHeaderCollector,
): AsyncGenerator<string> {
  const isJson = output === 'json'
  const write = (row: ScrubRow) =>
    isJson ? JSON.stringify(toJsonRow(row, version)) : toCsvLine(row, version)
  let before = isJson ? '[' : ''
  try {
    for (let batch = first; !batch.done; batch = await rest.next()) {
      await collector.add(batch.value)
      const written = await mapInSlices(batch.value, write)
      yield `${before}${written.join(isJson ? ',' : '')}`
      before = isJson ? ',' : ''
    }
    if (isJson) yield ']'
  } finally {
    // When the client stops reading, no more rows are produced.
    await rest.return?.()
  }
}

/** Collects the header values of all rows. */
class ReplyHeaderCollector {
  /** Contains both versions of a list that was replaced during the scrub. */
  readonly #lists = new Set<string>()
  readonly #warnings: string[] = []
  #latest: ScrubRow['lists']

  add(rows: readonly ScrubRow[]): Promise<void> {
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
      ...createWarningHeaders(this.#warnings),
    }
  }
}
