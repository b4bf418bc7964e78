/** Finds opt-outs without words: keys, tools that the agent called, and fields of an analysis. */
import { type OptOutSignals, toSignalName } from '../data/files/opt-out-signals.js'
import type { ExplicitOptOut } from './call-event.js'
import { firstText, isObject, type JsonObject, objectOf, parseJson, textOf } from './fields.js'

/** Accepts only a single key: a key within a longer entry has another meaning. */
export function findKeyOptOut(
  digits: unknown,
  { keys }: OptOutSignals,
): ExplicitOptOut | undefined {
  const text = textOf(digits)?.trim() ?? ''
  const key = text.length > 1 ? text.replace(/#$/, '') : text
  return keys.has(key) ? { by: 'key', said: `key ${key}` } : undefined
}

export interface ReadNotes {
  readonly optOut?: ExplicitOptOut | undefined
  /** Text about the call, which nobody said in it. */
  readonly notes: readonly string[]
}

export interface ToolCall {
  readonly name: unknown
  readonly args: unknown
}

/** Arguments of a tool in which the person's wish is described; others are texts of the agent, such as a text message to send. */
const describingNames =
  /^(?:said|words|quote|reason|notes?|comments?|summary|disposition|request|user_?(?:said|request|message))$/i

/** An opt-out tool needs no arguments. Those of other tools are read like the fields of an analysis. */
export function readToolCalls(calls: readonly ToolCall[], signals: OptOutSignals): ReadNotes {
  const readings = calls.map(({ name, args }): ReadNotes => {
    const fields = objectOf(args)
    if (signals.tools.has(toSignalName(textOf(name) ?? ''))) {
      const { said, words, quote, user_message: message, reason, notes } = fields
      return {
        optOut: { by: 'tool', said: firstText(said, words, quote, message, reason, notes) },
        notes: [],
      }
    }
    const described = Object.entries(fields).filter(([key]) => describingNames.test(key))
    const notes = described.flatMap(([, value]) => (typeof value === 'string' ? [value] : []))
    return { optOut: readAnalysis(fields, signals).optOut, notes }
  })
  return joinNotes(readings)
}

export function joinNotes(readings: readonly ReadNotes[]): ReadNotes {
  return {
    optOut: readings.find(({ optOut }) => optOut !== undefined)?.optOut,
    notes: readings.flatMap(({ notes }) => notes),
  }
}

/** Deeper fields are not read. */
const maxDepth = 8
/** Platforms put the value of a field in an object, with its name beside it or before it. */
const nameKeys = ['name', 'data_collection_id', 'dataCollectionId']
const valueKeys = ['value', 'result', 'answer']

/** Finds the fields that are an opt-out, and collects all texts. Also accepts JSON as text. */
export function readAnalysis(analysis: unknown, signals: OptOutSignals): ReadNotes {
  const { texts, fields } = collectLeaves(analysis)
  const optOut = fields
    .filter(({ name, text }) => isYes(name, text, signals))
    .map(({ name, text }) => ({ by: 'field' as const, said: `${name}: ${text}`.slice(0, 200) }))[0]
  return { optOut, notes: texts.filter((text) => !signals.no.has(toSignalName(text))) }
}

function isYes(name: string, text: string, { fields, yes }: OptOutSignals): boolean {
  // "Yes, asked to be removed" begins with the answer.
  const [answer = ''] = text.split(/[,.;:(]/)
  return fields.has(toSignalName(name)) && yes.has(toSignalName(answer))
}

interface Leaves {
  readonly texts: string[]
  readonly fields: { readonly name: string; readonly text: string }[]
}

function collectLeaves(
  value: unknown,
  leaves: Leaves = { texts: [], fields: [] },
  depth = 0,
): Leaves {
  if (depth > maxDepth) return leaves
  if (typeof value === 'string') {
    const parsed = /^\s*[[{]/.test(value) ? parseJson(value) : undefined
    if (parsed === undefined) leaves.texts.push(value)
    else collectLeaves(parsed, leaves, depth + 1)
  } else if (Array.isArray(value)) {
    for (const one of value) collectLeaves(one, leaves, depth + 1)
  } else if (isObject(value)) {
    const ownName = firstText(...nameKeys.map((key) => value[key]))
    if (ownName !== undefined) addField(leaves, ownName, value)
    for (const [name, member] of Object.entries(value)) {
      addField(leaves, name, member)
      collectLeaves(member, leaves, depth + 1)
    }
  }
  return leaves
}

function addField({ fields }: Leaves, name: string, member: unknown): void {
  const value = isObject(member) ? findValue(member) : member
  const text = typeof value === 'boolean' ? String(value) : textOf(value)
  if (text !== undefined) fields.push({ name, text })
}

function findValue(value: JsonObject): unknown {
  return valueKeys.map((key) => value[key]).find((one) => one !== undefined && one !== null)
}
