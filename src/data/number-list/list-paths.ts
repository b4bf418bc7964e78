/**
 * Where the files of the lists are: those of account main in the folder of all lists, those of other accounts in the folder of the account there,
 * and earlier versions in the subfolder `versions` of each.
 */
import { readdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { mainAccountId } from '../../domain/caller.js'
import { getErrorCode } from '../../errors.js'
import { numberListExtension } from './format/number-list-format.js'
import { splitListName, toAccountListName } from './list-names.js'

const accountsFolder = 'accounts'

/** The folder of an account's lists; `folder` is that of all lists. */
function resolveAccountFolder(folder: string, accountId: string): string {
  return accountId === mainAccountId ? folder : join(folder, accountsFolder, accountId)
}

/** Of the account that the list is of; `name` is the one among the lists of all accounts. */
export function resolveListFolder(folder: string, name: string): string {
  return resolveAccountFolder(folder, splitListName(name).owner)
}

/** The path of the list in use. */
export function resolveListPath(folder: string, name: string): string {
  return join(resolveListFolder(folder, name), toFileName(name))
}

const toFileName = (name: string) => `${splitListName(name).list}${numberListExtension}`

/** The folder of the earlier versions. */
export function resolveVersionsFolder(folder: string, name: string): string {
  return join(resolveListFolder(folder, name), 'versions')
}

/** The path of an earlier version, if it is kept. */
export function resolveVersionPath(folder: string, name: string, version: string): string {
  const { list } = splitListName(name)
  return join(resolveVersionsFolder(folder, name), `${list}.${version}${numberListExtension}`)
}

/** The names of all lists with a file, among those of all accounts: `us-dnc`, `acme/us-dnc`. */
export function findListNames(folder: string): readonly string[] {
  return [mainAccountId, ...listFilesIn(join(folder, accountsFolder))].flatMap((accountId) =>
    toListNames(accountId, listFilesIn(resolveAccountFolder(folder, accountId))),
  )
}

/** As {@link findListNames}, without waiting for the disk. */
export async function findListNamesInBackground(folder: string): Promise<readonly string[]> {
  const names: string[] = []
  const accounts = await listFilesInBackground(join(folder, accountsFolder))
  for (const accountId of [mainAccountId, ...accounts]) {
    const files = await listFilesInBackground(resolveAccountFolder(folder, accountId))
    names.push(...toListNames(accountId, files))
  }
  return names
}

function toListNames(accountId: string, files: readonly string[]): readonly string[] {
  return files
    .filter((file) => file.endsWith(numberListExtension) && !file.startsWith('.'))
    .map((file) => toAccountListName(accountId, file.slice(0, -numberListExtension.length)))
}

/** Empty for a folder that does not exist. */
export function listFilesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (cause) {
    return requireMissing(cause)
  }
}

async function listFilesInBackground(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (cause) {
    return requireMissing(cause)
  }
}

/** A stray file among the folders of accounts has no lists. */
function requireMissing(cause: unknown): [] {
  const code = getErrorCode(cause)
  if (code === 'ENOENT' || code === 'ENOTDIR') return []
  throw cause
}
