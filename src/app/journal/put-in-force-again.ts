/** Puts in force again what forbids calls, and is in the journal but not in the database. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PauseSubject } from '../../domain/mandate.js'
import { AppError } from '../../errors.js'
import type { MarkedAuditRecord } from '../../service/audit/audit-trail.js'
import type { Callgate } from '../callgate.js'

/**
 * An opt-out is put on all lists of its account: that is always right. Adds the rows that are not about an opt-out of one number, a
 * pause or a revoked key, or were refused, to `lost-changes.jsonl` in the data folder, for an operator. Returns how many were put in force.
 */
export async function putInForceAgain(
  parts: Pick<Callgate, 'settings' | 'runtime' | 'service' | 'pauses' | 'keys'>,
  lost: readonly MarkedAuditRecord[],
): Promise<number> {
  const left: MarkedAuditRecord[] = []
  for (const row of lost) {
    const isDone = await putRow(parts, row).catch((cause: unknown) => {
      if (cause instanceof AppError && cause.kind !== 'not-available') return false
      throw cause
    })
    if (!isDone) left.push(row)
  }
  if (left.length > 0) {
    const path = join(parts.settings.dataDir, 'lost-changes.jsonl')
    const lines = left.map((row) => `${JSON.stringify(row)}\n`)
    appendFileSync(path, lines.join(''), { mode: 0o600, flush: true })
    const changes = left.length
    parts.runtime.log.error('changes are lost and were not put in force again', { changes, path })
  }
  return lost.length - left.length
}

/** False if it is of another kind. */
async function putRow(
  { service, pauses, keys }: Pick<Callgate, 'service' | 'pauses' | 'keys'>,
  { action, subject, accountId, who, reason }: MarkedAuditRecord,
): Promise<boolean> {
  if (action === 'opt-out.added' && subject.kind === 'number') {
    const request = { numbers: [subject.id], onAllLists: true, ignoreInvalid: false }
    await service.internalDnc.add({ accountId, keyId: '' }, request)
    return true
  }
  if (action === 'pause.ordered') {
    const because = reason ?? 'it was lost'
    await pauses.pause({ subject: subject.id as PauseSubject, pausedBy: who, because })
    return true
  }
  if (action === 'key.revoked') {
    await keys.revoke(subject.id, { reason: reason ?? undefined })
    return true
  }
  return false
}
