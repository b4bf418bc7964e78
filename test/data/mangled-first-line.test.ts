/**
 * A first line that holds a mangled number is never skipped as a header. Searched at random: set
 * CALLGATE_TEST_RUNS for a longer search.
 */
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BadLines } from '../../src/data/feeds/bad-lines.js'
import type { NumberSource } from '../../src/data/feeds/lists/number-lines.js'
import { readPlainNumbers } from '../../src/data/feeds/lists/plain-numbers.js'
import { readPortedNumbers } from '../../src/data/feeds/lists/ported-numbers.js'
import { readUsDncChanges } from '../../src/data/feeds/lists/us-dnc-changes.js'
import { shortOrLong } from '../support/long.js'

const stamp = '2026-11-18T00:00:00'

/** How each kind of file writes a number, and how often its reader takes one. */
const kinds = {
  plain: {
    line: (number: string) => number,
    read: async (source: NumberSource, badLines: BadLines) =>
      readPlainNumbers(source, () => undefined, badLines),
  },
  ported: {
    line: (number: string) => number,
    read: async (source: NumberSource, badLines: BadLines) =>
      readPortedNumbers(source, () => undefined, badLines),
  },
  changes: {
    line: (number: string) => `${number},${stamp},A`,
    read: async (source: NumberSource, badLines: BadLines) => {
      const wanted = { onRow: () => undefined, covers: () => true, maxInstant: Date.UTC(2027, 0) }
      return readUsDncChanges(source, wanted, badLines)
    },
  },
} as const

function sourceOf(bytes: Buffer | string): NumberSource {
  return { name: 'list.txt', path: '/x/list.txt', stream: Readable.from([Buffer.from(bytes)]) }
}

const digitsOf = (zero: number) => (text: string) =>
  text.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)))

/** The zeros of some scripts: Arabic, Persian, Devanagari, Bengali, Thai, full width, mathematical. */
const zeros = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10, 0x1d7ce]

const number = fc
  .tuple(fc.integer({ min: 200, max: 999 }), fc.integer({ min: 2_000_000, max: 9_999_999 }))
  .map((parts) => parts.join(''))
const letter = fc.constantFrom(...'OIlBSxZ"\'.-+(éñÿ\u00a0٠२', '\u200b', '＋')
/** Up to three of the ten digits are gone, so that at least seven are left. */
const mangle = fc.oneof(
  fc
    .array(fc.record({ at: fc.nat({ max: 10 }), letter, drops: fc.boolean() }), {
      minLength: 1,
      maxLength: 3,
    })
    .map((edits) => (text: string) => {
      const letters = [...text]
      for (const { at, letter: one, drops } of edits) letters.splice(at, drops ? 1 : 0, one)
      return letters.join('')
    }),
  fc.constantFrom(...zeros).map(digitsOf),
  letter.map((one) => (text: string) => `${one}${text}`),
)

describe.each(Object.entries(kinds))('a %s file', (_, { line, read }) => {
  it('whose first line is a mangled number is refused, or the number is taken', async () => {
    const numRuns = Number(process.env.CALLGATE_TEST_RUNS ?? shortOrLong(500, 3_000))
    const seed = Math.floor(Math.random() * 2 ** 31)
    const property = fc.asyncProperty(number, mangle, number, async (first, mangled, second) => {
      const text = `${line(mangled(first))}\n${line(second)}\n`
      const badLines = new BadLines(1)
      const { rows, header } = await read(sourceOf(text), badLines)
      expect(header, text).toBeUndefined()
      expect(rows + badLines.count, text).toBeGreaterThanOrEqual(2)
    })
    await fc.assert(property, { numRuns, seed })
    console.info(`mangled first lines: ${numRuns} runs, seed ${seed}`)
  })

  const mangled = ['O125550100', 'x2125550100', 'é2125550100', '"A2125550100"', '٢١٢٥٥٥٠١٠٠']
  it.each(mangled)('is refused with %s as its first line', async (text) => {
    const bad = read(sourceOf(`${line(text)}\n${line('2125550101')}\n`), new BadLines())
    await expect(bad).rejects.toThrow('a header must not contain more than 6 digits')
  })

  it('in UTF-16 is refused with digits of another script', async () => {
    const text = `\ufeff${line('٢١٢٥٥٥٠١٠٠')}\n`
    await expect(read(sourceOf(Buffer.from(text, 'utf16le')), new BadLines())).rejects.toThrow(
      /bad, 0 allowed/,
    )
  })

  it('may begin with a header, which is reported', async () => {
    const source = sourceOf(`Téléphone 1\n${line('2125550101')}\n`)
    const { rows, header } = await read(source, new BadLines())
    expect({ rows, header }).toEqual({
      rows: 1,
      header: { file: 'list.txt', line: 1, value: 'Téléphone 1' },
    })
  })
})

describe('full-width digits', () => {
  const wide = '２１２５５５０１００\n2125550101\n'
  const texts = [Buffer.from(wide), Buffer.from(`\ufeff${wide}`, 'utf16le')]

  it.each(texts)(
    'in the first line of a plain file are read as the digits that they are',
    async (bytes) => {
      const numbers: string[] = []
      const sink = (prefix: number, last: number) =>
        void numbers.push(`${prefix}${String(last).padStart(4, '0')}`)
      const { header } = await readPlainNumbers(sourceOf(bytes), sink, new BadLines())
      expect({ numbers, header }).toEqual({
        numbers: ['2125550100', '2125550101'],
        header: undefined,
      })
    },
  )

  it.each([kinds.ported, kinds.changes])(
    'are refused in the files of offices',
    async ({ line, read }) => {
      const text = `${line('２１２５５５０１００')}\n${line('2125550101')}\n`
      await expect(read(sourceOf(text), new BadLines())).rejects.toThrow(
        'a header must not contain',
      )
    },
  )
})
