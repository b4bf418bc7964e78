/** The keys of a first start, and the one place where they can be read. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Callgate } from '../compose.js'
import { mainAccountId } from '../compose-foundation.js'
import { DataFileError } from '../errors.js'
import { syncFolder } from '../folders.js'
import { ApiKeys } from '../service/accounts/api-keys.js'
import { sandboxAccountId } from '../service/sandbox/sandbox.js'
import type { Db } from '../storage/tables.js'

/** Keys by account id; empty when both accounts have had one before. */
export type FirstKeys = ReadonlyMap<string, string>

/** `first-keys.txt` in the data folder, as an absolute path. */
export function firstKeysFile({ settings }: Pick<Callgate, 'settings'>): string {
  return resolve(settings.dataDir, 'first-keys.txt')
}

/**
 * Makes a key for the accounts main and sandbox, where they never had one. `save` is called before
 * the keys become valid: when it throws or the process dies in it, the keys do not exist, and the
 * next start makes new ones.
 */
export async function createFirstKeys(
  { storage, world: { clock, timers, randomBytes } }: Callgate,
  save: (keys: FirstKeys) => void,
): Promise<FirstKeys> {
  const create = async (db: Db) => {
    const apiKeys = new ApiKeys({ db, clock, timers, randomBytes })
    const keys = new Map<string, string>()
    for (const accountId of [mainAccountId, sandboxAccountId]) {
      if ((await apiKeys.list(accountId)).length > 0) continue
      const wanted = { accountId, role: 'Administrator', label: 'first start' } as const
      keys.set(accountId, (await apiKeys.create(wanted)).key)
    }
    if (keys.size > 0) save(keys)
    return keys
  }
  return await storage.patiently(() => storage.db.transaction().execute(create))
}

/**
 * Writes a line `<account>: <key>` for each key to a file that its owner alone can read. The file is
 * on disk when this returns; an older one of that path is replaced. Throws {@link DataFileError}.
 */
export function writeFirstKeys(path: string, keys: FirstKeys): void {
  const lines = [...keys].map(([accountId, key]) => `${accountId}: ${key}\n`)
  const aside = `${path}.part`
  try {
    rmSync(aside, { force: true })
    const file = openSync(aside, 'wx', 0o600)
    try {
      writeFileSync(file, `${heading}${lines.join('')}`)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(aside, path)
    syncFolder(join(path, '..'))
  } catch (cause) {
    rmSync(aside, { force: true })
    const why = cause instanceof Error ? cause.message : String(cause)
    const advice = 'no key was made; make the file writable, or start callgate at a terminal'
    throw new DataFileError(
      path,
      `the keys of the first start cannot be written: ${why}; ${advice}`,
    )
  }
}

const heading =
  '# API keys made by the first start of callgate. Store them safely, then delete this file.\n'

/** A command line that puts the sandbox's key from the file into the header of a call. */
export function keyFromFile(path: string): string {
  return `$(sed -n 's/^${sandboxAccountId}: //p' '${path.replaceAll("'", "'\\''")}')`
}
