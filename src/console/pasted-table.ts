/** Tables that people paste or upload. They are read like the files of commands. */
import { Readable } from 'node:stream'
import { DataFileError, invalidRequest } from '../errors.js'
import { yieldToEventLoop } from '../runtime/yield-to-event-loop.js'
import type { Form } from './forms.js'
import { type Html, html } from './html.js'

/** Of the text that is parsed at once; others wait for it. */
const chunkLength = 16_384

async function* chunksOf(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += chunkLength) {
    await yieldToEventLoop()
    yield bytes.subarray(at, at + chunkLength)
  }
  // Pasted text is never cut off.
  yield Buffer.from('\n')
}

interface PastedTable {
  readonly field: string
  readonly maxRows: number
  /** The command that accepts more rows. */
  readonly command: string
}

/** Rejects with `invalid-request` naming the field for a table that cannot be used, or has more rows. */
export async function readPasted<Result>(
  text: string,
  { field, maxRows, command }: PastedTable,
  read: (source: Pasted, onRow: () => void) => Promise<Result>,
): Promise<Result> {
  const refuse = (rule: string) => invalidRequest([{ field, rule }])
  if (text.trim() === '') throw refuse('is required: paste rows or choose a file')
  let rows = 0
  const onRow = () => {
    rows += 1
    if (rows <= maxRows) return
    const most = maxRows.toLocaleString('en')
    throw refuse(`must have at most ${most} rows; for more, use the command ${command}`)
  }
  try {
    const stream = Readable.from(chunksOf(Buffer.from(text)), { objectMode: false })
    return await read({ name: 'table', path: 'table', stream }, onRow)
  } catch (cause) {
    if (cause instanceof DataFileError) throw refuse(cause.message.replace(/^table: /, ''))
    throw cause
  }
}

interface Pasted {
  readonly name: string
  readonly path: string
  readonly stream: Readable
}

/** Renders a sample table, for a page where a table is pasted. */
export function renderSample(sample: string): Html {
  return html`<details><summary>A sample file</summary><pre>${sample}</pre></details>`
}

/** Renders the field in which people answer a question about their table. */
export function renderTableFields(fields: Form, sample: string): Html {
  const hint = `Only if a message asks for it, such as --column 'Mobile', --where 'Status=DNC' or --all-rows`
  return html`${fields.field({ name: 'table', label: 'Columns and rows', hint })}
${renderSample(sample)}`
}
