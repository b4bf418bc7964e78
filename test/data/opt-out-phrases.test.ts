/** What is read as a wish not to be called again, with the shipped phrases. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadOptOutReader } from '../../src/data/files/opt-out-phrases.js'
import { shortOrLong } from '../support/long.js'
import { useTempFolder } from './temp-folder.js'

const readWords = loadOptOutReader('config/opt-out-phrases.yaml')
const folder = useTempFolder()

interface Sentence {
  readonly language: string
  readonly expected: string
  /** As a recognizer gives them. */
  readonly utterances: readonly string[]
}

const [, ...lines] = readFileSync('test/data/opt-out-sentences.tsv', 'utf8').trim().split('\n')
const sentences = lines.map((line): Sentence => {
  const [language = '', expected = '', utterances = ''] = line.split('\t')
  return { language, expected, utterances: utterances.split(' | ') }
})

/** Readings that differ from what is expected. */
const findMistakes = (
  change: (text: string) => string = (text) => text,
  chosen: readonly Sentence[] = sentences,
) =>
  chosen.flatMap(({ expected, utterances }) => {
    const text = change(utterances.join(' '))
    const { reading } = readWords(text)
    const isWrong = expected === 'stop' ? reading !== 'stop' : reading === 'stop'
    return isWrong ? [`${reading} instead of ${expected}: ${text}`] : []
  })

describe('sentences', () => {
  test.each(['en', 'es', 'fr'])('in %s are many, and a fourth is no opt-out', (language) => {
    const all = sentences.filter((one) => one.language === language)
    expect(all.length).toBeGreaterThan(100)
    expect(all.filter(({ expected }) => expected !== 'stop').length * 4).toBeGreaterThan(all.length)
  })

  test('are read as they are meant', () => {
    expect(findMistakes()).toEqual([])
  })

  test('that should be read by a person are', () => {
    const unclear = sentences.filter(({ expected }) => expected === 'unclear')
    const readings = unclear.map(({ utterances }) => [utterances, readWords(utterances.join(' '))])
    expect(
      readings.filter(([, read]) => (read as { reading: string }).reading !== 'unclear'),
    ).toEqual([])
  })

  test.each<[string, (text: string) => string]>([
    ['small letters without punctuation', (text) => text.toLowerCase().replace(/[.,!?¿¡;:]/g, '')],
    ['capital letters', (text) => text.toUpperCase()],
    ['no accents', (text) => text.normalize('NFD').replace(/\p{M}/gu, '')],
    ['composed letters apart', (text) => text.normalize('NFD')],
    ['typographic apostrophes', (text) => text.replaceAll("'", '’')],
    ['noises', (text) => `Uh, ${text}`],
  ])('are found in %s', (_, change) => {
    expect(findMistakes(change)).toEqual([])
  })

  test('are found among others', () => {
    const longer = sentences.filter(({ utterances }) => utterances.join(' ').includes(' '))
    expect(findMistakes((text) => `Hello who is this. ${text} Goodbye now.`, longer)).toEqual([])
  })
})

describe('the whole of an answer', () => {
  test.each([
    ...[
      'stop',
      'STOP!',
      ' Stop. ',
      'quit',
      'end',
      'Revoke',
      'opt out',
      'opt-out',
      'cancel',
      'UNSUBSCRIBE',
    ],
    ...[
      'stopall',
      'STOP ALL',
      'remove',
      'do not call',
      'please stop calling me',
      "don't call",
      'stop stop',
    ],
    ...[
      'alto',
      'Parar',
      'No llame',
      'por favor no me llamen más',
      'quítenme de la lista',
      'BAJA',
      'Arrêt',
    ],
  ])('%j is an opt-out', (said) => {
    expect(readWords(said).reading).toBe('stop')
  })

  test.each([
    ...['stop by tomorrow', 'the end', 'who is this', '', '9', 'cancel my lunch', 'nonstop'],
    ...['quit smoking', 'alto ahí', 'arrêt de bus', '   ', '...', '🙂'],
  ])('%j is none', (said) => {
    expect(readWords(said).reading).not.toBe('stop')
  })
})

test.each([
  ['Well, I said: stop  calling, me!', 'stop  calling, me'],
  ["Écoutez, n'appelez plus ici", "n'appelez plus ici"],
  ['bueno pues NO ME LLAMES gracias', 'NO ME LLAMES'],
])('the words found in %j are %j', (text, words) => {
  expect(readWords(text)).toEqual({ reading: 'stop', words })
})

test('an opt-out is found wherever it is in a long call, and nothing else in it', () => {
  const talk = 'So what is the price of it then. I will think about it. '.repeat(2_000)
  expect(readWords(talk)).toEqual({ reading: 'none' })
  const found = { reading: 'stop', words: 'stop calling me' }
  for (const text of [
    `Stop calling me. ${talk}`,
    `${talk}stop calling me. ${talk}`,
    `${talk}stop calling me`,
  ])
    expect({ ...readWords(text), words: readWords(text).words?.toLowerCase() }).toEqual(found)
})

test('reading is total: whatever is said gives a reading whose words are in the text', () => {
  const words =
    "stop calling me don't you ever no quiero que me llamen ne m'appelez plus take off the list call my cell if I say"
  const word = fc.oneof(fc.constantFrom(...words.split(' ')), fc.string({ maxLength: 6 }))
  fc.assert(
    fc.property(fc.array(word, { maxLength: 60 }), (spoken) => {
      const text = spoken.join(' ')
      const { reading, words: found } = readWords(text)
      expect(found === undefined).toBe(reading === 'none')
      if (found !== undefined) expect(text).toContain(found)
    }),
    { numRuns: shortOrLong(500, 50_000) },
  )
})

describe('a file', () => {
  const load = (text: string) => loadOptOutReader(folder.write('phrases.yaml', text))

  test.each([
    ['languages: []', "'languages' must be a list of at least one language"],
    ['languages: [{ stop: [] }]', "'languages[0].stop' must be a list of at least one pattern"],
    ['languages: [{ stop: ["!"] }]', "'languages[0].stop' must be a list of texts with letters"],
    ['languages: [{ stop: ["<call> me"] }]', '<call> is not the name of words'],
    ['languages: [{ stop: ["(stop calling"] }]', "'(' has no end"],
    ['languages: [{ stop: ["stop) calling"] }]', "')' has no beginning"],
    ['{ languages: [{ stop: [stop] }], wholeAnswers: [1] }', "'wholeAnswers' must be a list"],
    ['{ languages: [{ stop: [stop], words: { a: [b] } }] }', "'languages[0].words' must be"],
  ])('%s is refused', (text, problem) => {
    expect(() => load(text)).toThrow(problem)
  })

  test('the longest pattern is used, and of equally long ones the stronger', () => {
    const read = load(
      'languages: [{ words: { v: call | ring up }, stop: [stop <v>, "halt ~2 <v>", go away], unclear: [stop <v> now, go away], none: ["stop <v> [now] it"] }]',
    )
    expect(read('stop call').reading).toBe('stop')
    expect(read('stop ring up now').reading).toBe('unclear')
    expect(read('stop call now it').reading).toBe('none')
    expect(read('halt a b call').reading).toBe('stop')
    expect(read('halt a b c call').reading).toBe('none')
    expect(read('go away').reading).toBe('stop')
  })
})
