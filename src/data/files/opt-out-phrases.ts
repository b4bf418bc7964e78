/** Reads the words of people who do not want to be called again. */
import {
  createOptOutReader,
  type LanguagePhrases,
  type OptOutPhrases,
  type OptOutReader,
  wordReadings,
} from '../../domain/consent/opt-out-words.js'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { parseYaml, readTextFile } from './yaml-file.js'

/** A server loads the same file at several places, and would spend a tenth of its start on it. */
const loaded = new Map<string, { readonly content: string; readonly reader: OptOutReader }>()

/** Throws a {@link DataFileError} for a file without patterns, or with one that cannot be read. */
export function loadOptOutReader(path: string): OptOutReader {
  const content = readTextFile(path)
  const known = loaded.get(path)
  if (known?.content === content) return known.reader
  const reader = parseOptOutReader(path, content)
  loaded.set(path, { content, reader })
  return reader
}

function parseOptOutReader(path: string, text: string): OptOutReader {
  const { ignoredWords = [], wholeAnswers = [], languages } = toFields(parseYaml(path, text))
  if (!Array.isArray(languages) || languages.length === 0) {
    throw new DataFileError(path, "'languages' must be a list of at least one language")
  }
  const phrases: OptOutPhrases = {
    ignoredWords: requireTexts(path, 'ignoredWords', ignoredWords),
    wholeAnswers: requireTexts(path, 'wholeAnswers', wholeAnswers),
    languages: languages.map((language, index) => readLanguage(path, index, language)),
  }
  try {
    return createOptOutReader(phrases)
  } catch (cause) {
    throw new DataFileError(path, getErrorMessage(cause), cause)
  }
}

function readLanguage(path: string, index: number, content: unknown): LanguagePhrases {
  const { words = {}, ...patterns } = toFields(content)
  const named = Object.entries(toFields(words))
  const at = `languages[${index}]`
  requireTexts(
    path,
    `${at}.words`,
    named.map(([, pattern]) => pattern),
  )
  const [stop, unclear, none] = wordReadings.map((reading) =>
    requireTexts(path, `${at}.${reading}`, patterns[reading] ?? []),
  )
  if (!stop?.length) {
    throw new DataFileError(path, `'${at}.stop' must be a list of at least one pattern`)
  }
  return {
    words: Object.fromEntries(named.map(([name, pattern]) => [name, String(pattern)])),
    ...{ stop, unclear: unclear ?? [], none: none ?? [] },
  }
}

const toFields = (content: unknown) =>
  (typeof content === 'object' && content !== null ? content : {}) as Readonly<
    Record<string, unknown>
  >

function requireTexts(path: string, name: string, list: unknown): readonly string[] {
  const isText = (text: unknown) => typeof text === 'string' && /[\p{L}\p{N}]/u.test(text)
  if (Array.isArray(list) && list.every(isText)) return list as readonly string[]
  throw new DataFileError(path, `'${name}' must be a list of texts with letters`)
}
