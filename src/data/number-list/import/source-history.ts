/** The files that a list was built from. Bounded in length, but counts the rows of all of them. */
import { createHash } from 'node:crypto'
import type { ListSource } from '../format/number-list-format.js'

/** This many of the newest files are listed; all earlier ones share one entry. */
const maxNamedSources = 50

/**
 * Merges the sources of a list, `added` being the newest. The files of one archive become one entry.
 * The checksum of the entry for earlier files is the SHA-256 of their checksums, one per line.
 */
export function mergeSources(
  before: readonly ListSource[],
  added: readonly ListSource[],
): readonly ListSource[] {
  const all = [...groupByFile(before), ...groupByFile(added)]
  const named = all.slice(-maxNamedSources)
  const earlier = all.slice(0, all.length - named.length)
  return earlier.length === 0 ? named : [foldSources(earlier), ...named]
}

const foldedPattern = /^(\d+) earlier files$/

function foldSources(sources: readonly ListSource[]): ListSource {
  const files = sources.reduce(
    (sum, { file }) => sum + Number(foldedPattern.exec(file)?.[1] ?? 1),
    0,
  )
  const digests = sources.map(({ sha256 }) => `${sha256}\n`).join('')
  const sha256 = createHash('sha256').update(digests).digest('hex')
  return { file: `${files} earlier files`, sha256, rows: rowsOf(sources) }
}

function groupByFile(sources: readonly ListSource[]): ListSource[] {
  const groups = new Map<string, ListSource[]>()
  for (const source of sources) {
    const archive = source.file.split('/')[0] ?? ''
    const key = `${source.sha256} ${archive}`
    groups.set(key, [...(groups.get(key) ?? []), source])
  }
  return [...groups.values()].flatMap((parts) => {
    const [first] = parts
    if (!first || parts.length === 1) return parts
    const archive = first.file.split('/')[0] ?? first.file
    return [
      { file: `${archive} (${parts.length} files)`, sha256: first.sha256, rows: rowsOf(parts) },
    ]
  })
}

function rowsOf(sources: readonly ListSource[]): number {
  return sources.reduce((sum, { rows }) => sum + rows, 0)
}
