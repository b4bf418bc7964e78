#!/usr/bin/env node
/** The command line: the table of commands, and the exit code for each kind of error. */
import { Command, CommanderError } from 'commander'
import type { RegisterCommand, Terminal } from './commands/command.js'
import { findCommandName } from './commands/command-name.js'
import { version } from './config/version.js'
import { AppError, DataFileError } from './errors.js'

/**
 * Each command, with its line in the list of commands. It is loaded only when used, since loading the whole
 * service would slow down small commands.
 */
const commands: readonly (readonly [string, string, () => Promise<RegisterCommand>])[] = [
  [
    'serve',
    'run the gate and the compliance service',
    async () => (await import('./commands/serve/serve.js')).registerServe,
  ],
  [
    'reload',
    'let the running server read its settings and rules again',
    async () => (await import('./commands/reload.js')).registerReload,
  ],
  [
    'config',
    'check the settings',
    async () => (await import('./commands/config.js')).registerConfig,
  ],
  [
    'check',
    'decide whether a call may be placed, without recording it',
    async () => (await import('./commands/check.js')).registerCheck,
  ],
  [
    'rules',
    'show the calling rules of a region on a day, and what differs',
    async () => (await import('./commands/rules/rules.js')).registerRules,
  ],
  [
    'preview',
    'show what decisions about the numbers of a file would be',
    async () => (await import('./commands/preview/preview.js')).registerPreview,
  ],
  [
    'import',
    'import downloaded files as the data of decisions',
    async () => (await import('./commands/import/import.js')).registerImport,
  ],
  [
    'lists',
    'show the imported data, its age, and whether it can be used',
    async () => (await import('./commands/lists/lists.js')).registerLists,
  ],
  [
    'accounts',
    'manage accounts and what each may do',
    async () => (await import('./commands/accounts/accounts.js')).registerAccounts,
  ],
  [
    'keys',
    'manage API keys',
    async () => (await import('./commands/accounts/keys.js')).registerKeys,
  ],
  [
    'sessions',
    'see and end the sessions of the console',
    async () => (await import('./commands/accounts/sessions.js')).registerSessions,
  ],
  [
    'approvals',
    'approve the calls of keys that need a person',
    async () => (await import('./commands/accounts/approvals.js')).registerApprovals,
  ],
  [
    'changes',
    'approve changes that need two people',
    async () => (await import('./commands/accounts/changes.js')).registerChanges,
  ],
  [
    'caller-ids',
    'manage the own numbers that calls may show',
    async () => (await import('./commands/accounts/caller-ids.js')).registerCallerIds,
  ],
  [
    'attempts',
    'count calls and texts of other systems',
    async () => (await import('./commands/accounts/attempts.js')).registerAttempts,
  ],
  [
    'permits',
    'keys of permits that SIP edges check',
    async () => (await import('./commands/accounts/permits.js')).registerPermits,
  ],
  [
    'projects',
    'manage projects of an account',
    async () => (await import('./commands/accounts/projects.js')).registerProjects,
  ],
  [
    'records',
    'import and export opt-outs, and relationship and permission records',
    async () => (await import('./commands/records/records.js')).registerRecords,
  ],
  [
    'opt-outs',
    'show what people said when they opted out',
    async () => (await import('./commands/records/opt-outs.js')).registerOptOuts,
  ],
  [
    'number',
    'show all that an account has about one number',
    async () => (await import('./commands/records/number.js')).registerNumber,
  ],
  [
    'erase',
    'take a person’s number out of the records',
    async () => (await import('./commands/erase.js')).registerErase,
  ],
  [
    'audit',
    'show who changed what, and who read about whom',
    async () => (await import('./commands/accounts/audit.js')).registerAudit,
  ],
  [
    'decisions',
    'copy the decisions of a server that is gone to PostgreSQL',
    async () => (await import('./commands/decisions/decisions.js')).registerDecisions,
  ],
  [
    'report',
    'count what was recorded',
    async () => (await import('./commands/report.js')).registerReport,
  ],
  [
    'rehearse',
    're-judge recorded calls under other rules or policy',
    async () => (await import('./commands/rehearse/rehearse.js')).registerRehearse,
  ],
  [
    'evidence',
    'judge records again, and compare them with the bills of carriers',
    async () => (await import('./commands/evidence/evidence.js')).registerEvidence,
  ],
  [
    'backup',
    'back up the data folder, also while the server runs',
    async () => (await import('./commands/backup/backup.js')).registerBackup,
  ],
  [
    'restore',
    'restore a backup into an empty or missing folder',
    async () => (await import('./commands/backup/backup.js')).registerRestore,
  ],
  [
    'storage',
    'move the database to PostgreSQL',
    async () => (await import('./commands/storage.js')).registerStorage,
  ],
  [
    'witness',
    'keep the newest heads of the journals of other servers',
    async () => (await import('./commands/witness/witness.js')).registerWitness,
  ],
  [
    'doctor',
    'show what blocks calls or soon will, and what to do',
    async () => (await import('./commands/doctor/doctor.js')).registerDoctor,
  ],
  [
    'clock',
    'compare this machine’s clock with the stored records',
    async () => (await import('./commands/clock.js')).registerClock,
  ],
  [
    'warm',
    'have a running server look up numbers before calls',
    async () => (await import('./commands/warm/warm.js')).registerWarm,
  ],
  [
    'proxy',
    'stand before an AI voice platform and forward only allowed calls',
    async () => (await import('./commands/proxy/proxy.js')).registerProxy,
  ],
  [
    'mcp',
    'give an AI agent the tools of a gate over MCP',
    async () => (await import('./commands/mcp/mcp.js')).registerMcp,
  ],
  [
    'compare',
    'compare the answers of a provider with those of callgate',
    async () => (await import('./commands/compare/compare.js')).registerCompare,
  ],
  [
    'fake-vendor',
    'run a compliance provider for tests',
    async () => (await import('./commands/fake-vendor.js')).registerFakeVendor,
  ],
]

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

const commandName = findCommandName(process.argv.slice(2))
const named = commands.find(([name]) => name === commandName)
if (named) (await named[2]())(program, terminal)
else for (const [name, summary] of commands) program.command(name).summary(summary)

/** Expected errors show only their message; anything else is a bug and shows its stack. */
function describeFailure(error: unknown): string {
  if (error instanceof AppError || error instanceof DataFileError) return error.message
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
  await program.parseAsync()
} catch (error) {
  process.exitCode = await exitCodeOf(error)
}
