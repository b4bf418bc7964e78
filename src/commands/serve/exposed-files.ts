/** Finds data and secrets whose file modes let other users read or write them. */
import { type Dirent, readdirSync, type Stats, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { listSecretFiles } from '../../config/secret-file.js'
import type { Settings } from '../../config/settings.js'
import type { HealthFinding } from '../doctor/finding.js'

/**
 * Returns one finding for the data folder, each shared folder of lists or prefixes, and each secret file,
 * if other users can read or write it or anything in it.
 */
export function findExposedFiles(settings: Settings): readonly HealthFinding[] {
  const shared = [settings.lists.folder, settings.numbering.folder]
  return [
    ...[settings.dataDir, ...listSecretFiles(settings).map(({ path }) => path)].map((path) =>
      findExposedBelow(path, 'go'),
    ),
    // Nodes that run as different users share a folder through its group.
    ...shared.map((path) => (path === undefined ? undefined : findExposedBelow(path, 'o'))),
  ].filter((found) => found !== undefined)
}

const readOrWrite = { go: 0o066, o: 0o006 } as const

function findExposedBelow(
  root: string,
  classes: keyof typeof readOrWrite,
): HealthFinding | undefined {
  const exposed = [resolve(root), ...listPathsBelow(resolve(root))].flatMap((path) => {
    const mode = findExposedMode(path, classes)
    return mode === undefined ? [] : [{ path, mode }]
  })
  const [first] = exposed
  if (!first) return undefined
  const quoted = `'${resolve(root).replaceAll("'", "'\\''")}'`
  const more = exposed.length > 1 ? ` and ${exposed.length - 1} more` : ''
  return {
    level: 'soon',
    subject: 'files',
    problem: `other users can read or write ${first.path} (mode ${first.mode})${more}`,
    fix: `chmod -R ${classes}= ${quoted}`,
  }
}

/** Empty for a file, and for a folder that cannot be read. */
function listPathsBelow(root: string): readonly string[] {
  try {
    const entries: Dirent[] = readdirSync(root, { recursive: true, withFileTypes: true })
    return entries.map(({ parentPath, name }) => join(parentPath, name))
  } catch {
    return []
  }
}

/** Group access is allowed to files of another user, since callgate may read them only through the group. */
function findExposedMode(path: string, classes: keyof typeof readOrWrite): string | undefined {
  const stats = findStats(path)
  if (!stats) return undefined
  const isOwn = stats.uid === process.getuid?.()
  const bits = stats.mode & readOrWrite[isOwn ? classes : 'o']
  return bits === 0 ? undefined : `0${(stats.mode & 0o777).toString(8).padStart(3, '0')}`
}

/** Missing or inaccessible files are reported by the code that reads them. */
function findStats(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}
