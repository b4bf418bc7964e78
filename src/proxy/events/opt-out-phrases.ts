/** Finds the words of a person who does not want to be called again. */
import { readYamlFile } from '../../data/files/yaml-file.js'
import { DataFileError } from '../../errors.js'
import { isObject } from '../platforms/platform.js'

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

/** Throws a {@link DataFileError} for a file without phrases. */
export function readOptOutPhrases(path: string): readonly string[] {
  const content: unknown = readYamlFile(path)
  const phrases: unknown = isObject(content) ? content.phrases : undefined
  const isValid =
    Array.isArray(phrases) &&
    phrases.length > 0 &&
    phrases.every((phrase) => typeof phrase === 'string' && toWords(phrase).length > 2)
  if (isValid) return phrases
  throw new DataFileError(path, "'phrases' must be a list of at least one text with letters")
}

/** In lower case, without accents, each word between spaces; an apostrophe is part of its word. */
function toWords(text: string): string {
  const plain = text.normalize('NFKD').replaceAll(/[\p{M}'’`]/gu, '')
  return ` ${plain
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `
}
