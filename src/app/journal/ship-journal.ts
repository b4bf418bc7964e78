/** Copies a whole journal to PostgreSQL whose server does not run, and erases in it what is to be erased. */

import { mainAccountId } from '../../domain/caller.js'
import { readBeginning } from '../../gate/journal/journal-beginning.js'
import { readOrigin } from '../../gate/journal/journal-origin.js'
import { JournalReader } from '../../gate/journal/journal-reader.js'
import { DecisionStore, type StoredRecords } from '../../gate/journal/projection/decision-store.js'
import { eraseStoredRows } from '../../gate/journal/projection/erase-rows.js'
import { claimJournal } from '../../gate/journal/projection/journal-projection.js'
import { recoverJournal } from '../../gate/journal/recovery/recover-journal.js'
import { readTree } from '../../gate/journal/tree/tree-head.js'
import { runTransaction } from '../../service/sql/account-transaction.js'
import { recordAudit } from '../../storage/audit/audit-log.js'
import type { AppContext } from '../app-context.js'
import { eraseInJournal } from './erase-in-journal.js'
import { openErasures } from './erasures.js'

/**
 * No server may write to the journal. Counts what was not stored before. Throws {@link DataFileError} with the place if
 * the journal is damaged.
 */
export async function shipJournal(
  folder: string,
  context: Pick<AppContext, 'settings' | 'storage' | 'runtime'>,
): Promise<StoredRecords & { readonly origin: string }> {
  const { db } = context.storage
  const name = readOrigin(folder, context.runtime.clock.now())
  const origin = name.toString('hex')
  const { firstSeq } = readBeginning(folder)
  const known = { tree: readTree(folder), fromSeq: firstSeq }
  const { nextSeq: endSeq } = recoverJournal(folder, name, known)
  const store = new DecisionStore(db)
  const sum = { nextSeq: await claimJournal(store, folder, origin), decisions: 0, outcomes: 0 }
  // A journal that was restored from a copy may end before what is stored of it.
  const reader = new JournalReader(folder, Math.min(sum.nextSeq, endSeq))
  try {
    for (let records = reader.read(); records.length > 0; records = reader.read()) {
      const stored = await store.store({ origin, records })
      sum.nextSeq = stored.nextSeq
      sum.decisions += stored.decisions
      sum.outcomes += stored.outcomes
    }
  } finally {
    reader.close()
  }
  const erasures = openErasures(context)
  const unfinished = await erasures.findUnfinished(origin)
  for (const { id } of unfinished) await eraseStoredRows(db, origin, id)
  for (const { id, ...counts } of await eraseInJournal(folder, unfinished, context)) {
    await erasures.finishJournal(id, origin, counts)
  }
  return { ...sum, origin }
}

/**
 * For a journal whose folder no longer exists: takes the numbers of erasures in progress out of what was copied of it, and lets none
 * wait for the rest. A server that starts with its folder is waited for again. Returns how many erasures are in progress.
 */
export async function giveUpJournal(
  origin: string,
  context: Pick<AppContext, 'storage' | 'runtime'>,
): Promise<number> {
  const { storage, runtime } = context
  const { db } = storage
  const erasures = openErasures(context)
  await runTransaction(storage, async (transaction) => {
    await transaction
      .updateTable('journals')
      .set({ shipped: 1 })
      .where('origin', '=', origin)
      .execute()
    await recordAudit(transaction, {
      by: storage.author,
      accountId: mainAccountId,
      action: 'journal.given-up',
      subject: { kind: 'journal', id: origin },
      at: runtime.clock.now(),
    })
  })
  // Also those that its own journal is done with: the server may have ended before that was copied.
  const unfinished = await erasures.findUnfinished('')
  for (const { id } of unfinished) await eraseStoredRows(db, origin, id)
  for (const { id } of unfinished) await erasures.finishShared(id)
  return unfinished.length
}
