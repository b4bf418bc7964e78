#!/usr/bin/env node
/** The command line: one table of commands, and what an error means for the exit code. */
import { Command, CommanderError } from 'commander'
import { addAccounts } from './commands/accounts.js'
import { addCheck } from './commands/check.js'
import { type AddCommand, CommandFailure, type Terminal } from './commands/command.js'
import { addFakeVendor } from './commands/fake-vendor.js'
import { addImport } from './commands/import.js'
import { addKeys } from './commands/keys.js'
import { addProjects } from './commands/projects.js'
import { addServe } from './commands/serve.js'
import { addWarm } from './commands/warm.js'
import { AppError, DataFileError } from './errors.js'
import { SettingsError } from './load-settings.js'
import { version } from './version.js'

const commands: readonly AddCommand[] = [
  addServe,
  addCheck,
  addImport,
  addAccounts,
  addKeys,
  addProjects,
  addWarm,
  addFakeVendor,
]

const terminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  note: (text) => void process.stderr.write(text),
  interactive: process.stderr.isTTY === true,
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
      '  callgate serve                                        start; prints keys and a curl line\n' +
      '  callgate check 212-555-0106 --kind ai                 judge one call, explained\n' +
      '  callgate import numbering nanpa.zip cnac.zip          know every prefix\n' +
      '  callgate import list us-dnc registry.txt              load the national registry\n' +
      '\nSettings are in config/callgate.yaml and CALLGATE_* variables; docs/settings.md lists them.\n',
  )

for (const add of commands) add(program, terminal)

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
