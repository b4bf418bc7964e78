/** Who may have a copy of an account, and where. */
import type { Caller } from '../domain/caller.js'
import { AppError } from '../errors.js'

/** The copy has everything about the account. */
export function requireAdministrator({ role, keyId, limits }: Caller): void {
  if (role === 'Administrator' && limits.projects === 'any') return
  const rule = 'a copy of the account needs role Administrator and no limit to projects'
  throw new AppError('forbidden', `key ${keyId}: ${rule}`)
}

export function servesNoEdges(): AppError {
  return new AppError('not-found', 'only servers with storage.engine postgres serve edges')
}
