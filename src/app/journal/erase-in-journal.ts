/** Erases in a journal whose server does not run: opens it in its place, since what is changed in it must be signed before. */
import { basename, dirname, resolve } from 'node:path'
import { version } from '../../config/version.js'
import { DataFileError } from '../../errors.js'
import type { SegmentEvent } from '../../gate/journal/index-writer.js'
import { Journal } from '../../gate/journal/journal.js'
import type {
  FinishedErasure,
  RequestedErasure,
} from '../../gate/journal/removal/pending-erasures.js'
import { findSigningKey } from '../../gate/journal/tree/tree-head.js'
import { isPresent } from '../../runtime/folders.js'
import type { AppContext } from '../app-context.js'

/**
 * No server may have the journal open. Throws {@link DataFileError} if its key is missing, or an erasure could not be carried
 * out.
 */
export async function eraseInJournal(
  folder: string,
  erasures: readonly RequestedErasure[],
  { settings, runtime }: Pick<AppContext, 'settings' | 'runtime'>,
): Promise<readonly FinishedErasure[]> {
  if (erasures.length === 0) return []
  const dataDir = dirname(resolve(folder))
  const isOwn = dataDir === resolve(settings.dataDir)
  const { keepYears } = settings.journal
  const keyPath = findSigningKey(dataDir, isOwn ? settings.journal.signingKeyFile : undefined)
  requireKey(folder, keyPath)
  const events: SegmentEvent[] = []
  const ignore = () => undefined
  const journal = new Journal({
    dataDir,
    databaseFiles: [],
    checkFault: async () => undefined,
    clock: runtime.clock,
    version,
    keepYears,
    signingKeyFile: keyPath,
    observer: {
      onWritten: ignore,
      onFailure: ignore,
      onUnrecorded: ignore,
      onLoss: ignore,
      onFlushed: ignore,
      onIndexLag: ignore,
      onIndexFailure: ignore,
      onSegmentEvent: (event) => void events.push(event),
    },
  })
  await journal.open()
  try {
    for (const erasure of erasures) journal.erase(erasure)
    await journal.drain()
  } finally {
    await journal.close()
  }
  const finished = events.flatMap((event) => (event.kind === 'erased' ? [event] : []))
  if (finished.length === erasures.length) return finished
  const failed = events.find((event) => event.kind === 'failed')
  throw new DataFileError(folder, failed?.reason ?? 'an erasure could not be carried out')
}

function requireKey(folder: string, keyPath: string): void {
  if (basename(folder) === 'journal' && isPresent(keyPath)) return
  const rule = 'erasing a number needs the signing key of the journal, in its data folder'
  const advice = `Move the folder to one that is named journal, with the key as ${keyPath}`
  throw new DataFileError(folder, `${rule}. ${advice}`)
}
