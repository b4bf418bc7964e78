/** Finds data and secrets whose modes let other users read them. */
import { type Dirent, readdirSync, type Stats, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Settings } from '../config.js'

export interface ExposedFiles {
  /** The first file or folder others can read or write. */
  readonly path: string
  /** Its mode in octal, such as `0644`. */
  readonly mode: string
  /** How many there are, this one included. */
  readonly count: number
  /** The shell command that ends it. */
  readonly mend: string
}

/**
 * One item for the data folder, for each shared folder of lists and prefixes, and for each file of a
 * secret, where its mode or that of something in it lets others read or write.
 */
export function exposedFiles(settings: Settings): readonly ExposedFiles[] {
  const shared = [settings.lists.folder, settings.numbering.folder]
  return [
    ...[settings.dataDir, ...secretFiles(settings)].map((path) => exposedBelow(path, 'go')),
    // The group is how nodes of several users share a folder.
    ...shared.map((path) => (path === undefined ? undefined : exposedBelow(path, 'o'))),
  ].filter((found) => found !== undefined)
}

/** Every setting that names a file with a secret in it, wherever it stands. */
function secretFiles(settings: object): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]: [string, unknown]) => {
    if (typeof value === 'string') {
      return /^(?:loginId|clientSecret|password|permitKey)File$/.test(name) ? [value] : []
    }
    return typeof value === 'object' && value !== null ? secretFiles(value) : []
  })
}

const readOrWrite = { go: 0o066, o: 0o006 } as const

function exposedBelow(root: string, whom: keyof typeof readOrWrite): ExposedFiles | undefined {
  const found = [resolve(root), ...pathsBelow(resolve(root))].flatMap((path) => {
    const mode = exposedMode(path, whom)
    return mode === undefined ? [] : [{ path, mode }]
  })
  const [first] = found
  if (!first) return undefined
  const quoted = `'${resolve(root).replaceAll("'", "'\\''")}'`
  return { ...first, count: found.length, mend: `chmod -R ${whom}= ${quoted}` }
}

/** Empty for a file, and for a folder that cannot be read. */
function pathsBelow(root: string): readonly string[] {
  try {
    const entries: Dirent[] = readdirSync(root, { recursive: true, withFileTypes: true })
    return entries.map(({ parentPath, name }) => join(parentPath, name))
  } catch {
    return []
  }
}

/** A group may be how we read what belongs to another user, such as a mounted secret. */
function exposedMode(path: string, whom: keyof typeof readOrWrite): string | undefined {
  const found = statOf(path)
  if (!found) return undefined
  const isOwn = found.uid === process.getuid?.()
  const bits = found.mode & readOrWrite[isOwn ? whom : 'o']
  return bits === 0 ? undefined : `0${(found.mode & 0o777).toString(8).padStart(3, '0')}`
}

/** What is gone or cannot be looked at is for whoever reads it to report. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}
