/** Makes the tiles of a tree again from the records of its journal. */
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensureFolder, syncFolder } from '../../../runtime/folders.js'
import { parseCheckpoint } from '../../../transparency/checkpoint.js'
import { createSigningKey, parseNote, type SigningKey } from '../../../transparency/signed-note.js'
import { readBeginning } from '../journal-beginning.js'
import { JournalReader } from '../journal-reader.js'
import { checkpointPath, treeFolder } from './tree-files.js'
import { emptyHead, readHead, writeCheckpoint } from './tree-head.js'
import { TreeWriter } from './tree-writer.js'

/**
 * Does nothing unless all tiles are missing. They stay missing if the records do not have the root that was signed, as after an erasure
 * or once records were removed: only the tiles have the leaves of those. Throws `DataFileError` if the journal cannot be read.
 */
export function restoreTiles(journalFolder: string): void {
  const folder = treeFolder(journalFolder)
  const tiles = join(folder, 'tile')
  const made = join(folder, 'made')
  rmSync(made, { recursive: true, force: true })
  if (existsSync(tiles) || !existsSync(checkpointPath(folder))) return
  if (readBeginning(journalFolder).firstSeq > 1) return
  const { text } = parseNote(readFileSync(checkpointPath(folder), 'utf8'))
  const { size, root, origin } = parseCheckpoint(text)
  // The key of the journal signs nothing that was not compared, not even here.
  const key = createSigningKey(origin, 'signer', generateKeyPairSync('ed25519').privateKey)
  makeTree(made, { journalFolder, size, key })
  const isSame = readHead(treeFolder(made), key).root.equals(root)
  if (isSame && size > 0) renameSync(join(treeFolder(made), 'tile'), tiles)
  rmSync(made, { recursive: true })
  syncFolder(folder)
}

interface TreeToMake {
  readonly journalFolder: string
  readonly size: number
  readonly key: SigningKey
}

function makeTree(made: string, { journalFolder, size, key }: TreeToMake): void {
  ensureFolder(treeFolder(made))
  writeCheckpoint(treeFolder(made), emptyHead(key.name), key)
  const writer = new TreeWriter(made, key)
  const reader = new JournalReader(journalFolder, 1)
  try {
    for (let records = reader.read(size); records.length > 0; records = reader.read(size)) {
      writer.add(records)
    }
  } finally {
    reader.close()
  }
  writer.sign()
}
