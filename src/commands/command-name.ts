/** Finds the command in a command line before any command module is loaded. */

/** The first word that is neither an option of the program nor the value of one, nor `help` before another. */
export function findCommandName(words: readonly string[]): string | undefined {
  const [first, ...rest] = words
  if (first === '--config' || first === '--person') return findCommandName(rest.slice(1))
  if (/^--(?:config=|person=|$)/.test(first ?? '') || first === 'help') return findCommandName(rest)
  return first?.startsWith('-') ? undefined : first
}
