/** Long answers as CSV (RFC 4180), for spreadsheets. */
import { formatCsvCell } from '../runtime/csv-cell.js'
import type { StreamedReply } from './endpoint.js'

/** What each column has of a row; nothing where it is `undefined`. */
export type CsvColumns<Row> = Readonly<Record<string, (row: Row) => string | undefined>>

/** Pages of rows, which are read while the ones before are sent. */
export interface CsvExport<Row> {
  readonly pages: AsyncIterable<readonly Row[]>
  /** Where another one would begin, once all pages have been read; absent if these are all rows. */
  readonly getNextCursor: () => string | undefined
}

/** Of one answer. */
export const maxCsvRows = 10_000

const nextCursorHeader = 'X-Callgate-Next-Cursor'

/** For the description of an endpoint. */
export const csvReplyHeaders = {
  [nextCursorHeader]:
    'With output=csv, a trailer: the cursor of the next answer if this one does not have all rows',
}

export function streamCsv<Row>(
  columns: CsvColumns<Row>,
  { pages, getNextCursor }: CsvExport<Row>,
): StreamedReply {
  async function* writeParts() {
    yield toCsvHeader(columns)
    for await (const rows of pages) yield rows.map((row) => toCsvLine(columns, row)).join('')
  }
  return {
    parts: writeParts(),
    contentType: 'text/csv; charset=utf-8',
    trailerNames: [nextCursorHeader],
    trailers: () => {
      const cursor = getNextCursor()
      return cursor === undefined ? {} : { [nextCursorHeader]: cursor }
    },
  }
}

export function toCsvHeader<Row>(columns: CsvColumns<Row>): string {
  return `${Object.keys(columns).join()}\r\n`
}

export function toCsvLine<Row>(columns: CsvColumns<Row>, row: Row): string {
  const cells = Object.values(columns).map((read) => formatCsvCell(read(row) ?? ''))
  return `${cells.join()}\r\n`
}
