/** Tables that people paste or send as a file: CSV with any usual delimiter, or one value per line. */
import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { invalidRequest } from '../errors.js'
import { yieldToEventLoop } from '../runtime/yield-to-event-loop.js'

export interface PastedRow {
  /** Of the first line of the row, from 1. */
  readonly line: number
  readonly cells: readonly string[]
}

/** Of the text that is parsed at once; others wait for it. */
const chunkLength = 16_384

async function* chunksOf(text: string): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += chunkLength) {
    await yieldToEventLoop()
    yield text.slice(at, at + chunkLength)
  }
}

interface ParsedRow {
  readonly record: readonly string[]
  readonly info: { readonly lines: number }
}

/** Rows without blank ones. Rejects with `invalid-request` naming `field` for a misplaced quote, or more rows than `maxRows`. */
export async function parsePastedTable(
  text: string,
  {
    field,
    maxRows,
    command = 'callgate import',
  }: { readonly field: string; readonly maxRows: number; readonly command?: string },
): Promise<readonly PastedRow[]> {
  const refuse = (rule: string) => invalidRequest([{ field, rule }])
  const parser = parse({
    ...{ bom: true, info: true, trim: true, relax_column_count: true, skip_empty_lines: true },
    delimiter: [',', ';', '\t', '|'],
  })
  const found: PastedRow[] = []
  try {
    for await (const row of Readable.from(chunksOf(text)).pipe(parser)) {
      const { record, info } = row as ParsedRow
      if (record.every((cell) => cell === '')) continue
      const breaks = record.join('').split('\n').length - 1
      found.push({ line: info.lines - breaks, cells: record })
      if (found.length <= maxRows) continue
      const most = maxRows.toLocaleString('en')
      throw refuse(`must have at most ${most} rows; the command ${command} takes more`)
    }
  } catch (cause) {
    if (cause instanceof CsvError) throw refuse(`is not CSV: ${cause.message}`)
    throw cause
  }
  if (found.length === 0) throw refuse('is required: paste rows or choose a file')
  return found
}
