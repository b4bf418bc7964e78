/** `callgate backup` and `callgate restore`: a data folder, copied while it is in use, and brought back. */
import { dirname, join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { formatGivenSettings } from '../../config/load.js'
import type { Settings } from '../../config/settings.js'
import type { VerifierKey } from '../../transparency/signed-note.js'
import {
  CommandFailure,
  findConfigOption,
  loadCommandSettings,
  type RegisterCommand,
} from '../command.js'
import { describeNewOrigin } from '../evidence/new-origin.js'
import { parseKey } from '../evidence/verify.js'
import { countLoss, describeCounts } from './loss.js'
import type { BackupManifest } from './manifest.js'
import { restoreBackup, verifyBackup } from './restore-backup.js'
import { restoreDatabase } from './stored-database.js'
import { createBackup, findUnfinished } from './write-backup.js'

interface BackupFlags {
  readonly withSecrets?: boolean
  readonly withoutDecisions?: boolean
}

export const registerBackup: RegisterCommand = (program, terminal) => {
  const backup = program
    .command('backup')
    .description(
      'copy database, journal, lists, numbering, facts and settings, also while the server runs',
    )
    .argument('<target>', 'a new or empty folder, or a new file that ends with .tgz')
    .option('--with-secrets', 'also copy the permit key, webhook secrets and provider credentials')
    .option('--without-decisions', 'with PostgreSQL: leave out the decisions that are stored there')
    .action(async (target: string, options: BackupFlags, command: Command) => {
      const settings = loadCommandSettings(command)
      const { withSecrets = false, withoutDecisions = false } = options
      if (withoutDecisions) requirePostgres(settings, '--without-decisions')
      for (const path of findUnfinished(dirname(resolve(target)))) {
        terminal.note(
          `${path}: left by a backup or a check that was killed; remove it, unless one is running\n`,
        )
      }
      const manifest = await createBackup(settings, resolve(target), {
        withSecrets,
        withDecisions: !withoutDecisions,
        settingsText: formatGivenSettings({ file: findConfigOption(command) }, { withSecrets }),
      })
      terminal.out(`${target}: ${describe(manifest)}`)
    })
  backup
    .command('verify')
    .description(
      'check every file, database page and record of a backup; exit code 1 if it is damaged',
    )
    .argument('<backup>', 'the folder, or the .tgz file')
    .option('--key <key>', keyHelp)
    .action(async (path: string, { key }: { readonly key?: string }) => {
      const manifest = await verifyBackup(resolve(path), readKey(key))
      terminal.out(`${path}: ${describe(manifest)}  every file is as it was written\n`)
    })
  backup
    .command('loss')
    .description(
      'count the opt-outs, consents and decisions of this server that are not in a backup, and that restoring it would lose',
    )
    .argument('<backup>', 'the folder, or the .tgz file')
    .option('--key <key>', keyHelp)
    .action(async (path: string, { key }: { readonly key?: string }, command: Command) => {
      const settings = loadCommandSettings(command)
      let counts = ''
      const count = async (folder: string, manifest: BackupManifest) => {
        counts = describeCounts(await countLoss(settings, folder, manifest))
      }
      const { at } = await verifyBackup(resolve(path), readKey(key), count)
      terminal.out(`${path}: backup of ${at}; restoring it loses what was stored since:\n${counts}`)
    })
}

const keyHelp =
  'the verifier key of the journal, as you noted it before (default: the key in the backup, which anyone who edits the backup can replace)'
const readKey = (key: string | undefined) =>
  key === undefined ? undefined : parseKey('--key', key)
const noKeyNote =
  'No key was given (--key): the key in the backup was used, which anyone who can write to the backup could have replaced.\n'

export const registerRestore: RegisterCommand = (program, terminal) => {
  program
    .command('restore')
    .description(
      'restore a backup into the empty or missing folder that CALLGATE_DATA_DIR names, and into the empty ' +
        'database of storage.url, if there is one',
    )
    .argument('<backup>', 'the folder, or the .tgz file')
    .addOption(
      new Option('--only <part>', 'with PostgreSQL: restore just one of the two').choices([
        'database',
        'folder',
      ]),
    )
    .option('--key <key>', keyHelp)
    .action(async (path: string, { only, key }: RestoreFlags, command: Command) => {
      const settings = loadCommandSettings(command)
      if (only !== undefined) requirePostgres(settings, '--only')
      const manifest = await restore(settings, resolve(path), { only, key: readKey(key) })
      const { dataDir } = settings
      const name = only === 'database' ? `${settings.storage.url}` : dataDir
      terminal.out(`${name}: restored ${describe(manifest)}`)
      terminal.note(describeLoss(manifest, settings, only))
      if (key === undefined) terminal.note(noKeyNote)
    })
}

type RestoredPart = 'database' | 'folder'

interface RestoreFlags {
  readonly only?: RestoredPart
  readonly key?: string
}

async function restore(
  settings: Settings,
  path: string,
  { only, key }: { readonly only: RestoredPart | undefined; readonly key: VerifierKey | undefined },
): Promise<BackupManifest> {
  const { dataDir, storage } = settings
  const { signingKeyFile } = settings.journal
  const restoreStored = (folder: string) => restoreDatabase(settings, folder)
  if (storage.engine === 'sqlite')
    return await restoreBackup(path, { dataDir, key, signingKeyFile, hasDatabase: true })
  if (only === 'database') return await verifyBackup(path, key, restoreStored)
  return await restoreBackup(path, {
    dataDir,
    key,
    signingKeyFile,
    hasDatabase: false,
    ...(only === undefined && { restoreOthers: restoreStored }),
  })
}

function requirePostgres({ storage }: Settings, option: string): void {
  if (storage.engine === 'postgres') return
  throw new CommandFailure(
    `${option}: is for storage.engine postgres, but it is sqlite, where everything is in the data folder`,
    2,
  )
}

function describe(manifest: BackupManifest): string {
  const { at, version, database, journal, isSigned, storedDecisions, hasSecrets, files } = manifest
  const { rows } = database
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  return (
    `backup of ${at} by callgate ${version}\n` +
    `  ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB, ${hasSecrets ? 'with' : 'without'} secrets\n` +
    `  ${rows.internal_dnc} opt-outs, ${rows.ebr_records} consents and relationships, ` +
    `${rows.accounts} accounts, ${rows.projects} projects, ${rows.api_keys} keys\n` +
    `  ${journal.lastSeq - journal.firstSeq + 1} records of decisions and calls, up to number ${journal.lastSeq}\n` +
    (isSigned ? '' : '  not signed, since the journal has no key yet\n') +
    (storedDecisions === undefined ? '' : `  ${storedDecisions} decisions of all servers\n`)
  )
}

function describeLoss(
  { at, hasSecrets, storedDecisions }: BackupManifest,
  { dataDir, storage }: Settings,
  only: RestoredPart | undefined,
): string {
  const origin = describeNewOrigin(join(dataDir, 'journal'))
  if (only === 'folder') return origin + describeSettings(dataDir)
  const secrets = 'The backup has no secrets: new permit keys and webhook secrets will be made.\n'
  const left =
    'The decisions of other servers in it were not restored: they need storage.engine postgres.\n'
  return (
    `What was stored after ${at} is not in the backup. Before you place calls, add the opt-outs since then ` +
    'again: your dialer, your web forms and the receivers of your webhooks have them.\n' +
    (only === 'database' ? '' : origin + describeSettings(dataDir)) +
    (storage.engine === 'sqlite' && storedDecisions !== undefined ? left : '') +
    (hasSecrets ? '' : secrets)
  )
}

const describeSettings = (dataDir: string) =>
  `The settings of the backup are in ${dataDir}/settings; they are not in use.\n`
