/**
 * A company's kind of line, by its operating company number (OCN) or otherwise its name, and the
 * prepared file with the imported OCN table. If neither is known, the class is `unknown`, which is
 * treated as wireless wherever consent matters.
 */
import { join } from 'node:path'
import {
  isKnownLineClass,
  type KnownLineClass,
  type LineClass,
  type OriginalCarrier,
} from '../../domain/place.js'
import type { OcnReport } from '../feeds/numbering/ocn.js'
import { type FileKind, writeCheckedFile } from '../files/checked-file.js'
import { type PreparedFileReader, readPreparedFile } from '../files/prepared-files.js'

export type OcnClasses = ReadonlyMap<string, KnownLineClass>

const wirelessNamePattern =
  /\b(?:WIRELESS|CELLULAR|CELLCO|PCS|MOBILE|OMNIPOINT|POWERTEL|SPRINT SPECTRUM|NEXTEL|CRICKET|METROPCS|ALLTEL|MOBILITY)\b/i

/** Names of paging companies, which call themselves mobile. */
const pagingNamePattern = /\b(?:USA MOBILITY|SPOK|PAGING|ARCH WIRELESS|METROCALL)\b/i

/** The imported class of the OCN; otherwise wireless if the name says so, or `unknown`. */
export function classifyLine(carrier: OriginalCarrier | undefined, classes: OcnClasses): LineClass {
  if (!carrier) return 'unknown'
  const imported = classes.get(carrier.ocn)
  if (imported) return imported
  const { company } = carrier
  return wirelessNamePattern.test(company) && !pagingNamePattern.test(company)
    ? 'wireless'
    : 'unknown'
}

export const ocnFileKind: FileKind = { kind: 'ocn-classes', formatVersion: 1 }

export function resolveOcnFilePath(folder: string): string {
  return join(folder, 'ocn.cg')
}

/** Replaces the imported table in `folder` completely or leaves it unchanged. Resolves to its SHA-256 in hex. */
export async function writeOcnClasses(folder: string, report: OcnReport): Promise<string> {
  const { path, sha256, read, classes } = report
  const header = { source: { path, sha256, rows: read }, companies: classes.size }
  const lines = [...classes].map(([ocn, lineClass]) => `${ocn} ${lineClass}\n`)
  return await writeCheckedFile(resolveOcnFilePath(folder), ocnFileKind, header, [
    Buffer.from(lines.join('')),
  ])
}

/** Reads the last import; empty if there is none. Throws `DataFileError` for a damaged file. */
export function readOcnClasses(
  folder: string,
  read: PreparedFileReader = readPreparedFile,
): OcnClasses {
  const file = read(resolveOcnFilePath(folder), ocnFileKind)
  const classes = new Map<string, KnownLineClass>()
  for (const line of file?.body.toString('latin1').split('\n') ?? []) {
    const [ocn = '', lineClass = ''] = line.split(' ')
    if (isKnownLineClass(lineClass)) classes.set(ocn, lineClass)
  }
  return classes
}

/** The company classes that rows are joined with, and the reader of prepared files. */
export interface PrefixLoadOptions {
  readonly classes: OcnClasses
  readonly read?: PreparedFileReader
}
