/** Reads `config/opt-out-signals.yaml`: keys, tools of a voice agent and fields of an analysis that are an opt-out without words. */
import { z } from 'zod'
import { DataFileError, describeProblem } from '../../errors.js'
import { listDocumentProblems } from './document-problems.js'
import { readYamlFile } from './yaml-file.js'

export interface OptOutSignals {
  /** Telephone keys. */
  readonly keys: ReadonlySet<string>
  /** Names of tools and of fields, as {@link toSignalName} writes them. */
  readonly tools: ReadonlySet<string>
  readonly fields: ReadonlySet<string>
  /** Values of such a field that mean yes and no. Any other text is a note about the call. */
  readonly yes: ReadonlySet<string>
  readonly no: ReadonlySet<string>
}

const word = z.string('must be text').min(1, 'must not be empty')
const names = z
  .array(word, 'must be a list of words')
  .transform((list) => new Set(list.map(toSignalName)))

const fileSchema = z.strictObject({
  keys: z
    .array(z.string('must be a key in quotes').regex(/^[\d*#]$/, 'must be one key: 0 to 9, * or #'))
    .transform((list): ReadonlySet<string> => new Set(list)),
  tools: names,
  fields: names,
  yes: names,
  no: names,
})

/** Letters and digits only, in lower case: `do_not_call`, `doNotCall` and `Do not call` are one name. */
export function toSignalName(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '')
}

/** Throws a {@link DataFileError} that names every mistake. */
export function readOptOutSignals(path: string): OptOutSignals {
  const document = readYamlFile(path)
  const parsed = fileSchema.safeParse(document)
  if (parsed.success) return parsed.data
  const problems = listDocumentProblems(parsed.error, document).map(describeProblem)
  throw new DataFileError(path, problems.join('; '))
}
