/** Computes the tree anew from its entries. */
import { getErrorMessage } from '../../errors.js'
import {
  bundledEntryBytes,
  countOf,
  hashAll,
  type TreeReader,
  tileWidth,
} from '../../gate/journal/tree/tree-files.js'
import { decodeEntry, entryBytes } from '../../transparency/log-entry.js'
import { hashLeaf } from '../../transparency/merkle-tree.js'
import type { Findings } from './findings.js'

/** Every tile must follow from the ones below it, and those of level 0 from the entries. */
export function checkTiles(reader: TreeReader, findings: Findings): void {
  for (let level = 0; countOf(level, reader.size) > 0; level += 1) {
    for (let number = 0; number * tileWidth < countOf(level, reader.size); number += 1) {
      checkTile(reader, { level, number }, findings)
    }
  }
}

function checkTile(
  reader: TreeReader,
  { level, number }: { readonly level: number; readonly number: number },
  findings: Findings,
): void {
  const leaves = tileWidth ** (level + 1)
  const seqs = [number * leaves + 1, Math.min(reader.size, (number + 1) * leaves)] as const
  try {
    const expected = level === 0 ? hashEntries(reader, number) : hashTiles(reader, level, number)
    if (expected.equals(reader.readTile(level, number))) return
    const rule = 'does not follow from what is below it'
    findings.add('false', `tile ${number} of level ${level} of the tree ${rule}`, seqs)
  } catch (cause) {
    findings.add('false', getErrorMessage(cause), seqs)
  }
}

function hashEntries(reader: TreeReader, number: number): Buffer {
  const bundle = reader.readTile('entries', number)
  const hashes: Buffer[] = []
  for (let offset = 0; offset < bundle.length; offset += bundledEntryBytes) {
    const entry = bundle.subarray(offset + 2, offset + bundledEntryBytes)
    const seq = number * tileWidth + hashes.length + 1
    if (bundle.readUInt16BE(offset) !== entryBytes || decodeEntry(entry)?.seq !== seq) {
      throw new RangeError(`the entry of record ${seq} in the tree is that of another record`)
    }
    hashes.push(hashLeaf(entry))
  }
  return Buffer.concat(hashes)
}

function hashTiles(reader: TreeReader, level: number, number: number): Buffer {
  const count = Math.min(tileWidth, countOf(level, reader.size) - number * tileWidth)
  return Buffer.concat(
    Array.from({ length: count }, (_, index) =>
      hashAll(reader.readTile(level - 1, number * tileWidth + index)),
    ),
  )
}
