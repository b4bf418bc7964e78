/** Reads `config/call-outcomes.yaml`: the meaning of each platform's words for the end of a call. */
import { z } from 'zod'
import { type OutcomeTable, outcomeClasses } from '../../domain/call-outcome.js'
import { DataFileError, describeProblem } from '../../errors.js'
import { listDocumentProblems } from './document-problems.js'
import { readYamlFile } from './yaml-file.js'

/** Each is named for the platform and its field. */
const outcomeTableNames = [
  'retell.disconnection_reason',
  'retell.call_status',
  'vapi.endedReason',
  'vapi.status',
  'livekit.sip.callStatus',
  'livekit.disconnectReason',
  'twilio.CallStatus',
  'twilio.AnsweredBy',
  'telnyx.hangup_cause',
  'telnyx.machine_detection',
  'elevenlabs.call_result',
  'elevenlabs.status',
  'elevenlabs.failure_reason',
  'bland.answered_by',
  'bland.queue_status',
  'bland.call_ended_by',
] as const
export type OutcomeTableName = (typeof outcomeTableNames)[number]
export type CallOutcomes = Readonly<Record<OutcomeTableName, OutcomeTable>>

const words = z.array(z.string('must be text'), 'must be a list of words')
const outcomeClass = z.enum(outcomeClasses)
const tableSchema = z.strictObject({
  source: z.string('must be text').min(1, 'must not be empty'),
  exact: z.partialRecord(outcomeClass, words),
  prefix: z.partialRecord(outcomeClass, words).default({}),
})
const fileSchema = z.record(z.enum(outcomeTableNames), tableSchema)

/** Throws a {@link DataFileError} that names every mistake, including a word with two meanings. */
export function readCallOutcomes(path: string): CallOutcomes {
  const document = readYamlFile(path)
  const parsed = fileSchema.safeParse(document)
  if (!parsed.success) {
    const problems = listDocumentProblems(parsed.error, document).map(describeProblem)
    throw new DataFileError(path, problems.join('; '))
  }
  const tables = Object.entries(parsed.data).map(([name, { exact, prefix }]) => {
    const require = (list: ReturnType<typeof listWords>) => requireOneMeaning(path, name, list)
    const table: OutcomeTable = {
      exact: new Map(require(listWords(exact))),
      prefixes: require(listWords(prefix)),
    }
    return [name, table] as const
  })
  return Object.fromEntries(tables) as CallOutcomes
}

type WordLists = z.infer<typeof tableSchema>['prefix']

function listWords(lists: WordLists) {
  return outcomeClasses.flatMap((name) =>
    (lists[name] ?? []).map((word): readonly [string, typeof name] => [word, name]),
  )
}

function requireOneMeaning(path: string, table: string, list: ReturnType<typeof listWords>) {
  const seen = new Set<string>()
  for (const [word] of list) {
    if (seen.has(word)) throw new DataFileError(path, `${table}: '${word}' is listed twice`)
    seen.add(word)
  }
  return list
}
