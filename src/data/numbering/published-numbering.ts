/**
 * The prepared numbering files that several servers share. A published version is kept in the subfolder `versions`,
 * and the file in use is a copy of the one in force.
 */
import { readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Country } from '../../domain/place.js'
import type { Instant } from '../../domain/time/clock.js'
import { copyIntoPlace, ensureFolder } from '../../runtime/folders.js'
import { type FileKind, readCheckedHeader } from '../files/checked-file.js'
import type { LocalFile } from '../number-list/exchange/obtain-list.js'
import { ocnFileKind, resolveOcnFilePath } from './line-class.js'
import type { NumberingVersion } from './numbering-files.js'
import { getTableFileKind, type NumberingTableName, resolveTablePath } from './numbering-table.js'

interface PublishedFile {
  readonly kind: FileKind
  /** Countries whose numbers it describes. */
  readonly blocks: readonly Country[]
  /** The field of its header with the count of entries. */
  readonly entries: string
  readonly resolve: (folder: string) => string
}

const describeTable = (
  name: NumberingTableName,
  country: Country,
  entries: string,
): PublishedFile => ({
  kind: getTableFileKind(name),
  blocks: [country],
  entries,
  resolve: (folder) => resolveTablePath(folder, name),
})

/** By the names under which they are published. */
const published = {
  'numbering-us': describeTable('US', 'US', 'prefixes'),
  'numbering-ca': describeTable('CA', 'CA', 'prefixes'),
  'blocks-us': describeTable('blocks', 'US', 'blocks'),
  ocn: {
    kind: ocnFileKind,
    blocks: ['US', 'CA'],
    entries: 'companies',
    resolve: resolveOcnFilePath,
  },
} as const satisfies Readonly<Record<string, PublishedFile>>

export type NumberingFileName = keyof typeof published

export const isNumberingFileName = (name: string): name is NumberingFileName =>
  Object.hasOwn(published, name)

/** The key and the value of a version in force. */
export function describeNumberingInForce(
  folder: string,
  name: NumberingFileName,
  version: Pick<NumberingVersion, 'sha256' | 'whenMissing'>,
): readonly [path: string, NumberingVersion] {
  const { blocks, resolve } = published[name]
  const { sha256, whenMissing } = version
  return [resolve(folder), { sha256, whenMissing, blocks }]
}

export interface NumberingFileOptions {
  readonly folder: string
  readonly name: NumberingFileName
  readonly version: string
  /** How many versions are kept beside the one in use. */
  readonly keepVersions: number
}

export function locateNumberingFile(options: NumberingFileOptions): LocalFile {
  const { folder, name } = options
  const inUse = published[name].resolve(folder)
  const kept = resolveKeptPath(options)
  const use = async () => {
    await copyIntoPlace(kept, inUse)
    await pruneVersions(options)
  }
  return { inUse, kept, use, findSameContent: () => [] }
}

export interface KeptNumberingFile {
  /** Of the kept copy. */
  readonly path: string
  /** SHA-256 in hex. */
  readonly sha256: string
  readonly entries: number
  readonly asOf: Instant
}

/** Keeps the file in use, which has just been imported, as a version. */
export async function keepImportedFile(options: NumberingFileOptions): Promise<KeptNumberingFile> {
  const { kind, entries, resolve } = published[options.name]
  const path = resolveKeptPath(options)
  ensureFolder(dirname(path))
  await copyIntoPlace(resolve(options.folder), path)
  await pruneVersions(options)
  const { header, digest: sha256 } = readCheckedHeader(path, kind)
  const { mtimeMs } = await stat(path)
  const asOf = Number(header.asOf ?? header.importedAt ?? Math.floor(mtimeMs))
  return { path, sha256, entries: Number(header[entries]), asOf }
}

function resolveKeptPath({ folder, name, version }: NumberingFileOptions): string {
  return join(folder, 'versions', `${name}.${version}.cg`)
}

/** The copy of the one in use, one that is not in force yet, and those before. */
async function pruneVersions(options: NumberingFileOptions): Promise<void> {
  const folder = dirname(resolveKeptPath(options))
  const files = (await readdir(folder)).filter((file) => file.startsWith(`${options.name}.`))
  const ages = await Promise.all(
    files.map(async (file) => {
      const path = join(folder, file)
      return { path, modifiedAt: (await stat(path)).mtimeMs }
    }),
  )
  ages.sort((one, other) => other.modifiedAt - one.modifiedAt)
  for (const { path } of ages.slice(options.keepVersions + 2)) await rm(path, { force: true })
}
