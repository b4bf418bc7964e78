/** Puts in force again what forbids calls, and is in the journal but not in the database. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PauseSubject } from '../../domain/mandate.js'
import { parsePhoneNumber } from '../../domain/phone-number.js'
import { AppError } from '../../errors.js'
import type { MarkedAuditRecord } from '../../service/audit/audit-trail.js'
import type { Callgate } from '../callgate.js'

/**
 * An opt-out is put on all lists of its account: that is always right. Returns the changes that are not about an opt-out, a pause or a
 * revoked key, or were refused, such as an opt-out whose number was erased. May be called again with the same rows.
 */
export async function putInForceAgain(
  { accounts, service, pauses, keys }: Pick<Callgate, 'accounts' | 'service' | 'pauses' | 'keys'>,
  lost: readonly MarkedAuditRecord[],
): Promise<readonly MarkedAuditRecord[]> {
  const left: MarkedAuditRecord[] = []
  const optOuts = new Map<string, MarkedAuditRecord[]>()
  for (const row of lost) {
    const { action, subject, accountId, who, reason } = row
    if (isOptOut(row)) optOuts.set(accountId, [...(optOuts.get(accountId) ?? []), row])
    else if (action === 'pause.ordered') {
      const because = reason ?? 'it was lost'
      const request = { subject: subject.id as PauseSubject, pausedBy: who, because }
      if (await isRefused(() => pauses.pause(request))) left.push(row)
    } else if (action === 'key.revoked') {
      const revoke = () => keys.revoke(subject.id, { reason: reason ?? undefined })
      if (await isRefused(revoke)) left.push(row)
    } else if (!changesNothing.test(action)) left.push(row)
  }
  for (const [accountId, rows] of optOuts) {
    const numbers = rows.map(({ subject }) => subject.id)
    const request = { numbers, onAllLists: true, ignoreInvalid: false }
    const add = () => service.internalDnc.add({ accountId, keyId: '' }, request)
    const isKnown = (await accounts.find(accountId)) !== undefined
    if (!isKnown || (await isRefused(add))) left.push(...rows)
  }
  return left.sort((a, b) => a.seq - b.seq)
}

/** Of rows that say who read what, what a server uses since its start, and what it found then. */
const changesNothing =
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

/** In a few words, for people. */
export function describeLostChanges(left: readonly MarkedAuditRecord[]): string {
  const named = left
    .slice(0, maxNamed)
    .map(({ seq, action, subject: { kind, id } }) => `row ${seq} (${action} ${kind} ${id})`)
  const others = left.length - named.length
  if (others > 0) named.push(`${others} others`)
  return `not put in force again: ${named.join(', ')}`
}
