/** Decides whether a person's words ask not to be called again (ADR 0169). */

/** The readings, strongest first: the order in which they win when they match the same words. */
export const wordReadings = ['stop', 'unclear', 'none'] as const
type WordReading = (typeof wordReadings)[number]

export interface LanguagePhrases extends Readonly<Record<WordReading, readonly string[]>> {
  /** Named patterns, which other patterns refer to as `<name>`. */
  readonly words: Readonly<Record<string, string>>
}

export interface OptOutPhrases {
  /** Words that are ignored. */
  readonly ignoredWords: readonly string[]
  /** An opt-out only if nothing else was said. */
  readonly wholeAnswers: readonly string[]
  readonly languages: readonly LanguagePhrases[]
}

export interface ReadWords {
  readonly reading: WordReading
  /** The part of the text that was found. */
  readonly words?: string
}

/** Reads everything that one speaker said in a call, with the utterances joined by blanks. */
export type OptOutReader = (text: string) => ReadWords

/** Throws an `Error` for a pattern that cannot be read. */
export function createOptOutReader(phrases: OptOutPhrases): OptOutReader {
  const symbols = new Map<string, number>()
  const patterns = new Patterns(symbols)
  for (const language of phrases.languages) patterns.addLanguage(language)
  const ignored = new Patterns(symbols)
  for (const words of phrases.ignoredWords) ignored.add(words, 'none')
  const whole = new Patterns(symbols)
  for (const answer of phrases.wholeAnswers) whole.add(answer, 'stop')
  return (text) => {
    const words = dropIgnored(readWords(text, symbols), ignored)
    const textOf = (from: number, to: number) => text.slice(words.starts[from], words.ends[to - 1])
    const count = words.symbols.length
    if (whole.match(words.symbols, 0)?.end === count) {
      return { reading: 'stop', words: textOf(0, count) }
    }
    let unclear: string | undefined
    for (let at = 0; at < count; ) {
      const found = patterns.match(words.symbols, at)
      if (found?.reading === 'stop') return { reading: 'stop', words: textOf(at, found.end) }
      if (found?.reading === 'unclear') unclear ??= textOf(at, found.end)
      at = found?.end ?? at + 1
    }
    return unclear === undefined ? { reading: 'none' } : { reading: 'unclear', words: unclear }
  }
}

/** The words of a text: a symbol for each, and its position. */
interface Words {
  readonly symbols: number[]
  readonly starts: number[]
  readonly ends: number[]
}

/** Symbols of words that no pattern contains. */
const otherWord = 0
const anyName = 1
const anyNumber = 2
const formWords: Readonly<Record<string, number>> = { '<Name>': anyName, '<number>': anyNumber }

/** Removes repetitions, which people and speech recognizers produce. */
function readWords(text: string, known: ReadonlyMap<string, number>): Words {
  const words: Words = { symbols: [], starts: [], ends: [] }
  let last = otherWord
  visitWords(text, (start, end) => {
    const symbol = toSymbol(text, start, end, known)
    if (symbol === last && symbol > anyNumber) return
    last = symbol
    words.symbols.push(symbol)
    words.starts.push(start)
    words.ends.push(end)
  })
  return words
}

function toSymbol(
  text: string,
  start: number,
  end: number,
  known: ReadonlyMap<string, number>,
): number {
  const word = simplify(text.slice(start, end))
  const symbol = known.get(word)
  if (symbol !== undefined) {
    return (text[end] === ',' ? known.get(`${word},`) : undefined) ?? symbol
  }
  if (/\d/.test(text[start] ?? '')) return anyNumber
  return isName(text, start) ? anyName : otherWord
}

/** A capital letter that does not begin a sentence, followed by a small one. */
function isName(text: string, start: number): boolean {
  if (text[start - 1] !== ' ' || !/\p{Lu}/u.test(text[start] ?? '')) return false
  return /^[\p{Ll},] \p{Lu}\p{Ll}/u.test(text.slice(start - 2, start + 2))
}

const marks = /[\p{M}'’‘`´ʼ]/gu
const plainWord = /^[a-z]+$/

/** Converts to lower case and removes accents and apostrophes. */
function simplify(written: string): string {
  if (plainWord.test(written)) return written
  return written.normalize('NFKD').replaceAll(marks, '').toLowerCase()
}

const plainEnd = 128
const wordCharacter = /[\p{L}\p{N}\p{M}'’‘`´ʼ]/u
const isPlainWordCharacter = Array.from({ length: plainEnd }, (_, code) =>
  wordCharacter.test(String.fromCharCode(code)),
)
const isPlainLetter = Array.from({ length: plainEnd }, (_, code) =>
  /[a-z]/i.test(String.fromCharCode(code)),
)
/** In French, the part before an apostrophe is a separate word. */
const elision = /^(?:[cdjlmnst]|qu)['’‘`´ʼ](?=\p{L})/iu
const maxElisionLength = 4
function visitWords(text: string, visit: (start: number, end: number) => void): void {
  let start = -1
  for (let at = 0; at <= text.length; at += 1) {
    if (at < text.length && isWordCharacter(text, at)) {
      if (start === -1) start = at
    } else if (start !== -1) {
      const split = findElisionEnd(text, start, at)
      if (split > start) visit(start, split)
      visit(split, at)
      start = -1
    }
  }
}

function findElisionEnd(text: string, start: number, end: number): number {
  const second = text.charCodeAt(start + 1)
  const third = text.charCodeAt(start + 2)
  // Nearly all words end here.
  if (isPlainLetter[second] && isPlainLetter[third]) return start
  const [elided = ''] =
    elision.exec(text.slice(start, Math.min(end, start + maxElisionLength))) ?? []
  return start + elided.length
}

function isWordCharacter(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code < plainEnd) return isPlainWordCharacter[code] === true
  // Either half of a pair belongs to a word if the whole does.
  const isSecondHalf = code >= 0xdc00 && code <= 0xdfff
  return wordCharacter.test(String.fromCodePoint(text.codePointAt(at - Number(isSecondHalf)) ?? 0))
}

function dropIgnored(words: Words, ignored: Patterns): Words {
  const kept: Words = { symbols: [], starts: [], ends: [] }
  for (let at = 0; at < words.symbols.length; ) {
    const found = ignored.match(words.symbols, at)
    const symbol = words.symbols[at] ?? otherWord
    if (!found && (symbol <= anyNumber || kept.symbols.at(-1) !== symbol)) {
      kept.symbols.push(symbol)
      kept.starts.push(words.starts[at] ?? 0)
      kept.ends.push(words.ends[at] ?? 0)
    }
    at = found?.end ?? at + 1
  }
  return kept
}

const maxRepeats = 4
/** Unusual texts need many states. At this number all states are discarded. */
const maxSteps = 5_000
const patternParts = /\[|\]|\(|\)|\||<[\w-]+>\*?|~\d|[^\s[\]()|<>~]+/g

type Row = readonly Part[]
/** One of several rows. */
type Choice = readonly Row[]
type Part =
  | { readonly symbol: number }
  /** Up to so many words of any kind. */
  | { readonly maxGap: number }
  | { readonly choice: Choice; readonly maxTimes: number; readonly isOptional: boolean }

interface State {
  /** By the symbol of the next word. */
  readonly next: Map<number, number[]>
  /** Reached without a word. */
  readonly free: number[]
  /** Reached by any word. */
  readonly any: number[]
  /** Rows that begin here and are not in the other fields yet, each with the state after it. */
  readonly unread: { readonly row: Row; readonly to: number }[]
  reading?: WordReading
}

interface Step {
  /** The states that a match may be in. */
  readonly states: readonly number[]
  readonly reading: WordReading | undefined
  readonly next: Map<number, Step>
}

/**
 * All patterns as one automaton (`config/opt-out-phrases.yaml` explains them). A text takes time in proportion to its
 * length, whatever is in it. States are made when a text needs them, since all of them would be a million.
 */
class Patterns {
  /** Of the words of all patterns. */
  readonly #symbols: Map<string, number>
  readonly #states: State[] = []
  readonly #start = this.#addState()
  readonly #steps = new Map<string, Step>()
  #first: Step | undefined

  constructor(symbols: Map<string, number>) {
    this.#symbols = symbols
  }

  addLanguage(language: LanguagePhrases): void {
    const named = new Map<string, Choice>()
    for (const [name, pattern] of Object.entries(language.words)) {
      named.set(name, this.#parse(pattern, named))
    }
    for (const reading of wordReadings) {
      for (const pattern of language[reading]) this.add(pattern, reading, named)
    }
  }

  add(pattern: string, reading: WordReading, named: ReadonlyMap<string, Choice> = new Map()): void {
    const to = this.#addState()
    this.#at(to).reading = reading
    for (const row of this.#parse(pattern, named)) this.#at(this.#start).unread.push({ row, to })
  }

  #parse(pattern: string, named: ReadonlyMap<string, Choice>): Choice {
    const parts = pattern.match(patternParts) ?? []
    const choice = this.#parseChoice(parts, named)
    if (parts.length === 0) return choice
    throw new Error(`pattern '${pattern}': '${parts[0]}' has no beginning`)
  }

  #parseChoice(parts: string[], named: ReadonlyMap<string, Choice>): Choice {
    const rows: Part[][] = [[]]
    for (let part = parts[0]; part !== undefined && !/^[\])]$/.test(part); part = parts[0]) {
      parts.shift()
      if (part === '|') rows.push([])
      else rows.at(-1)?.push(...this.#parsePart(part, parts, named))
    }
    return rows
  }

  #parsePart(part: string, parts: string[], named: ReadonlyMap<string, Choice>): Row {
    if (part === '(' || part === '[') {
      const choice = this.#parseChoice(parts, named)
      if (parts.shift() !== (part === '(' ? ')' : ']')) throw new Error(`'${part}' has no end`)
      return [{ choice, maxTimes: 1, isOptional: part === '[' }]
    }
    if (part.startsWith('~')) return [{ maxGap: Number(part.slice(1)) }]
    const symbol = formWords[part]
    if (symbol !== undefined) return [{ symbol }]
    if (!part.startsWith('<')) return this.#parseWords(part)
    const name = part.replaceAll(/[<>*]/g, '')
    const choice = named.get(name)
    if (!choice) throw new Error(`<${name}> is not the name of words that come before it`)
    const isOptional = part.endsWith('*')
    return [{ choice, maxTimes: isOptional ? maxRepeats : 1, isOptional }]
  }

  #parseWords(written: string): Row {
    const comma = written.endsWith(',') ? ',' : ''
    const row: Part[] = []
    visitWords(written, (start, end) => {
      const word = simplify(written.slice(start, end)) + comma
      const symbol = this.#symbols.get(word) ?? this.#symbols.size + anyNumber + 1
      this.#symbols.set(word, symbol)
      row.push({ symbol })
    })
    return row
  }

  /** The longest match that begins there. */
  match(
    words: readonly number[],
    start: number,
  ): { readonly end: number; readonly reading: WordReading } | undefined {
    this.#first ??= this.#toStep([this.#start])
    let step = this.#first
    let found: { end: number; reading: WordReading } | undefined
    for (let at = start; at < words.length; at += 1) {
      step = this.#follow(step, words[at] ?? otherWord)
      if (step.states.length === 0) break
      if (step.reading !== undefined) found = { end: at + 1, reading: step.reading }
    }
    return found
  }

  #follow(step: Step, symbol: number): Step {
    const known = step.next.get(symbol)
    if (known) return known
    const reached = step.states.flatMap((index) => {
      const state = this.#at(index)
      return [...(state.next.get(symbol) ?? []), ...state.any]
    })
    const next = this.#toStep(reached)
    step.next.set(symbol, next)
    return next
  }

  #toStep(from: readonly number[]): Step {
    const reached = new Set(from)
    for (const index of reached) {
      for (const free of this.#read(index).free) reached.add(free)
    }
    const states = [...reached].sort((a, b) => a - b)
    const key = states.join()
    const known = this.#steps.get(key)
    if (known) return known
    if (this.#steps.size >= maxSteps) {
      this.#steps.clear()
      this.#first = undefined
    }
    const readings = new Set(states.map((index) => this.#at(index).reading))
    const reading = wordReadings.find((one) => readings.has(one))
    const step = { states, reading, next: new Map<number, Step>() }
    this.#steps.set(key, step)
    return step
  }

  #read(index: number): State {
    const state = this.#at(index)
    for (let unread = state.unread.pop(); unread; unread = state.unread.pop()) {
      const [part, ...rest] = unread.row
      if (part) this.#addPart(state, part, this.#stateBefore(rest, unread.to))
      else state.free.push(unread.to)
    }
    return state
  }

  #addPart(state: State, part: Part, to: number): void {
    if ('symbol' in part) {
      const reached = state.next.get(part.symbol)
      if (reached) reached.push(to)
      else state.next.set(part.symbol, [to])
    } else if ('maxGap' in part) {
      const { maxGap } = part
      state.free.push(to)
      state.any.push(maxGap > 1 ? this.#stateBefore([{ maxGap: maxGap - 1 }], to) : to)
    } else {
      if (part.isOptional) state.free.push(to)
      const maxTimes = part.maxTimes - 1
      const end = maxTimes > 0 ? this.#stateBefore([{ ...part, maxTimes }], to) : to
      for (const row of part.choice) state.unread.push({ row, to: end })
    }
  }

  #stateBefore(row: Row, to: number): number {
    if (row.length === 0) return to
    const before = this.#addState()
    this.#at(before).unread.push({ row, to })
    return before
  }

  #addState(): number {
    return this.#states.push({ next: new Map(), free: [], any: [], unread: [] }) - 1
  }

  #at(index: number): State {
    const state = this.#states[index]
    if (!state) throw new Error(`there is no state ${index}`)
    return state
  }
}
