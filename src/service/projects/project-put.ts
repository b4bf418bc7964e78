/** Makes or changes one project, through whichever door the wish came. */

import type { Caller } from '../../domain/caller.js'
import { AppError, invalidRequest } from '../../errors.js'
import type { Db } from '../../storage/tables.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import { type CodeOwner, codesMeant, readNewCode } from './project-codes.js'
import {
  federalColumns,
  type ProjectFieldNames,
  type ProjectInput,
  readProjectInput,
  type WantedProject,
} from './project-input.js'
import { accountOf, findProject, type StoredProject } from './project-rows.js'
import { differences, type ProjectWrite, type ProjectWrites } from './project-write.js'
import { requireOwnLists } from './require-scope.js'

/** How a project is put. */
export interface ProjectPut {
  /** As the caller wrote it. */
  readonly code: string
  readonly input: ProjectInput
  /** Whether the code must be new, must be there, or may be either. */
  readonly only?: 'insert' | 'update' | undefined
  /** The code is meant as it is stored, with any prefix. */
  readonly exactly?: boolean
  /** Switches the project on or off. */
  readonly status?: 'active' | 'inactive' | undefined
}

export interface PutProject {
  /** As stored. */
  readonly code: string
  readonly created: boolean
}

/** A door through which projects are put. */
export interface ProjectDoor {
  readonly writes: ProjectWrites
  readonly webhooks: WebhookQueue
  /** What it calls the fields. */
  readonly names: ProjectFieldNames
  /** How it refuses a code that has to be there and is not. */
  readonly unknown: (code: string) => AppError
}

/**
 * Stores all that is given or nothing; what is not given stays. Throws {@link AppError}:
 * `invalid-request` in the names of the door, `forbidden` when the project is inactive and stays so, or when the
 * key may not name the Master Project and inheritance would change.
 */
export async function putProject(
  { writes, webhooks, names, unknown }: ProjectDoor,
  caller: Caller,
  put: ProjectPut,
): Promise<PutProject> {
  const { accountId } = caller
  const refuseBadUrl = (field: string, url: string) => webhooks.refuseBadUrl(field, url)
  const wanted = readProjectInput(put.input, names, refuseBadUrl)
  return await writes.run(accountId, async (write) => {
    const { owner, found } = await findMeant(write.transaction, accountId, put)
    const wish = { caller, put, wanted, names }
    if (found) return await changeFound(write, found, wish)
    if (put.only === 'update') throw unknown(put.code)
    return await insertNew(write, owner, wish)
  })
}

interface Wish {
  readonly caller: Caller
  readonly put: ProjectPut
  readonly wanted: WantedProject
  readonly names: ProjectFieldNames
}

/** The project a code means on a call that may also make one, and who it would belong to. */
export async function findMeant(
  db: Db,
  accountId: string,
  { code, exactly = false }: Pick<ProjectPut, 'code' | 'exactly'>,
): Promise<{ readonly owner: CodeOwner; readonly found: StoredProject | undefined }> {
  const { auto_prefix: prefix } = await accountOf(db, accountId)
  const owner = { accountId, autoPrefix: prefix === 1 && !exactly }
  for (const candidate of codesMeant(owner, code)) {
    const found = await findProject(db, accountId, candidate)
    if (found) return { owner, found }
  }
  return { owner, found: undefined }
}

async function insertNew(
  write: ProjectWrite,
  owner: CodeOwner,
  { put, wanted, names }: Wish,
): Promise<PutProject> {
  const code = readNewCode(owner, put.code, names.code)
  const { name, ...columns } = wanted.columns
  if (name === undefined) {
    throw invalidRequest([{ field: names.name, rule: 'is required for a new project' }])
  }
  const federal = federalColumns(wanted.federalId)
  const { accountId } = owner
  const added = await write.insert({ accountId, code, name, columns: { ...columns, ...federal } })
  if (!added) throw takenCode(names.code, code)
  return { code, created: true }
}

async function changeFound(
  write: ProjectWrite,
  found: StoredProject,
  { caller, put, wanted, names }: Wish,
): Promise<PutProject> {
  const { code, account_id: accountId, status } = found
  if (put.only === 'insert') throw takenCode(names.code, code)
  if (put.status === 'inactive' && code === accountId) {
    const rule = 'is the Master Project, which cannot be deactivated'
    throw invalidRequest([{ field: names.code, value: code, rule }])
  }
  const columns = { ...wanted.columns, ...federalColumns(wanted.federalId, found) }
  const switched = differences(found, columns)
  if ('inherits_internal_dnc' in switched || 'inherits_ebr' in switched) {
    requireOwnLists(caller, accountId)
  }
  if (status === 'active' || put.status === 'active') {
    await write.change(found, { ...columns, status: put.status ?? status })
  } else if (put.status === undefined || Object.keys(differences(found, columns)).length > 0) {
    // To switch off what is off is nothing new; anything else is a change of it.
    const message = `${names.code} '${code}': is an inactive project; reactivate it first`
    throw new AppError('forbidden', message)
  }
  return { code, created: false }
}

function takenCode(field: string, value: string): AppError {
  return invalidRequest([{ field, value, rule: 'is a project already' }])
}
