/** Answers what the journal of this server proves. Reads files, so it is not for the thread that decides. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalHeadBody } from '../api/gate/evidence.js'
import { requireScopeAllowed } from '../api/route.js'
import type { WitnessSettings } from '../config/settings.js'
import type { Caller } from '../domain/caller.js'
import type { Clock } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'
import { AppError, getErrorCode } from '../errors.js'
import { readFormerOrigins } from '../gate/journal/journal-beginning.js'
import { hashOriginName } from '../gate/journal/journal-origin.js'
import type { IndexSearch } from '../gate/journal/search/index-search.js'
import {
  checkpointPath,
  cosignedPath,
  treeFolder,
  verifierKeyPath,
} from '../gate/journal/tree/tree-files.js'
import { readRecord } from '../gate/record/read-record.js'
import type { RecordRead } from '../service/audit/read-log.js'
import { openCheckpoint } from '../transparency/checkpoint.js'
import { parseVerifierKey, type VerifierKey } from '../transparency/signed-note.js'
import { proveStored } from './prove-record.js'

export interface EvidenceDeps {
  /** Has the journal and its index. */
  readonly dataDir: string
  readonly index: Pick<IndexSearch, 'findRecord'>
  /** SHA-256 of the name of the journal, in hex, that another server has copied the decision from, if there may be several. */
  readonly findJournal: (accountId: string, id: string) => Promise<string | undefined>
  readonly recordRead: RecordRead
  readonly witnesses: readonly WitnessSettings[]
  readonly clock: Pick<Clock, 'now'>
}

/** Rejects with `not-found`, `not-available` until it is signed, and `conflict` if this journal cannot prove it. */
export async function proveDecision(
  { dataDir, index, findJournal, recordRead }: EvidenceDeps,
  caller: Caller,
  id: string,
): Promise<string> {
  const { accountId } = caller
  const found = index.findRecord(accountId, id)
  if (found === undefined) {
    const journal = await findJournal(accountId, id)
    if (journal === undefined) {
      throw new AppError('not-found', `id '${id}': this account has no such decision`)
    }
    const rule = `only the server of the journal with originHash ${journal} can prove it`
    throw new AppError(
      'conflict',
      `id '${id}': ${rule}. GET /v1/journal says which one a server has`,
    )
  }
  const document = readRecord('decision', { id, body: found.body })
  requireScopeAllowed(caller, document)
  const proof = proveStored(join(dataDir, 'journal'), found)
  const subject = { kind: 'decision', id }
  await recordRead(caller, {
    path: '/v1/decisions/:id/proof',
    what: 'decision.read',
    subject,
    rows: 1,
  })
  return proof
}

/** Throws `not-available` before the first head is signed. */
export function describeJournal({ dataDir, witnesses, clock }: EvidenceDeps): JournalHeadBody {
  const folder = join(dataDir, 'journal')
  const tree = treeFolder(folder)
  try {
    const cosigned = readIfThere(cosignedPath(tree))
    const verifierKey = readFileSync(verifierKeyPath(tree), 'utf8').trim()
    const key = parseVerifierKey(verifierKey)
    const checkpoint = readFileSync(checkpointPath(tree), 'utf8')
    const signedAt = Math.round(statSync(checkpointPath(tree)).mtimeMs)
    const { origin, size } = openCheckpoint(checkpoint, key)
    return {
      origin,
      originHash: hashOriginName(origin).toString('hex'),
      verifierKey,
      checkpoint,
      size,
      signedAt: formatInstant(signedAt),
      ageSeconds: Math.max(0, clock.now() - signedAt) / 1_000,
      cosigned: cosigned === undefined ? null : describeCosigned(cosigned, key, witnesses),
      formerOrigins: readFormerOrigins(folder).map((one) => ({
        origin: one.origin,
        size: one.size,
        at: one.at,
        next: one.next,
      })),
    }
  } catch (cause) {
    if (getErrorCode(cause) !== 'ENOENT') throw cause
    throw new AppError('not-available', 'the journal has not signed anything yet', { cause })
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if (getErrorCode(cause) === 'ENOENT') return undefined
    throw cause
  }
}

function describeCosigned(
  checkpoint: string,
  key: VerifierKey,
  witnesses: readonly WitnessSettings[],
): JournalHeadBody['cosigned'] {
  const keys = witnesses.flatMap((one) =>
    one.kind === 'witness' ? [parseVerifierKey(one.key)] : [],
  )
  const { size, signatures } = openCheckpoint(checkpoint, key, keys)
  const cosignatures = signatures.flatMap(({ key: { name }, at }) =>
    at === undefined ? [] : [{ witness: name, at: formatInstant(at * 1_000) }],
  )
  return { checkpoint, size, cosignatures }
}
