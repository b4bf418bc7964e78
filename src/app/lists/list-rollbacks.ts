/** Goes back to an earlier version of a list for a caller of the API. */
import type { RollbackBody, RollbackRequest } from '../../api/lists/lists.js'
import type { Settings } from '../../config/settings.js'
import {
  describeNameRule,
  isAccountListName,
  splitListName,
} from '../../data/number-list/list-names.js'
import { rollBackList } from '../../data/number-list/list-rollback.js'
import { findVersions } from '../../data/number-list/list-version-files.js'
import { type Caller, isOperator, nameCaller } from '../../domain/caller.js'
import { formatInstant } from '../../domain/time/dates.js'
import { AppError, DataFileError, getErrorMessage, invalidRequest } from '../../errors.js'
import { runTransaction } from '../../service/sql/account-transaction.js'
import { findAuthor, recordAudit } from '../../storage/audit/audit-log.js'
import { getListsFolder } from '../data-folders.js'
import type { ListsAnswerDeps } from './lists-answer.js'

/** Resolves when the file is in its place, from where all threads and servers take it over, and the row of the audit table is stored. */
export async function rollBack(
  { getSettings, storage, clock }: ListsAnswerDeps,
  caller: Caller,
  { name, version: to, reason }: RollbackRequest,
): Promise<RollbackBody> {
  const settings = getSettings()
  requireList(settings, caller, name)
  if (storage.traits.isCopy) {
    const rule = 'This server is an edge, which copies lists; send it to one of edge.centers'
    throw new AppError('not-available', rule)
  }
  const folder = getListsFolder(settings)
  const { keepVersions: keep } = settings.lists
  const change = () => rollBackList({ folder, name, to, clock, keep })
  const result = await refuseByConflict(async () => {
    if (settings.storage.engine === 'sqlite') return await change()
    const { changeAndPublish } = await import('./publish-lists.js')
    return await changeAndPublish(settings, storage, {
      ...{ names: [name], allowMissing: to !== undefined, stageSeconds: 0, change },
      listVersions: ({ to: { version } }) => [{ name, version }],
    })
  })
  const { version, size, asOf } = result.to
  const replaced = result.from?.version ?? null
  try {
    await runTransaction(storage, (transaction) =>
      recordAudit(transaction, {
        by: findAuthor(storage, caller),
        accountId: splitListName(name).owner,
        action: 'list.rolled-back',
        subject: { kind: 'import', id: name },
        after: { version, replaced },
        reason,
        at: clock.now(),
      }),
    )
  } catch (cause) {
    throw new AppError(
      'not-available',
      `version ${version} of '${name}' is in use, but who did it could not be recorded: ${getErrorMessage(cause)}`,
    )
  }
  return { name, version, entries: size, asOf: formatInstant(asOf), replaced }
}

function requireList(settings: Settings, caller: Caller, name: string): void {
  if (!isOperator(caller)) {
    const rule =
      'going back to an earlier list needs account main, role Administrator and no limit to projects'
    throw new AppError('forbidden', `${nameCaller(caller)}: ${rule}`)
  }
  if (!isAccountListName(name)) {
    const rule = describeNameRule(splitListName(name).list)
    throw invalidRequest([{ field: 'name', value: name, rule }])
  }
  if (findVersions(getListsFolder(settings), name).length > 0) return
  throw new AppError('not-found', `list '${name}' not found (see GET /v1/lists)`)
}

async function refuseByConflict<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof DataFileError) throw new AppError('conflict', cause.message, { cause })
    throw cause
  }
}
