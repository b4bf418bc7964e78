#!/usr/bin/env node
/** The command line: the table of commands, and the exit code for each kind of error. */
import { Command, CommanderError } from 'commander'
import { CommandFailure, type RegisterCommand, type Terminal } from './commands/command.js'
import { findCommandName } from './commands/command-name.js'
import { SettingsError } from './config/load.js'
import { version } from './config/version.js'
import { AppError, DataFileError } from './errors.js'

/** Each command is loaded only when used, since loading the whole service would slow down small commands. */
const commands: ReadonlyMap<string, () => Promise<RegisterCommand>> = new Map([
  ['serve', async () => (await import('./commands/serve/serve.js')).registerServe],
  ['reload', async () => (await import('./commands/reload.js')).registerReload],
  ['config', async () => (await import('./commands/config.js')).registerConfig],
  ['check', async () => (await import('./commands/check.js')).registerCheck],
  ['preview', async () => (await import('./commands/preview/preview.js')).registerPreview],
  ['import', async () => (await import('./commands/import/import.js')).registerImport],
  ['lists', async () => (await import('./commands/lists/lists.js')).registerLists],
  ['accounts', async () => (await import('./commands/accounts/accounts.js')).registerAccounts],
  ['keys', async () => (await import('./commands/accounts/keys.js')).registerKeys],
  ['projects', async () => (await import('./commands/accounts/projects.js')).registerProjects],
  ['records', async () => (await import('./commands/records/records.js')).registerRecords],
  ['erase', async () => (await import('./commands/erase.js')).registerErase],
  ['report', async () => (await import('./commands/report.js')).registerReport],
  ['backup', async () => (await import('./commands/backup/backup.js')).registerBackup],
  ['restore', async () => (await import('./commands/backup/backup.js')).registerRestore],
  ['doctor', async () => (await import('./commands/doctor/doctor.js')).registerDoctor],
  ['clock', async () => (await import('./commands/clock.js')).registerClock],
  ['warm', async () => (await import('./commands/warm/warm.js')).registerWarm],
  ['compare', async () => (await import('./commands/compare/compare.js')).registerCompare],
  ['fake-vendor', async () => (await import('./commands/fake-vendor.js')).registerFakeVendor],
])

// The files that callgate creates contain telephone numbers and secrets, so only its user may read them.
process.umask(0o077)

const terminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  note: (text) => void process.stderr.write(text),
  interactive: process.stderr.isTTY === true,
}

/** A reader that stops early, as in `callgate lists | head`, is not an error. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

const program = new Command('callgate')
  .description('May this number be called now? A call gate and telephone-compliance service.')
  .version(version)
  .option('--config <file>', 'settings file (default: config/callgate.yaml)')
  .showHelpAfterError('(see callgate --help)')
  .exitOverride()
  .addHelpText(
    'after',
    '\nFirst steps:\n' +
      '  callgate serve                                        start the server; the first start creates API keys\n' +
      '  callgate check 212-555-0106 --kind ai                 decide on one call, with reasons\n' +
      '  callgate import numbering nanpa.zip cnac.zip          import all prefixes\n' +
      '  callgate import us-dnc registry.zip                   import the national registry\n' +
      '  callgate lists                                        show the imported data and its age\n' +
      '  callgate doctor                                       show what would block calls, and what to do\n' +
      '\nSettings are in config/callgate.yaml and CALLGATE_* variables; docs/settings.md lists them.\n',
  )

const named = commands.get(findCommandName(process.argv.slice(2)) ?? '')
for (const load of named ? [named] : commands.values()) (await load())(program, terminal)

/** Expected errors show only their message; anything else is a bug and shows its stack. */
function describeFailure(error: unknown): string {
  if (error instanceof AppError || error instanceof DataFileError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** 0 success, 1 failure, 2 wrong usage or settings; commands may define other codes. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof CommandFailure) {
    if (error.message !== '') terminal.note(`callgate: ${error.message}\n`)
    return error.exitCode
  }
  if (error instanceof SettingsError) {
    terminal.note(`callgate: ${error.message}\n`)
    return 2
  }
  terminal.note(`callgate: ${describeFailure(error)}\n`)
  return 1
}

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
}
