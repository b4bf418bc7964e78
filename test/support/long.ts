/** `npm test -- --long`: searches and kills run in their long form. */
const isLong = process.env.TEST_LONG === '1'

/** How much of something that may be cut short: a count of cases, of kills, of days. */
export function shortOrLong(short: number, long: number): number {
  return isLong ? long : short
}
