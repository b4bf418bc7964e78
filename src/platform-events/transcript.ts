/** Who said what in a transcript: a list of utterances with roles, or one text with or without labels. */
import type { Speaker, Utterance } from './call-event.js'
import { isObject, type JsonObject, listOf, textOf } from './fields.js'

const personRoles = /^(?:user|customer|human|callee|client|lead|prospect|patient)$/
const agentRoles = /^(?:agent|assistant|bot|ai|robot|model|agent-action|transfer[ _-]target)$/
/** Not spoken by anybody in the call. */
const silentRoles =
  /^(?:system|developer|tool|function|tool_calls?|tool_call_(?:invocation|results?)|node_transition|injected|dtmf)$/

/** Returns `undefined` for an entry that nobody spoke. */
function speakerOf(role: unknown): Speaker | undefined {
  const name = textOf(role)?.trim().toLowerCase() ?? ''
  if (personRoles.test(name)) return 'person'
  if (agentRoles.test(name)) return 'agent'
  return silentRoles.test(name) ? undefined : 'unknown'
}

export interface TranscriptFields {
  readonly role: string
  /** The first of these that has text; platforms that filter texts keep the original in another field. */
  readonly text: readonly string[]
}

export function readUtterances(list: unknown, fields: TranscriptFields): readonly Utterance[] {
  return listOf(list).flatMap((entry) => {
    if (!isObject(entry)) return []
    const speaker = speakerOf(entry[fields.role])
    const text = readText(entry, fields.text)
    return speaker === undefined || text === undefined ? [] : [{ speaker, text }]
  })
}

function readText(entry: JsonObject, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = entry[name]
    // Models take a list of parts in place of a text.
    const parts = listOf(value).flatMap((part) => (isObject(part) ? (textOf(part.text) ?? []) : []))
    const text = textOf(value) ?? textOf(parts.join(' '))
    if (text !== undefined) return text
  }
  return undefined
}

const labels =
  'user|customer|human|callee|client|lead|prospect|patient|agent|assistant|bot|ai|robot|transfer[ _-]target|agent-action'
const lineLabel = new RegExp(`^\\s*(${labels})\\s*:`, 'i')
const anyLabel = new RegExp(`(?:^|\\s)(?=(?:${labels})\\s*:\\s)`, 'gi')

/**
 * A line without a label belongs to the line before. Text without any label is of an unknown speaker. `isOneLine`: labels can
 * also be in the middle of a line.
 */
export function readLabeledText(value: unknown, isOneLine = false): readonly Utterance[] {
  const text = textOf(value) ?? ''
  const utterances: { speaker: Speaker; text: string }[] = []
  for (const line of (isOneLine ? text.replaceAll(anyLabel, '\n') : text).split(/[\r\n]+/)) {
    const label = lineLabel.exec(line)
    const said = line.slice(label?.[0].length ?? 0).trim()
    const last = utterances.at(-1)
    if (label) utterances.push({ speaker: speakerOf(label[1]) ?? 'unknown', text: said })
    else if (last && said !== '') last.text = `${last.text} ${said}`.trim()
    else if (said !== '') utterances.push({ speaker: 'unknown', text: said })
  }
  return utterances.filter((utterance) => utterance.text !== '')
}

/** The first that has an utterance. */
export function firstTranscript(
  ...transcripts: readonly (readonly Utterance[])[]
): readonly Utterance[] {
  return transcripts.find((utterances) => utterances.length > 0) ?? []
}
