/** `callgate backup` and `callgate restore`: a data folder, copied while it is in use, and brought back. */
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { formatGivenSettings } from '../../config/load.js'
import { findConfigOption, loadCommandSettings, type RegisterCommand } from '../command.js'
import type { BackupManifest } from './manifest.js'
import { restoreBackup, verifyBackup } from './restore-backup.js'
import { createBackup, findUnfinished } from './write-backup.js'

export const registerBackup: RegisterCommand = (program, terminal) => {
  const backup = program
    .command('backup')
    .description(
      'copy database, journal, lists, numbering, facts and settings, also while the server runs',
    )
    .argument('<target>', 'a new or empty folder, or a new file that ends with .tgz')
    .option('--with-secrets', 'also copy the permit key, webhook secrets and provider credentials')
    .action(async (target: string, options: { withSecrets?: true }, command: Command) => {
      const settings = loadCommandSettings(command)
      const withSecrets = options.withSecrets === true
      for (const path of findUnfinished(dirname(resolve(target)))) {
        terminal.note(
          `${path}: left by a backup or a check that was killed; remove it, unless one is running\n`,
        )
      }
      const manifest = await createBackup(settings, resolve(target), {
        withSecrets,
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
    .action(async (path: string) => {
      const manifest = await verifyBackup(resolve(path))
      terminal.out(`${path}: ${describe(manifest)}  every file is as it was written\n`)
    })
}

export const registerRestore: RegisterCommand = (program, terminal) => {
  program
    .command('restore')
    .description('restore a backup into the empty or missing folder that CALLGATE_DATA_DIR names')
    .argument('<backup>', 'the folder, or the .tgz file')
    .action(async (path: string, _options, command: Command) => {
      const { dataDir } = loadCommandSettings(command)
      const manifest = await restoreBackup(resolve(path), dataDir)
      terminal.out(`${dataDir}: restored ${describe(manifest)}`)
      terminal.note(describeLoss(manifest, dataDir))
    })
}

function describe({ at, version, database, journal, hasSecrets, files }: BackupManifest): string {
  const { rows } = database
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  return (
    `backup of ${at} by callgate ${version}\n` +
    `  ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB, ${hasSecrets ? 'with' : 'without'} secrets\n` +
    `  ${rows.internal_dnc} opt-outs, ${rows.ebr_records} consents and relationships, ` +
    `${rows.accounts} accounts, ${rows.projects} projects, ${rows.api_keys} keys\n` +
    `  ${journal.lastSeq - journal.firstSeq + 1} records of decisions and calls, up to number ${journal.lastSeq}\n`
  )
}

function describeLoss({ at, hasSecrets }: BackupManifest, dataDir: string): string {
  const secrets = 'The backup has no secrets: new permit keys and webhook secrets will be made.\n'
  return (
    `What was stored after ${at} is not in the backup. Before you place calls, add the opt-outs since then ` +
    'again: your dialer, your web forms and the receivers of your webhooks have them.\n' +
    `The settings of the backup are in ${dataDir}/settings; they are not in use.\n` +
    (hasSecrets ? '' : secrets)
  )
}
