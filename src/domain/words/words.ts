/**
 * What callgate says about a call: a code with parameters. The words of the codes stand in this folder, a file for each rule, and are the
 * only sentences about it. Records have the codes alone, so words can be improved at any time. They are here and not beside the code of the
 * rules, since what renders a record, such as the verifier of evidence bundles, does not have that code.
 */
import { abandonmentWords } from './abandonment.js'
import { attemptWords } from './attempts.js'
import { callerIdWords } from './caller-id.js'
import { consentWords } from './consent.js'
import { gateWords } from './gate.js'
import { hoursWords } from './hours.js'
import { internalListWords } from './internal-list.js'
import { keyWords } from './keys.js'
import { listWords } from './lists.js'
import { numberWords } from './numbers.js'
import { reassignedWords } from './reassigned.js'
import { scrubWords } from './scrub.js'
import { sourceWords } from './sources.js'

const allWords = {
  ...numberWords,
  ...hoursWords,
  ...listWords,
  ...internalListWords,
  ...scrubWords,
  ...consentWords,
  ...reassignedWords,
  ...callerIdWords,
  ...attemptWords,
  ...abandonmentWords,
  ...keyWords,
  ...sourceWords,
  ...gateWords,
}
type AllWords = typeof allWords

export type SaidCode = keyof AllWords
export const saidCodes = Object.keys(allWords) as readonly SaidCode[]

interface Unparameterized {
  /** What somebody else said, verbatim: a provider, the database, an operator, the text that was sent. An erasure removes it. */
  readonly quote?: string | undefined
  /** Of several sources: the one that it is about. */
  readonly source?: string | undefined
}

/** A code, an id, a citation, a name from data, a day, an instant or a command, and never a sentence; a number; or several of them. */
type Param = string | number | readonly string[]

/** The names in a text such as `limited to {kinds}, not {kind}`. */
type NamesIn<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never

type ParamsOf<Words> = Words extends string
  ? { readonly [Name in NamesIn<Words>]: Param }
  : Words extends (params: infer Params) => string
    ? Params
    : never

/** A code that has no words does not compile. */
export type Said = {
  [Code in SaidCode]: Unparameterized &
    (AllWords[Code] extends `${string}{${string}` | ((params: never) => string)
      ? { readonly code: Code; readonly params: ParamsOf<AllWords[Code]> }
      : { readonly code: Code; readonly params?: undefined })
}[SaidCode]

/** As it is read from a record, which a newer version of callgate may have written. */
export interface RecordedSaid extends Unparameterized {
  readonly code: string
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

/** In words, without a capital letter or a full stop. A code without words, of a newer version, stands for itself. */
export function describeSaid(says: readonly RecordedSaid[]): string {
  return says.map(describeOne).join('; ')
}

function describeOne({ code, params = {}, quote, source }: RecordedSaid): string {
  const text = Object.hasOwn(allWords, code) ? render(code as SaidCode, params) : code
  return [source, text, quote].filter((part) => part !== undefined && part !== '').join(': ')
}

/** The code alone if its parameters are not those of this version, as in a record of another one. */
function render(code: SaidCode, params: Readonly<Record<string, unknown>>): string {
  const words: string | ((params: never) => unknown) = allWords[code]
  try {
    const text = typeof words === 'string' ? fillIn(words, params) : words(params as never)
    return typeof text === 'string' && !/\bundefined\b/.test(text) ? text : code
  } catch {
    return code
  }
}

function fillIn(words: string, params: Readonly<Record<string, unknown>>): string {
  return words.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    return Array.isArray(value) ? value.join(', ') : String(value)
  })
}
