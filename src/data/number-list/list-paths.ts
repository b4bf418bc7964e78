/**
 * Where the files of the lists are: those of account main in the folder of all lists, those of other accounts in the folder of the account there,
 * and earlier versions in the subfolder `versions` of each.
 */
import { readdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { mainAccountId } from '../../domain/caller.js'
import { getErrorCode } from '../../errors.js'
import { numberListExtension } from './format/number-list-format.js'
import {
  isAccountListName,
  litigatorListName,
  splitListName,
  toAccountListName,
} from './list-names.js'

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

/** The beginning of the names of the lists of an account, or of all accounts but main, whose folder this is. */
export function toNamePrefix(folder: string, path: string): string {
  return path === join(folder, accountsFolder) ? '/' : `${basename(path)}/`
}

export interface FoundLists {
  /** Of all lists with a file, among those of all accounts: `us-dnc`, `acme/us-dnc`. */
  readonly names: readonly string[]
  /** Why the folder of an account, or with those of all accounts, cannot be read, by its path. */
  readonly failures: Map<string, Error>
}

/** Throws if the folder of all lists cannot be read; one that does not exist has none. */
export function findListNames(folder: string): FoundLists {
  const names = [...toListNames(mainAccountId, listFilesIn(folder))]
  const failures = new Map<string, Error>()
  const listOf = (path: string) => {
    try {
      return listFilesIn(path)
    } catch (cause) {
      addFailure(failures, path, cause)
      return []
    }
  }
  for (const accountId of listOf(join(folder, accountsFolder)).filter(isAccountFolder)) {
    names.push(...toListNames(accountId, listOf(resolveAccountFolder(folder, accountId))))
  }
  return { names, failures }
}

/** As {@link findListNames}, without waiting for the disk. */
export async function findListNamesInBackground(folder: string): Promise<FoundLists> {
  const names = [...toListNames(mainAccountId, await listFilesInBackground(folder))]
  const failures = new Map<string, Error>()
  const listOf = async (path: string) => {
    try {
      return await listFilesInBackground(path)
    } catch (cause) {
      addFailure(failures, path, cause)
      return []
    }
  }
  for (const accountId of (await listOf(join(folder, accountsFolder))).filter(isAccountFolder)) {
    names.push(...toListNames(accountId, await listOf(resolveAccountFolder(folder, accountId))))
  }
  return { names, failures }
}

/** Others, such as `lost+found` and `acme.bak`, have no lists. */
function isAccountFolder(name: string): boolean {
  return name !== mainAccountId && isAccountListName(`${name}/${litigatorListName}`)
}

export function addFailure(failures: Map<string, Error>, path: string, cause: unknown): void {
  failures.set(path, cause instanceof Error ? cause : new Error(String(cause)))
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

function requireMissing(cause: unknown): [] {
  if (getErrorCode(cause) === 'ENOENT') return []
  throw cause
}
