#!/usr/bin/env node
/** The command line: its help, and the exit code for each kind of error. */
import { Command, CommanderError } from 'commander'
import { allCommands } from './commands/all-commands.js'
import type { Terminal } from './commands/command.js'
import { findCommandName } from './commands/command-name.js'
import { version } from './config/version.js'
import { AppError, DataFileError } from './errors.js'
import { raiseFileLimit, readOpenFileLimit } from './runtime/open-file-limit.js'

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
  .option('--person <name>', 'who you are, if several people share a user of the operating system')
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

/** Node.js opens most files of a command at once, and ends with the stack of its own loader if it may not. */
const neededFiles = 512

async function registerCommand(): Promise<void> {
  const commandName = findCommandName(process.argv.slice(2))
  const named = allCommands.find(([name]) => name === commandName)
  if (!named) {
    for (const [name, summary] of allCommands) program.command(name).summary(summary)
    return
  }
  const limit = readOpenFileLimit()
  if (limit >= neededFiles) return (await named[2]())(program, terminal)
  const rule = `this process can open only ${limit} files, and callgate needs ${neededFiles}`
  terminal.note(`callgate: ${rule}; ${raiseFileLimit}\n`)
  throw new CommanderError(2, 'callgate.files', rule)
}

/** Expected errors show only their message; anything else is a bug and shows its stack. */
function describeFailure(error: unknown): string {
  if (error instanceof AppError || error instanceof DataFileError) return error.message
  // A disk that fails, for example.
  if (error instanceof Error && 'syscall' in error) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** 0 success, 1 failure, 2 wrong usage or settings; commands may define other codes. */
async function exitCodeOf(error: unknown): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  // The command that failed has loaded them.
  const { CommandFailure } = await import('./commands/command.js')
  const { SettingsError } = await import('./config/load.js')
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
  await registerCommand()
  await program.parseAsync()
} catch (error) {
  process.exitCode = await exitCodeOf(error)
}
