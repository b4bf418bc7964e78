/** Puts in force again what forbids calls, and is in the journal but not in the database. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PauseSubject } from '../../domain/mandate.js'
import { parsePhoneNumber } from '../../domain/phone-number.js'
import { AppError } from '../../errors.js'
import type { MarkedAuditRecord } from '../../storage/audit/audit-log.js'
import type { Callgate } from '../callgate.js'

/**
 * An opt-out is put on all lists of its account: that is always right. Returns the changes that are not about an opt-out, a pause or a
 * revoked key, or were refused, such as an opt-out whose number was erased. May be called again with the same rows.
 */
export async function putInForceAgain(
  { pauses, keys, ...more }: Pick<Callgate, 'accounts' | 'service' | 'pauses' | 'keys'>,
  lost: readonly MarkedAuditRecord[],
): Promise<readonly MarkedAuditRecord[]> {
  const optOuts = lost.filter(isOptOut)
  const left = [...(await addOptOuts(more, optOuts))]
  for (const row of lost) {
    const { action, subject, who, reason } = row
    if (action === 'pause.ordered') {
      const because = reason ?? 'it was lost'
      const request = { subject: subject.id as PauseSubject, pausedBy: who, because }
      if (await isRefused(() => pauses.pause(request))) left.push(row)
    } else if (action === 'key.revoked') {
      const revoke = () => keys.revoke(subject.id, { reason: reason ?? undefined })
      if (await isRefused(revoke)) left.push(row)
    } else if (!isOptOut(row) && !changesNothing.test(action)) left.push(row)
  }
  return left.sort((a, b) => a.seq - b.seq)
}

/** Gives those that were refused, or whose account is lost too. */
async function addOptOuts(
  { accounts, service }: Pick<Callgate, 'accounts' | 'service'>,
  optOuts: readonly MarkedAuditRecord[],
): Promise<readonly MarkedAuditRecord[]> {
  const left: MarkedAuditRecord[] = []
  for (const accountId of new Set(optOuts.map((row) => row.accountId))) {
    const rows = optOuts.filter((row) => row.accountId === accountId)
    const numbers = rows.map(({ subject }) => subject.id)
    const request = { numbers, onAllLists: true, ignoreInvalid: false }
    const add = () => service.internalDnc.add({ accountId, keyId: '' }, request)
    const isKnown = (await accounts.find(accountId)) !== undefined
    if (!isKnown || (await isRefused(add))) left.push(...rows)
  }
  return left
}

/** Of rows that say who read what, what a server uses since its start, and what it found then. */
export const changesNothing =
  /\.(?:read|searched|streamed|previewed|exported|downloaded|in-use|started|joined)$/

const isOptOut = ({ action, subject: { kind, id } }: MarkedAuditRecord): boolean =>
  action === 'opt-out.added' && kind === 'number' && parsePhoneNumber(id) !== undefined

async function isRefused(put: () => Promise<unknown>): Promise<boolean> {
  try {
    await put()
    return false
  } catch (cause) {
    if (cause instanceof AppError && cause.kind !== 'not-available') return true
    throw cause
  }
}

/** Adds them to `lost-changes.jsonl` in the data folder, for an operator. */
export function noteLostChanges(
  { settings, runtime }: Pick<Callgate, 'settings' | 'runtime'>,
  left: readonly MarkedAuditRecord[],
): void {
  if (left.length === 0) return
  const path = join(settings.dataDir, 'lost-changes.jsonl')
  const lines = left.map((row) => `${JSON.stringify(row)}\n`)
  appendFileSync(path, lines.join(''), { mode: 0o600, flush: true })
  const changes = left.length
  runtime.log.error('changes are lost and were not put in force again', { changes, path })
}

const maxNamed = 10

/** For people. Strangers can read it too, so it names no number. */
export function describeLostChanges(left: readonly MarkedAuditRecord[]): string {
  const named = left.slice(0, maxNamed).map(({ seq, action }) => `row ${seq} (${action})`)
  const others = left.length - named.length
  if (others > 0) named.push(`${others} others`)
  return `not put in force again: ${named.join(', ')}`
}
