/** The setting that an unknown one probably misspells, for its error message. */

const maxEdits = 2

/**
 * The known name closest to `name` regardless of case, if it is at most two edits away (a letter added,
 * removed or changed). `undefined` if there is none, if two are equally close, or if so few letters match
 * that it would be a guess.
 */
export function suggestName(name: string, known: Iterable<string>): string | undefined {
  let closest: string | undefined
  let fewestEdits = Math.min(maxEdits, name.length - 2) + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > maxEdits) continue
    const edits = countEdits(name.toLowerCase(), candidate.toLowerCase())
    if (edits < fewestEdits) {
      closest = candidate
      fewestEdits = edits
    } else if (edits === fewestEdits) closest = undefined
  }
  return closest
}

/** The Levenshtein distance, row by row. */
function countEdits(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [row, letter] of [...a].entries()) {
    const current = [row + 1]
    for (const [column, other] of [...b].entries()) {
      const replaced = (above[column] ?? 0) + (letter === other ? 0 : 1)
      const added = (current[column] ?? 0) + 1
      const removed = (above[column + 1] ?? 0) + 1
      current.push(Math.min(replaced, added, removed))
    }
    above = current
  }
  return above.at(-1) ?? 0
}
