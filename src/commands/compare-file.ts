/** Every difference of a comparison as CSV (RFC 4180), readable by its owner alone. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { csvCell } from '../data/feeds/reject-file.js'
import type { QuestionName } from '../domain/compliance.js'
import { plainText } from '../sources/remote/odd-replies.js'
import { CommandFailure } from './command.js'
import type { AskedNumber } from './compare-numbers.js'

export interface DifferenceLine extends AskedNumber {
  readonly name: QuestionName
  readonly field: string
  readonly theirs: string | undefined
  readonly ours: string | undefined
  readonly facts: string
}

export interface DifferenceFile {
  add(line: DifferenceLine): void
  close(): void
}

const header = 'number,postal,project,campaign,question,field,provider,here,facts\r\n'
/** A provider's text is not trusted to be short. */
const longestCell = 1_000

/** Throws a {@link CommandFailure} where a file of that name is, or none can be made. */
export function openDifferenceFile(path: string): DifferenceFile {
  const file = openNew(path)
  writeSync(file, header)
  return {
    add({ number, postalCode, projectId, campaignId, name, field, theirs, ours, facts }) {
      const cells = [number, postalCode, projectId, campaignId, name, field, theirs, ours, facts]
      const texts = cells.map((cell) => csvCell(plainText(cell ?? '', longestCell)))
      writeSync(file, `${texts.join(',')}\r\n`)
    },
    close: () => closeSync(file),
  }
}

function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const reason = code === 'EEXIST' ? 'is there already; name a new file' : message
    throw new CommandFailure(`--out '${path}': ${reason}`, 2)
  }
}
