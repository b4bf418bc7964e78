/** Creates the API keys on the first start and writes them to a file. */
import { closeSync, fsyncSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Callgate } from '../../app/callgate.js'
import { mainAccountId, sandboxAccountId } from '../../domain/caller.js'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { moveIntoPlace } from '../../runtime/folders.js'
import { ApiKeys } from '../../service/accounts/api-keys.js'
import { runAccountTransaction } from '../../service/sql/account-transaction.js'
import type { Db } from '../../storage/tables.js'

/** Keys by account id; empty when both accounts already had one. */
export type FirstKeys = ReadonlyMap<string, string>

/** `first-keys.txt` in the data folder, as an absolute path. */
export function resolveFirstKeysFile({ settings }: Pick<Callgate, 'settings'>): string {
  return resolve(settings.dataDir, 'first-keys.txt')
}

/**
 * Creates a key for each of the accounts main and sandbox that never had one. `save` is called before
 * the keys become valid: if it throws or the process dies, the keys do not exist and the next start
 * creates new ones.
 */
export async function createFirstKeys(
  { storage, runtime: { clock, timers, randomBytes } }: Pick<Callgate, 'storage' | 'runtime'>,
  save: (keys: FirstKeys) => void,
): Promise<FirstKeys> {
  const create = async (db: Db) => {
    // The whole transaction is tried again.
    const retryWhileLocked = <Result>(work: () => Promise<Result>) => work()
    const { author } = storage
    const parts = { db, reads: db, retryWhileLocked, author, clock, timers, randomBytes }
    const apiKeys = new ApiKeys(parts)
    const keys = new Map<string, string>()
    for (const accountId of [mainAccountId, sandboxAccountId]) {
      if ((await apiKeys.list(accountId)).length > 0) continue
      const request = { accountId, role: 'Administrator', label: 'first start' } as const
      keys.set(accountId, (await apiKeys.create(request)).key)
    }
    if (keys.size > 0) save(keys)
    return keys
  }
  // With the lock of an account, so that the other of two servers that start at once finds these keys.
  return await runAccountTransaction(storage, mainAccountId, create)
}

/**
 * Writes a line `<account>: <key>` for each key to a file that only its owner can read. The file is
 * on disk when this returns; an existing file is replaced. Throws {@link DataFileError}.
 */
export function writeFirstKeys(path: string, keys: FirstKeys): void {
  const lines = [...keys].map(([accountId, key]) => `${accountId}: ${key}\n`)
  const temporaryPath = `${path}.part`
  try {
    rmSync(temporaryPath, { force: true })
    const file = openSync(temporaryPath, 'wx', 0o600)
    try {
      writeFileSync(file, `${heading}${lines.join('')}`)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    moveIntoPlace(temporaryPath, path)
  } catch (cause) {
    rmSync(temporaryPath, { force: true })
    const why = getErrorMessage(cause)
    const advice = 'no key was created; make the file writable, or start callgate in a terminal'
    throw new DataFileError(
      path,
      `the keys of the first start cannot be written: ${why}; ${advice}`,
    )
  }
}

const heading =
  '# API keys created by the first start of callgate. Store them safely, then delete this file.\n'

/** A shell expression that reads the sandbox's key from the file. */
export function formatKeyHeaderCommand(path: string): string {
  return `$(sed -n 's/^${sandboxAccountId}: //p' '${path.replaceAll("'", "'\\''")}')`
}
