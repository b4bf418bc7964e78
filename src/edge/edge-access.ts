/** Who may have a copy of an account, and where. */
import { type Caller, nameCaller } from '../domain/caller.js'
import { AppError } from '../errors.js'

/** The copy has everything about the account. */
export function requireAdministrator(caller: Caller): void {
  if (caller.role === 'Administrator' && caller.limits.projects === 'any') return
  const rule = 'a copy of the account needs role Administrator and no limit to projects'
  throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
}

export function servesNoEdges(): AppError {
  return new AppError('not-found', 'only servers with storage.engine postgres serve edges')
}
