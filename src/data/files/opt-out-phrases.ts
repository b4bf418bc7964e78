/** Finds the words of a person who does not want to be called again. */
import { DataFileError } from '../../errors.js'
import { readYamlFile } from './yaml-file.js'

export interface OptOutPhrases {
  /** Found anywhere in what a person said. */
  readonly phrases: readonly string[]
  /** Only as all of an answer, such as a text message. */
  readonly wholeAnswers: readonly string[]
}

/** Gives the first utterance with one of the phrases. */
export type FindOptOut = (utterances: readonly string[]) => string | undefined

export function createOptOutFinder(phrases: readonly string[]): FindOptOut {
  const wanted = phrases.map(toWords)
  return (utterances) =>
    utterances.find((utterance) => {
      const words = toWords(utterance)
      return wanted.some((phrase) => words.includes(phrase))
    })
}

/** Whether an answer is understood as an opt-out. */
export function createOptOutTest({
  phrases,
  wholeAnswers,
}: OptOutPhrases): (said: string) => boolean {
  const find = createOptOutFinder(phrases)
  const whole = new Set(wholeAnswers.map(toWords))
  return (said) => whole.has(toWords(said)) || find([said]) !== undefined
}

/** Throws a {@link DataFileError} for a file without phrases. */
export function readOptOutPhrases(path: string): OptOutPhrases {
  const content: unknown = readYamlFile(path)
  const { phrases, wholeAnswers = [] } =
    typeof content === 'object' && content !== null
      ? (content as Readonly<Record<string, unknown>>)
      : {}
  if (!isListOfWords(phrases) || phrases.length === 0) {
    throw new DataFileError(path, "'phrases' must be a list of at least one text with letters")
  }
  if (!isListOfWords(wholeAnswers)) {
    throw new DataFileError(path, "'wholeAnswers' must be a list of texts with letters")
  }
  return { phrases, wholeAnswers }
}

function isListOfWords(list: unknown): list is readonly string[] {
  return (
    Array.isArray(list) &&
    list.every((phrase) => typeof phrase === 'string' && toWords(phrase).length > 2)
  )
}

/** In lower case, without accents, each word between spaces; an apostrophe is part of its word. */
function toWords(text: string): string {
  const plain = text.normalize('NFKD').replaceAll(/[\p{M}'’`]/gu, '')
  return ` ${plain
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `
}
