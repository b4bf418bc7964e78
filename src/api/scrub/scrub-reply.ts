/** Encodes the rows of a scrub as JSON or CSV, as one reply or, for a very long list, as a stream. */
import type { ScrubRow, ScrubVersion } from '../../domain/scrub-row.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import type { BytesReply, Reply, StreamedReply } from '../endpoint.js'
import { createWarningHeaders, warningHeader, warningReplyHeader } from '../warnings.js'
import { toCsvText, toJsonText } from './scrub-row.js'

/** The rows in request order; those of a long request come in batches, at least one. */
export type ScrubRows = readonly ScrubRow[] | AsyncIterable<readonly ScrubRow[]>

export interface ScrubReplyForm {
  readonly version: ScrubVersion
  readonly output: 'json' | 'csv'
  /** Send rows while later ones are evaluated; headers about all rows are then trailers. */
  readonly isStreamed: boolean
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
  form: ScrubReplyForm,
): Promise<BytesReply | StreamedReply> {
  const collector = new ReplyHeaderCollector()
  const batches = Symbol.asyncIterator in rows ? rows : [rows]
  const parts = writeParts(batches, form, collector)
  const contentType = `${form.output === 'json' ? 'application/json' : 'text/csv'}; charset=utf-8`
  if (form.isStreamed) {
    const trailerNames = [listsHeader, warningHeader]
    const trailers = () => collector.headers()
    return { parts: await startParts(parts), contentType, trailerNames, trailers }
  }
  // As bytes at once: each copy of a text of megabytes takes longer than judging a thousand numbers.
  const pieces: Buffer[] = []
  for await (const part of parts) pieces.push(Buffer.from(part))
  return { bytes: Buffer.concat(pieces), contentType, headers: collector.headers() }
}

/** Waits for the first part, since an error status can be sent only before the headers. */
async function startParts(parts: AsyncGenerator<string>): Promise<AsyncIterable<string>> {
  const first = await parts.next()
  return (async function* () {
    try {
      if (first.done) return
      yield first.value
      yield* parts
    } finally {
      await parts.return(undefined)
    }
  })()
}

/** About 64 KiB: a larger text or buffer gets memory of its own, fresh from the system. */
const rowsPerPart = { json: 128, csv: 512 }

async function* writeParts(
  batches: AsyncIterable<readonly ScrubRow[]> | Iterable<readonly ScrubRow[]>,
  { output, version }: ScrubReplyForm,
  collector: ReplyHeaderCollector,
): AsyncGenerator<string> {
  const isJson = output === 'json'
  const toText = isJson ? toJsonText : toCsvText
  let before = isJson ? '[' : ''
  for await (const batch of batches) {
    for (let from = 0; from < batch.length; from += rowsPerPart[output]) {
      const turn = yieldToEventLoop()
      if (turn) await turn
      const rows = batch.slice(from, from + rowsPerPart[output])
      for (const row of rows) collector.add(row)
      yield before + toText(rows, version)
      before = isJson ? ',' : ''
    }
  }
  if (isJson) yield before === '[' ? '[]' : ']'
}

/** Collects the header values of all rows. */
class ReplyHeaderCollector {
  /** Contains both versions of a list that was replaced during the scrub. */
  readonly #lists = new Set<string>()
  readonly #warnings: string[] = []
  #latest: ScrubRow['lists']

  add({ lists, warning }: ScrubRow): void {
    if (warning !== undefined) this.#warnings.push(warning)
    if (!lists || lists === this.#latest) return
    this.#latest = lists
    for (const { name, version } of lists) this.#lists.add(`${name}=${version}`)
  }

  headers(): NonNullable<Reply['headers']> {
    return {
      ...(this.#lists.size > 0 && { [listsHeader]: [...this.#lists].join(';') }),
      ...createWarningHeaders(this.#warnings),
    }
  }
}
