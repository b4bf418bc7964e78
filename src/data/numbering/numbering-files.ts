/**
 * The prepared files of a numbering folder, joined: prefixes of each country with the classes of
 * companies, and thousands blocks. Which facts a number gets from them is told in `numbering-plan.ts`.
 */
import { statSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Country } from '../../domain/place.js'
import { blockFileKind, blockFilePath } from './block-file.js'
import { ImportedPrefixes } from './imported-prefixes.js'
import { ocnFileKind, ocnFilePath, readOcnClasses } from './line-class.js'
import { PrefixBlocks } from './prefix-blocks.js'
import { prefixFileKind, prefixFilePath } from './prefix-file.js'
import { type ReadPrepared, readInPieces, readPreparedFile } from './prepared-files.js'

export interface NumberingFiles {
  readonly imported: ReadonlyMap<Country, ImportedPrefixes>
  readonly blocks: PrefixBlocks | undefined
}

const countries: readonly Country[] = ['US', 'CA']

/** Throws `DataFileError` when a file is damaged. */
export function loadNumbering(folder: string): NumberingFiles {
  const steps = loading(folder, readPreparedFile)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** The same; other work gets its turn while the files are read, and between them. */
export async function loadNumberingInBackground(folder: string): Promise<NumberingFiles> {
  const read = await readInPieces([
    ...countries.map((country) => [prefixFilePath(folder, country), prefixFileKind] as const),
    [ocnFilePath(folder), ocnFileKind],
    [blockFilePath(folder), blockFileKind],
  ])
  const steps = loading(folder, read)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    await nextTurn()
  }
}

function* loading(folder: string, read: ReadPrepared): Generator<void, NumberingFiles> {
  const classes = readOcnClasses(folder, read)
  yield
  const imported = new Map<Country, ImportedPrefixes>()
  for (const country of countries) {
    const prefixes = ImportedPrefixes.load(folder, country, { classes, read })
    if (prefixes) imported.set(country, prefixes)
    yield
  }
  return { imported, blocks: PrefixBlocks.load(folder, { classes, read }) }
}

/** Changes whenever a prepared file is replaced. */
export function fingerprint(folder: string): string {
  const paths = [
    ...countries.map((country) => prefixFilePath(folder, country)),
    ocnFilePath(folder),
    blockFilePath(folder),
  ]
  return paths
    .map((path) => {
      const file = statSync(path, { bigint: true, throwIfNoEntry: false })
      return file ? `${file.ino} ${file.size} ${file.mtimeNs} ${file.ctimeNs}` : 'none'
    })
    .join()
}
