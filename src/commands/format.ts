/** Formats the numbers, counts and lines that commands print. */

/** `1,234`. */
export function formatNumber(value: number): string {
  return value.toLocaleString('en-US')
}

/** `1 row`, `1,234 rows`. */
export function formatCount(value: number, noun: string): string {
  return `${formatNumber(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** Joins the lines of a command's output. */
export function joinLines(parts: readonly string[]): string {
  return `${parts.join('\n')}\n`
}
