/** How properties are tried: a fixed seed, so that a failure can be had again, and bounded runs. */
import fc from 'fast-check'
import { AppError } from '../../src/errors.js'

export const seed = 20_261_123

/** fast-check prints the seed and the path to the smallest counterexample of a failure. */
export function holds<Values>(property: fc.IProperty<Values>, numRuns = 500): void {
  fc.assert(property, { seed, numRuns })
}

export async function holdsInTime<Values>(
  property: fc.IAsyncProperty<Values>,
  numRuns = 200,
): Promise<void> {
  await fc.assert(property, { seed, numRuns })
}

/** The value, or that the request was refused; anything else that is thrown is a bug. */
export function readOrRefused<Value>(read: () => Value): Value | 'refused' {
  try {
    return read()
  } catch (error) {
    if (error instanceof AppError && error.kind === 'invalid-request') return 'refused'
    throw error
  }
}

/** Any text, half of it of characters that mean something to a parser. */
export const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc
    .array(fc.constantFrom(...'0123456789,|;"\'\\/-:+ .%&=?\r\n\t\0{}[]<>éZT'), { maxLength: 60 })
    .map((characters) => characters.join('')),
)

export const tenDigits = fc
  .array(fc.integer({ min: 0, max: 9 }), { minLength: 10, maxLength: 10 })
  .map((digits) => digits.join(''))

/** Days from 1900 to 2199, by calendar and independently of our own. */
export const anyDay = fc
  .integer({ min: -25_567, max: 84_005 })
  .map((days) => new Date(days * 86_400_000))

export const two = (value: number) => String(value).padStart(2, '0')
