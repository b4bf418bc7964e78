/** `callgate backup` and `callgate restore`: a data folder, copied while it is in use, and brought back. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { create, extract } from 'tar'
import { resolveLastBackupPath } from '../../app/data-folders.js'
import type { Settings } from '../../config/settings.js'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { ensureFolder, syncFile, syncFolder } from '../../runtime/folders.js'
import { markInitialized } from '../../storage/database-files.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from '../command.js'
import { type BackupManifest, syncTree, verifyBackup, writeBackup } from './backup-folder.js'

export const registerBackup: RegisterCommand = (program, terminal) => {
  const backup = program
    .command('backup')
    .description(
      'copy the data folder, also while the server runs: database, journal, lists, numbering, facts, settings',
    )
    .argument('<target>', 'a folder that does not exist yet, or a file that ends with .tgz')
    .option('--with-secrets', 'also copy the key that signs permits')
    .action(async (target: string, { withSecrets }: BackupOptions, command: Command) => {
      const settings = loadCommandSettings(command)
      const manifest = await createBackup(settings, resolve(target), withSecrets === true)
      terminal.out(`${describeBackup(manifest)}  in ${target}\n`)
    })
  backup
    .command('verify')
    .description('check every file, page and record of a backup')
    .argument('<backup>', 'the folder, or the .tgz file')
    .action(async (path: string) => {
      const manifest = await withBackupFolder(resolve(path), verifyBackup)
      terminal.out(`${describeBackup(manifest)}  every file is as it was written\n`)
    })
}

export const registerRestore: RegisterCommand = (program, terminal) => {
  program
    .command('restore')
    .description('bring a backup back into the empty folder that CALLGATE_DATA_DIR names')
    .argument('<backup>', 'the folder, or the .tgz file')
    .action(async (path: string, _options, command: Command) => {
      const { dataDir } = loadCommandSettings(command)
      requireEmptyFolder(dataDir)
      const manifest = await withBackupFolder(resolve(path), async (folder) => {
        const verified = await verifyBackup(folder)
        restoreFolder(folder, dataDir)
        return verified
      })
      terminal.out(`${describeBackup(manifest)}  restored to ${dataDir}\n`)
      terminal.note(
        `What was stored after ${manifest.at} is lost. Before you place calls, add the opt-outs since then ` +
          'again: your dialer, your web forms and the receivers of your webhooks have them.\n' +
          'The settings of the backup are in the folder settings; they are not in use.\n' +
          (manifest.hasSecrets
            ? ''
            : 'The key of permits is not in the backup; a new one is made.\n'),
      )
    })
}

interface BackupOptions {
  readonly withSecrets?: true
}

const isArchive = (path: string): boolean => path.endsWith('.tgz')

/** Leaves nothing behind if it fails. */
async function createBackup(
  settings: Settings,
  target: string,
  withSecrets: boolean,
): Promise<BackupManifest> {
  if (existsSync(target)) {
    throw new CommandFailure(`'${target}': exists already; name a new folder or .tgz file`, 2)
  }
  ensureFolder(dirname(target))
  const partial = `${target}.partial`
  rmSync(partial, { recursive: true, force: true })
  // For an archive beside the data, so that its files can be linked and take no space.
  const folder = isArchive(target) ? mkdtempSync(join(settings.dataDir, '.backup-')) : partial
  try {
    ensureFolder(folder)
    const manifest = await writeBackup(settings, folder, { withSecrets })
    if (isArchive(target)) {
      await create({ gzip: true, cwd: folder, file: partial, mode: 0o600 }, readdirSync(folder))
      syncFile(partial)
    }
    renameSync(partial, target)
    syncFolder(dirname(target))
    writeFileSync(resolveLastBackupPath(settings), `${manifest.at} ${target}\n`)
    return manifest
  } catch (cause) {
    rmSync(partial, { recursive: true, force: true })
    if (cause instanceof DataFileError) throw cause
    throw new CommandFailure(
      `the backup failed, and nothing is left of it: ${getErrorMessage(cause)}`,
    )
  } finally {
    if (folder !== partial) rmSync(folder, { recursive: true, force: true })
  }
}

/** An archive is unpacked beside itself and removed again. */
async function withBackupFolder<Result>(
  path: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  if (!existsSync(path)) throw new CommandFailure(`'${path}': there is no such backup`, 2)
  if (!isArchive(path)) return await work(path)
  const folder = mkdtempSync(`${path}.unpacked-`)
  try {
    try {
      await extract({ file: path, cwd: folder, strict: true, preserveOwner: false })
    } catch (cause) {
      throw new DataFileError(path, `cannot be unpacked: ${getErrorMessage(cause)}`, cause)
    }
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function requireEmptyFolder(dataDir: string): void {
  ensureFolder(dataDir)
  // A volume that was just made has this one.
  const [first] = readdirSync(dataDir).filter((name) => name !== 'lost+found')
  if (first === undefined) return
  const rule =
    'must be an empty folder, so that no data is lost; name another one with CALLGATE_DATA_DIR'
  throw new CommandFailure(`dataDir '${dataDir}': ${rule} (it holds ${first})`, 2)
}

/**
 * A server does not start between the first and the last step: the folder then says that it has held a
 * database, and has none.
 */
function restoreFolder(folder: string, dataDir: string): void {
  const partial = join(dataDir, '.restoring')
  try {
    markInitialized(dataDir)
    mkdirSync(partial)
    cpSync(folder, partial, { recursive: true })
    syncTree(partial)
    const names = readdirSync(partial).filter((name) => name !== 'manifest.json')
    const last = 'callgate.sqlite'
    for (const name of [...names.filter((one) => one !== last), last]) {
      renameSync(join(partial, name), join(dataDir, name))
    }
    syncFolder(dataDir)
    rmSync(partial, { recursive: true })
  } catch (cause) {
    for (const name of readdirSync(dataDir)) {
      if (name !== 'lost+found') rmSync(join(dataDir, name), { recursive: true, force: true })
    }
    throw new CommandFailure(
      `dataDir '${dataDir}': the backup could not be restored, and the folder is empty again: ` +
        getErrorMessage(cause),
    )
  }
}

function describeBackup({ at, version, database, journal, files }: BackupManifest): string {
  const { rows } = database
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const records = journal.lastSeq === 0 ? 0 : journal.lastSeq - journal.firstSeq + 1
  return (
    `backup of ${at}, by callgate ${version}\n` +
    `  ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB\n` +
    `  ${rows.internal_dnc} opt-outs, ${rows.ebr_records} consents and relationships, ` +
    `${rows.accounts} accounts, ${rows.api_keys} keys\n` +
    `  ${records} records of decisions\n`
  )
}
