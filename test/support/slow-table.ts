/**
 * Reads a table slowly, as the documents describe it, one character after the other. It shares nothing with the program, and finds every
 * telephone number of every column that mostly has numbers.
 */

interface SlowNumber {
  readonly number: string
  /** Of the beginning of its row. */
  readonly line: number
}

export interface SlowTable {
  readonly header: readonly string[] | undefined
  /** Ten digits each, of the columns in which more than a tenth of the filled cells are nothing but a number. */
  readonly numbers: readonly SlowNumber[]
  readonly numberColumns: readonly number[]
}

/** The digits of a cell that is nothing but a number of North America. */
function toTenDigits(cell: string): string | undefined {
  let text = cell
  if (text.startsWith("'")) text = text.slice(1)
  if (text.startsWith('="') && text.endsWith('"')) text = text.slice(2, -1)
  if (/^\d{10,11}\.0*$/.test(text)) text = text.split('.')[0] ?? ''
  for (const dash of '\u2010\u2011\u2012\u2013\u2014') text = text.replaceAll(dash, '-')
  text = text.replaceAll('\u200b', '').trim()
  if (!/^\+?[\d ().-]+$/.test(text)) return undefined
  if (/^\d{4,}\.\d*$/.test(text)) return undefined
  let digits = text.replace(/\D/g, '')
  if (!text.startsWith('+') && digits.startsWith('001')) digits = digits.slice(2)
  if (digits.length === 11 && digits.startsWith('1')) digits = digits.slice(1)
  else if (text.startsWith('+')) return undefined
  return /^[2-9]\d\d[2-9]\d{6}$/.test(digits) ? digits : undefined
}

function decode(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.subarray(2).toString('utf16le')
  if (bytes[0] === 0xfe && bytes[1] === 0xff) {
    return Buffer.from(bytes.subarray(2)).swap16().toString('utf16le')
  }
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  return text.includes('\ufffd') ? bytes.toString('latin1') : text
}

interface SlowRow {
  readonly cells: readonly string[]
  readonly line: number
}

function splitRows(text: string, delimiter: string): SlowRow[] {
  const rows: SlowRow[] = []
  let [line, start] = [1, 1]
  let [cells, cell] = [[] as string[], '']
  let isQuoted = false
  const endCell = () => {
    cells.push(cell.trim())
    cell = ''
  }
  const endRow = () => {
    endCell()
    if (cells.some((one) => one !== '')) rows.push({ cells, line: start })
    cells = []
  }
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at] ?? ''
    if (letter === '\n' || (letter === '\r' && text[at + 1] !== '\n')) line += 1
    if (isQuoted) {
      if (letter !== '"') cell += letter
      else if (text[at + 1] !== '"') isQuoted = false
      else {
        cell += '"'
        at += 1
      }
    } else if (letter === '"' && cell.trim() === '') [cell, isQuoted] = ['', true]
    else if (letter === delimiter) endCell()
    else if (letter === '\n' || (letter === '\r' && text[at + 1] !== '\n')) {
      endRow()
      start = line
    } else cell += letter
  }
  endRow()
  return rows
}

export function readSlowly(bytes: Buffer): SlowTable {
  const text = decode(bytes)
  const [first = ''] = text.split(/[\r\n]+/).filter((line) => line.trim() && !line.startsWith('#'))
  const delimiters = ['\t', ',', ';', '|']
  const counts = delimiters.map((one) => first.replace(/"[^"]*"/g, '').split(one).length)
  const delimiter = delimiters[counts.indexOf(Math.max(...counts))] ?? ','
  const all = splitRows(text, delimiter).filter(({ cells: [cell = ''] }) => !cell.startsWith('#'))
  const hasHeader = !(all[0]?.cells ?? []).some((cell) => toTenDigits(cell) !== undefined)
  const rows = hasHeader ? all.slice(1) : all
  const width = Math.max(...all.map(({ cells }) => cells.length))
  const numbersOf = (cell: string) => {
    const parts = cell.split(/[,;|/\n]/).map((part) => toTenDigits(part.trim()))
    return parts.every((part) => part !== undefined) ? parts : []
  }
  const numberColumns = Array.from({ length: width }, (_, column) => column).filter((column) => {
    const filled = rows.map(({ cells }) => cells[column] ?? '').filter((cell) => cell !== '')
    return filled.filter((cell) => numbersOf(cell).length > 0).length > filled.length / 10
  })
  return {
    header: hasHeader ? all[0]?.cells : undefined,
    numberColumns,
    numbers: rows.flatMap(({ cells, line }) =>
      numberColumns.flatMap((column) =>
        numbersOf(cells[column] ?? '').map((number) => ({ number, line })),
      ),
    ),
  }
}
