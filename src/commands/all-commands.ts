/** The table of commands. */
import type { RegisterCommand } from './command.js'

/**
 * Each command, with its line in the list of commands. Each is loaded only when used, since loading the whole
 * service would slow down small commands.
 */
export const allCommands: readonly (readonly [string, string, () => Promise<RegisterCommand>])[] = [
  [
    'serve',
    'run the gate and the compliance service',
    async () => (await import('./serve/serve.js')).registerServe,
  ],
  [
    'reload',
    'make the running server reload its settings and rules',
    async () => (await import('./reload.js')).registerReload,
  ],
  ['config', 'check the settings', async () => (await import('./config.js')).registerConfig],
  [
    'check',
    'decide whether a call may be placed, without recording it',
    async () => (await import('./check.js')).registerCheck,
  ],
  [
    'rules',
    'show the calling rules of a region on a day, and what differs',
    async () => (await import('./rules/rules.js')).registerRules,
  ],
  [
    'preview',
    'show what decisions about the numbers of a file would be',
    async () => (await import('./preview/preview.js')).registerPreview,
  ],
  [
    'import',
    'import downloaded files as the data of decisions',
    async () => (await import('./import/import.js')).registerImport,
  ],
  [
    'lists',
    'show the imported data, its age, and whether it can be used',
    async () => (await import('./lists/lists.js')).registerLists,
  ],
  [
    'accounts',
    'manage accounts and what each may do',
    async () => (await import('./accounts/accounts.js')).registerAccounts,
  ],
  ['keys', 'manage API keys', async () => (await import('./accounts/keys.js')).registerKeys],
  [
    'sessions',
    'see and end the sessions of the console',
    async () => (await import('./accounts/sessions.js')).registerSessions,
  ],
  [
    'approvals',
    'approve the calls of keys that need a person',
    async () => (await import('./accounts/approvals.js')).registerApprovals,
  ],
  [
    'changes',
    'approve changes that need two people',
    async () => (await import('./accounts/changes.js')).registerChanges,
  ],
  [
    'caller-ids',
    'manage the caller IDs that your calls may use',
    async () => (await import('./accounts/caller-ids.js')).registerCallerIds,
  ],
  [
    'attempts',
    'count calls and texts of other systems',
    async () => (await import('./accounts/attempts.js')).registerAttempts,
  ],
  [
    'permits',
    'keys of permits that SIP edges check',
    async () => (await import('./accounts/permits.js')).registerPermits,
  ],
  [
    'projects',
    'manage projects of an account',
    async () => (await import('./accounts/projects.js')).registerProjects,
  ],
  [
    'records',
    'import and export opt-outs, and relationship and permission records',
    async () => (await import('./records/records.js')).registerRecords,
  ],
  [
    'opt-outs',
    'show what people said when they opted out',
    async () => (await import('./records/opt-outs.js')).registerOptOuts,
  ],
  [
    'number',
    'show all that an account has about one number',
    async () => (await import('./records/number.js')).registerNumber,
  ],
  [
    'erase',
    'erase a person’s number from the records',
    async () => (await import('./erase.js')).registerErase,
  ],
  [
    'audit',
    'show who changed what, and who read about whom',
    async () => (await import('./accounts/audit.js')).registerAudit,
  ],
  [
    'decisions',
    'copy the decisions of a server that is gone to PostgreSQL',
    async () => (await import('./decisions/decisions.js')).registerDecisions,
  ],
  ['report', 'count what was recorded', async () => (await import('./report.js')).registerReport],
  [
    'rehearse',
    're-judge recorded calls under other rules or policy',
    async () => (await import('./rehearse/rehearse.js')).registerRehearse,
  ],
  [
    'evidence',
    're-evaluate records, and compare them with the bills of carriers',
    async () => (await import('./evidence/evidence.js')).registerEvidence,
  ],
  [
    'backup',
    'back up the data folder, also while the server runs',
    async () => (await import('./backup/backup.js')).registerBackup,
  ],
  [
    'restore',
    'restore a backup into an empty or missing folder',
    async () => (await import('./backup/backup.js')).registerRestore,
  ],
  [
    'storage',
    'move the database to PostgreSQL',
    async () => (await import('./storage.js')).registerStorage,
  ],
  [
    'witness',
    'keep the newest heads of the journals of other servers',
    async () => (await import('./witness/witness.js')).registerWitness,
  ],
  [
    'doctor',
    'show what blocks calls or soon will, and what to do',
    async () => (await import('./doctor/doctor.js')).registerDoctor,
  ],
  [
    'clock',
    'compare this machine’s clock with the stored records',
    async () => (await import('./clock.js')).registerClock,
  ],
  [
    'warm',
    'have a running server look up numbers before calls',
    async () => (await import('./warm/warm.js')).registerWarm,
  ],
  [
    'proxy',
    'proxy an AI voice platform and forward only allowed calls',
    async () => (await import('./proxy/proxy.js')).registerProxy,
  ],
  [
    'mcp',
    'give an AI agent the tools of a gate over MCP',
    async () => (await import('./mcp/mcp.js')).registerMcp,
  ],
  [
    'compare',
    'compare the answers of a provider with those of callgate',
    async () => (await import('./compare/compare.js')).registerCompare,
  ],
  [
    'fake-vendor',
    'run a compliance provider for tests',
    async () => (await import('./fake-vendor.js')).registerFakeVendor,
  ],
]
