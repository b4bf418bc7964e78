/** Reads case tables that people can read as well: every Markdown table of a file, row by row. */
import { readFileSync } from 'node:fs'

/** One row: cells by column name. Tables of a file may have different columns. */
export type TableRow = ReadonlyMap<string, string>

/** Throws where a row has another number of cells than its header. */
export function tableRows(path: string): TableRow[] {
  const rows: TableRow[] = []
  let header: readonly string[] | undefined
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (!line.startsWith('|')) {
      header = undefined
      continue
    }
    const cells = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
    if (!header) header = cells
    else if (cells.length !== header.length)
      throw new Error(`${path}: cells are missing in ${line}`)
    else if (!cells.every((cell) => /^-+$/.test(cell))) rows.push(rowOf(header, cells))
  }
  return rows
}

function rowOf(header: readonly string[], cells: readonly string[]): TableRow {
  return new Map(header.map((name, index) => [name, cells[index] ?? '']))
}
