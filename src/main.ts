#!/usr/bin/env node
/** The command line: one table of commands, and what an error means for the exit code. */
import { Command, CommanderError } from 'commander'
import { type AddCommand, CommandFailure, type Terminal } from './commands/command.js'
import { namedCommand } from './commands/named-command.js'
import { AppError, DataFileError } from './errors.js'
import { SettingsError } from './load-settings.js'
import { version } from './version.js'

/** Loaded when it is wanted: what the service needs makes no other command slow to start. */
const commands: ReadonlyMap<string, () => Promise<AddCommand>> = new Map([
  ['serve', async () => (await import('./commands/serve.js')).addServe],
  ['check', async () => (await import('./commands/check.js')).addCheck],
  ['import', async () => (await import('./commands/import.js')).addImport],
  ['lists', async () => (await import('./commands/lists.js')).addLists],
  ['accounts', async () => (await import('./commands/accounts.js')).addAccounts],
  ['keys', async () => (await import('./commands/keys.js')).addKeys],
  ['projects', async () => (await import('./commands/projects.js')).addProjects],
  ['records', async () => (await import('./commands/records.js')).addRecords],
  ['clock', async () => (await import('./commands/clock.js')).addClock],
  ['warm', async () => (await import('./commands/warm.js')).addWarm],
  ['compare', async () => (await import('./commands/compare.js')).addCompare],
  ['fake-vendor', async () => (await import('./commands/fake-vendor.js')).addFakeVendor],
])

// What callgate makes holds telephone numbers and secrets: for its user alone.
process.umask(0o077)

const terminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  note: (text) => void process.stderr.write(text),
  interactive: process.stderr.isTTY === true,
}

/** A reader that has seen enough, as in `callgate lists | head`, is no failure. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

const program = new Command('callgate')
  .description('May this number be called now? A call gate and telephone-compliance service.')
  .version(version)
  .option('--config <file>', 'settings file (default: config/callgate.yaml)')
  .showHelpAfterError('(callgate --help tells more)')
  .exitOverride()
  .addHelpText(
    'after',
    '\nFirst steps:\n' +
      '  callgate serve                                        start; makes keys, shows a curl line\n' +
      '  callgate check 212-555-0106 --kind ai                 judge one call, explained\n' +
      '  callgate import numbering nanpa.zip cnac.zip          know every prefix\n' +
      '  callgate import us-dnc registry.zip                   load the national registry\n' +
      '  callgate lists                                        what is imported, and how old\n' +
      '\nSettings are in config/callgate.yaml and CALLGATE_* variables; docs/settings.md lists them.\n',
  )

const named = commands.get(namedCommand(process.argv.slice(2)) ?? '')
for (const load of named ? [named] : commands.values()) (await load())(program, terminal)

/** What is expected to go wrong says so in words; anything else is a bug and shows where. */
function describeFailure(error: unknown): string {
  if (error instanceof AppError || error instanceof DataFileError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** 0 done, 1 failed, 2 wrong usage or settings; commands may say otherwise. */
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
