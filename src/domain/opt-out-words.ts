/** Whether what a person says asks not to be called again. */

export interface OptOutWords {
  /** Found anywhere in what a person said. */
  readonly phrases: readonly string[]
  /** Only as all of an answer, such as a text message. */
  readonly wholeAnswers: readonly string[]
}

export interface OptOutReading {
  readonly reading: 'stop' | 'unclear' | 'none'
  /** The part of the text that was found. */
  readonly words?: string | undefined
}

export type ReadOptOut = (text: string) => OptOutReading

export function createOptOutReader({ phrases, wholeAnswers }: OptOutWords): ReadOptOut {
  const wanted = phrases.map(toWords)
  const whole = new Set(wholeAnswers.map(toWords))
  return (text) => {
    const words = toWords(text)
    const found = wanted.find((phrase) => words.includes(phrase))
    if (found !== undefined) return { reading: 'stop', words: found.trim() }
    return whole.has(words) ? { reading: 'stop', words: text.trim() } : { reading: 'none' }
  }
}

/** In lower case, without accents, each word between spaces; an apostrophe is part of its word. */
function toWords(text: string): string {
  const plain = text.normalize('NFKD').replaceAll(/[\p{M}'’`]/gu, '')
  return ` ${plain
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `
}
