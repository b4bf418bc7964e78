/** Creates or changes one project, for both project APIs and the command line. */

import type { Caller } from '../../domain/caller.js'
import { AppError, invalidRequest } from '../../errors.js'
import type { Db } from '../../storage/tables.js'
import type { ChangeRequests } from '../changes/change-requests.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import { type CodeOwner, listCandidateCodes, readNewCode } from './project-codes.js'
import {
  type ParsedProjectInput,
  type ProjectFieldNames,
  type ProjectInput,
  readProjectInput,
  toFederalColumns,
} from './project-input.js'
import { findProject, readProjectAccount, type StoredProject } from './project-rows.js'
import { requireListAccess } from './project-scope.js'
import { diffColumns, type ProjectTransaction, type ProjectWriter } from './project-writer.js'

/** A request to create or change a project. */
export interface ProjectUpsert {
  /** As sent by the caller. */
  readonly code: string
  readonly input: ProjectInput
  /** Whether the code must be new, must exist, or may be either. */
  readonly only?: 'insert' | 'update' | undefined
  /** `code` is the stored code, including any prefix. */
  readonly exactCode?: boolean
  /** Activates or deactivates the project. */
  readonly status?: 'active' | 'inactive' | undefined
}

export interface ProjectUpsertResult {
  /** As stored. */
  readonly code: string
  readonly created: boolean
}

export interface ProjectDeps {
  readonly db: Db
  readonly writes: ProjectWriter
  readonly webhooks: WebhookQueue
  readonly changeRequests: Pick<ChangeRequests, 'isNeededFor' | 'require'>
}

/** What differs between the APIs that use the upsert. */
export interface ProjectAdapter extends ProjectDeps {
  /** The field names of the API. */
  readonly fieldNames: ProjectFieldNames
  /** Creates the API's error for an unknown code. */
  readonly projectNotFound: (code: string) => AppError
}

/**
 * Stores all given fields or none; absent fields are unchanged. Throws {@link AppError}:
 * `invalid-request` with the field names of the API, `forbidden` when the project is inactive and stays
 * so, or when the key may not use the Master Project and inheritance would change; `approval-needed` if the project would no longer
 * use the Master Project's opt-outs, and that needs a second person.
 */
export async function upsertProject(
  adapter: ProjectAdapter,
  caller: Caller,
  upsert: ProjectUpsert,
): Promise<ProjectUpsertResult> {
  const { writes, webhooks, fieldNames, projectNotFound } = adapter
  const { accountId } = caller
  const refuseBadUrl = (field: string, url: string) => webhooks.refuseBadUrl(field, url)
  const parsed = readProjectInput(upsert.input, fieldNames, refuseBadUrl)
  const mayEndInheritance = await requireSecondPerson(adapter, caller, { upsert, parsed })
  return await writes.run(caller, async (write) => {
    const { owner, found } = await findProjectByCode(write.transaction, accountId, upsert)
    const context = { caller, upsert, parsed, fieldNames, mayEndInheritance }
    if (found) return await updateExisting(write, found, context)
    if (upsert.only === 'update') throw projectNotFound(upsert.code)
    return await insertNew(write, owner, context)
  })
}

interface UpsertContext {
  readonly caller: Caller
  readonly upsert: ProjectUpsert
  readonly parsed: ParsedProjectInput
  readonly fieldNames: ProjectFieldNames
  readonly mayEndInheritance: boolean
}

/**
 * Whether a project may stop using the Master Project's opt-outs: new ones there would not hold for it. Throws `approval-needed`,
 * and `invalid-request` if more than that would change, since only that is approved.
 */
async function requireSecondPerson(
  { db, changeRequests, fieldNames }: ProjectAdapter,
  caller: Caller,
  { upsert, parsed }: Pick<UpsertContext, 'upsert' | 'parsed'>,
): Promise<boolean> {
  if (parsed.columns.inherits_internal_dnc !== 0 || upsert.only === 'insert') return false
  if (!caller.change && !changeRequests.isNeededFor('lift-opt-out')) return true
  const { found } = await findProjectByCode(db, caller.accountId, upsert)
  if (found?.inherits_internal_dnc !== 1) return false
  const { code, status } = found
  if (status !== 'active' && upsert.status !== 'active') return false
  requireListAccess(caller, caller.accountId)
  const { inherits_internal_dnc: _, ...others } = diffColumns(found, {
    ...{ ...parsed.columns, ...toFederalColumns(parsed.federalId, found) },
    status: upsert.status ?? status,
  })
  if (Object.keys(others).length > 0) {
    const rule = 'needs a second person (twoPeople.for has lift-opt-out); send it alone'
    throw invalidRequest([{ field: fieldNames.inheritsInternalDnc, rule }])
  }
  await changeRequests.require(caller, {
    kind: 'lift-opt-out',
    what: `ending the use of the Master Project's opt-outs by project ${code}`,
    endpoint: 'project-update',
    request: { code, InheritInternalDnc: false },
  })
  return true
}

/** The existing project for a code, if any, and the owner that a new one would have. */
export async function findProjectByCode(
  db: Db,
  accountId: string,
  { code, exactCode = false }: Pick<ProjectUpsert, 'code' | 'exactCode'>,
): Promise<{ readonly owner: CodeOwner; readonly found: StoredProject | undefined }> {
  const { auto_prefix: prefix } = await readProjectAccount(db, accountId)
  const owner = { accountId, autoPrefix: prefix === 1 && !exactCode }
  for (const candidate of listCandidateCodes(owner, code)) {
    const found = await findProject(db, accountId, candidate)
    if (found) return { owner, found }
  }
  return { owner, found: undefined }
}

async function insertNew(
  write: ProjectTransaction,
  owner: CodeOwner,
  { upsert, parsed, fieldNames }: UpsertContext,
): Promise<ProjectUpsertResult> {
  const code = readNewCode(owner, upsert.code, fieldNames.code)
  const { name, ...columns } = parsed.columns
  if (name === undefined) {
    throw invalidRequest([{ field: fieldNames.name, rule: 'is required for a new project' }])
  }
  const federal = toFederalColumns(parsed.federalId)
  const { accountId } = owner
  const added = await write.insert({ accountId, code, name, columns: { ...columns, ...federal } })
  if (!added) throw codeAlreadyTaken(fieldNames.code, code)
  return { code, created: true }
}

async function updateExisting(
  write: ProjectTransaction,
  found: StoredProject,
  { caller, upsert, parsed, fieldNames, mayEndInheritance }: UpsertContext,
): Promise<ProjectUpsertResult> {
  const { code, account_id: accountId, status } = found
  if (upsert.only === 'insert') throw codeAlreadyTaken(fieldNames.code, code)
  if (upsert.status === 'inactive' && code === accountId) {
    const rule = 'is the Master Project, which cannot be deactivated'
    throw invalidRequest([{ field: fieldNames.code, value: code, rule }])
  }
  const columns = { ...parsed.columns, ...toFederalColumns(parsed.federalId, found) }
  const switched = diffColumns(found, columns)
  if ('inherits_internal_dnc' in switched || 'inherits_ebr' in switched) {
    requireListAccess(caller, accountId)
  }
  if (status === 'active' || upsert.status === 'active') {
    if (switched.inherits_internal_dnc === 0 && !mayEndInheritance) {
      const message = `project '${code}' was changed at this moment; nothing was changed, try again`
      throw new AppError('conflict', message)
    }
    await write.update(found, { ...columns, status: upsert.status ?? status })
  } else if (upsert.status === undefined || Object.keys(diffColumns(found, columns)).length > 0) {
    // Deactivating an inactive project is allowed; any other change is not.
    const message = `${fieldNames.code} '${code}': is an inactive project; reactivate it first`
    throw new AppError('forbidden', message)
  }
  return { code, created: false }
}

function codeAlreadyTaken(field: string, value: string): AppError {
  return invalidRequest([{ field, value, rule: 'already exists' }])
}
