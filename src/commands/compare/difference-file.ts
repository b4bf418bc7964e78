/** Writes every difference of a comparison as CSV (RFC 4180) that only its owner can read. */
import { closeSync, openSync, writeFileSync } from 'node:fs'
import type { QuestionName } from '../../domain/compliance.js'
import { formatCsvCell } from '../../runtime/csv-cell.js'
import { CommandFailure } from '../command.js'
import type { ComparedNumber } from './compared-numbers.js'
import { visible } from './comparison-report.js'

interface DifferenceRow extends ComparedNumber {
  readonly name: QuestionName
  readonly field: string
  readonly theirs: string | undefined
  readonly ours: string | undefined
  readonly facts: string
}

export interface DifferenceFile {
  add(line: DifferenceRow): void
  close(): void
}

const header = 'number,postal,project,campaign,question,field,provider,here,facts\r\n'
/** Limits the text of a provider, which may be of any length. */
const maxCellLength = 1_000

/**
 * Throws a {@link CommandFailure} if the file exists or cannot be created, and when a line cannot be
 * written.
 */
export function openDifferenceFile(path: string): DifferenceFile {
  const file = openNew(path)
  const write = (text: string) => writeText(file, path, text)
  write(header)
  return {
    add({ number, postalCode, projectId, campaignId, name, field, theirs, ours, facts }) {
      const cells = [number, postalCode, projectId, campaignId, name, field, theirs, ours, facts]
      const texts = cells.map((cell) => formatCsvCell(visible(cell ?? '', maxCellLength)))
      write(`${texts.join(',')}\r\n`)
    },
    close: () => closeSync(file),
  }
}

function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const reason = code === 'EEXIST' ? 'already exists; name a new file' : message
    throw new CommandFailure(`--out '${path}': ${reason}`, 2)
  }
}

function writeText(file: number, path: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (cause) {
    const { message } = cause as NodeJS.ErrnoException
    throw new CommandFailure(`--out '${path}': cannot be written: ${message}`)
  }
}
