/** Which command a command line names, before any command is loaded. */

/** The first word that is neither an option of the program nor the value of one. */
export function namedCommand(words: readonly string[]): string | undefined {
  const [first, ...rest] = words
  if (first === '--config') return namedCommand(rest.slice(1))
  if (first?.startsWith('--config=')) return namedCommand(rest)
  return first?.startsWith('-') ? undefined : first
}
