/** `callgate compare`: asks a provider and this callgate the same questions and shows the differences. */
import type { Command } from 'commander'
import { type Callgate, openCallgate } from '../../app/callgate.js'
import { hasLoginRight } from '../../app/provider-credentials.js'
import { createProviderOptions } from '../../app/remote-stack.js'
import type { Settings } from '../../config/settings.js'
import { mainAccountId, sandboxAccountId } from '../../domain/caller.js'
import { type QuestionName, questionNames } from '../../domain/compliance.js'
import { describeSaid } from '../../domain/words/words.js'
import { isPresent } from '../../runtime/folders.js'
import { nodeRuntime } from '../../runtime/runtime.js'
import { sayNoLogin } from '../../sources/remote/account-logins.js'
import { RawRowClient } from '../../sources/remote/raw-row-client.js'
import { findDatabaseEvidence, resolveDatabasePath } from '../../storage/database-files.js'
import { requireAccount } from '../account-command.js'
import {
  CommandFailure,
  loadCommandSettings,
  type RegisterCommand,
  type Terminal,
} from '../command.js'
import { formatCount } from '../format.js'
import { columnOption } from '../import/table-options.js'
import { numbersFileColumns } from '../numbers-file.js'
import { parseInstantOption, parseWords } from '../option-values.js'
import {
  type ComparedNumber,
  type ComparisonScope,
  readListedNumbers,
  readRecordedNumbers,
} from './compared-numbers.js'
import { compareNumbers } from './comparison.js'
import { ComparisonReport } from './comparison-report.js'
import { openDifferenceFile } from './difference-file.js'
import { OwnRows } from './own-rows.js'

interface CompareOptions extends ComparisonScope {
  readonly with: string
  readonly recorded?: string
  readonly account?: string
  readonly at?: string
  readonly only?: string
  readonly out?: string
  readonly exitCode?: boolean
}

/** The exit code of differences with `--exit-code`; distinct from those of failures. */
const differsExitCode = 3

export const registerCompare: RegisterCommand = (program, terminal) => {
  program
    .command('compare')
    .description('ask a provider and this callgate the same questions and show the differences')
    .argument(
      '[file]',
      'text, .gz or .zip: one number per line, or CSV with number and postal columns',
    )
    .requiredOption('--with <provider>', 'source.provider.name or source.secondProvider.name')
    .addOption(columnOption(numbersFileColumns))
    .option('--recorded <time>', 'instead of a file: the calls decided in the last 30m, 12h or 7d')
    .option(
      '--account <id>',
      'account whose lists and records are used here (default: gate.account)',
    )
    .option('--project <id>', 'project of the numbers in the file')
    .option('--campaign <id>', 'campaign of the numbers in the file')
    .option('--at <instant>', 'time for calling hours, such as 2026-11-23T17:00:00Z (default: now)')
    .option('--only <questions>', `one or more of ${questionNames.join(',')}`)
    .option('--out <csv>', 'new file for every differing field of every number')
    .option('--exit-code', `exit with ${differsExitCode} when anything differs`)
    .addHelpText('after', helpText)
    .action(async (file: string | undefined, options: CompareOptions, command: Command) => {
      const report = await compare(file, options, {
        settings: loadCommandSettings(command),
        terminal,
      })
      terminal.out(report.text())
      if (report.missing > 0) {
        const missing = formatCount(report.missing, 'missing answer')
        throw new CommandFailure(`not compared: ${missing}`)
      }
      if (options.exitCode && report.hasDifferences) throw new CommandFailure('', differsExitCode)
    })
}

const helpText =
  '\nNothing is stored on either side. The provider is asked within the limits of its settings and may\n' +
  'charge for every number. It need not be the source of the running server: its settings can be given\n' +
  'to this command alone, as environment variables.\n' +
  'Exits with 1 when answers are missing on either side.\n' +
  '\nExample:\n' +
  '  CALLGATE_SOURCE_KIND=remote CALLGATE_SOURCE_PROVIDER_NAME=acme \\\n' +
  '  CALLGATE_SOURCE_PROVIDER_BASE_URL=https://api.example.com \\\n' +
  '  CALLGATE_SOURCE_PROVIDER_LOGIN_ID_FILE=/etc/callgate/acme-key \\\n' +
  '    callgate compare leads.csv --with acme --out differences.csv\n'

async function compare(
  file: string | undefined,
  options: CompareOptions,
  { settings, terminal }: { readonly settings: Settings; readonly terminal: Terminal },
): Promise<ComparisonReport> {
  const which = findProvider(options.with, settings)
  const names =
    options.only === undefined ? questionNames : parseWords('--only', options.only, questionNames)
  const at = parseInstantOption('--at', options.at)
  requireDatabase(settings)
  // This side always uses the embedded service, even if the running server has a remote source.
  const embedded = { ...settings, source: { ...settings.source, kind: 'embedded' as const } }
  const callgate = await openCallgate(embedded, { ...nodeRuntime, processMetrics: false })
  try {
    const accountId = options.account ?? settings.gate.account
    await requireAccount(callgate, accountId)
    const numbers = await readNumbers(file, options, { callgate, accountId, terminal })
    await requireLogin(which, settings, { callgate, accountId })
    const provider = openProviderRows(which, settings, { callgate, accountId })
    const own = new OwnRows(callgate)
    terminal.out(
      `${options.with} and account ${accountId} of this callgate\nhere: ${own.describeData()}\n\n`,
    )
    const out = options.out === undefined ? undefined : openDifferenceFile(options.out)
    try {
      const report = new ComparisonReport(options.with, names)
      const deps = {
        provider,
        own,
        report,
        out,
        names,
        accountId,
        at: at ?? callgate.viewOf(accountId).clock.now(),
        batchSize: computeBatchSize(settings, which, names),
      }
      await compareNumbers(deps, numbers, terminal)
      return report
    } finally {
      out?.close()
      await provider.close()
    }
  } finally {
    await callgate.close()
  }
}

/** Throws for a folder without a database, since opening it would create an empty one. */
function requireDatabase({ dataDir, storage }: Settings): void {
  const isElsewhere = storage.engine !== 'sqlite'
  if (isElsewhere || isPresent(resolveDatabasePath(dataDir)) || findDatabaseEvidence(dataDir))
    return
  const rule = 'contains no database; set it to the data folder of the callgate to compare'
  throw new CommandFailure(`dataDir '${dataDir}': ${rule}`, 2)
}

function findProvider(name: string, { source }: Settings): 'provider' | 'secondProvider' {
  const known = (['provider', 'secondProvider'] as const).filter(
    (which) => source[which].baseUrl !== undefined,
  )
  const match = known.find((which) => source[which].name === name)
  if (match) return match
  const names = known.map((which) => `'${source[which].name}'`).join(', ')
  const rule = names === '' ? 'set source.provider.baseUrl first' : `the settings have ${names}`
  throw new CommandFailure(`--with '${name}': unknown provider; ${rule}`, 2)
}

async function readNumbers(
  file: string | undefined,
  options: CompareOptions,
  about: { readonly callgate: Callgate; readonly accountId: string; readonly terminal: Terminal },
): Promise<readonly ComparedNumber[]> {
  const { recorded } = options
  if ((file === undefined) === (recorded === undefined)) {
    throw new CommandFailure('either a <file> of numbers or --recorded <time> is required', 2)
  }
  if (file !== undefined) return await readListedNumbers(file, options, about)
  return await readRecordedNumbers(recorded ?? '', about)
}

/** Longer than for a decision, so that a `Retry-After` of a minute can still be honored. */
const providerTimeoutMs = 120_000
const maxBatchSize = 2_000

/** The rows that the provider's limits allow in half a minute, so that no question times out in the queue. */
function computeBatchSize(
  { source, cluster }: Settings,
  which: 'provider' | 'secondProvider',
  names: readonly QuestionName[],
): number {
  const provider = source[which]
  const limits = {
    scrub: provider.scrub,
    'internal-dnc': provider.internalDnc,
    litigator: provider.litigator,
    'legal-time': provider.legalTime,
  }
  const inHalfAMinute = names.map((name) => {
    const { requestsPerMinute, numbersPerRequest } = limits[name]
    return (requestsPerMinute * numbersPerRequest) / 2 / cluster.servers
  })
  return Math.max(1, Math.floor(Math.min(maxBatchSize, provider.maxQueued, ...inHalfAMinute)))
}

/** For the sandbox, the login of account main is used: its numbers are fictional. */
async function requireLogin(
  which: 'provider' | 'secondProvider',
  { source }: Settings,
  { callgate, accountId }: { readonly callgate: Callgate; readonly accountId: string },
): Promise<void> {
  const { name, accounts } = source[which]
  if ([mainAccountId, sandboxAccountId, ...Object.keys(accounts)].includes(accountId)) return
  if (await hasLoginRight(callgate.projects, accountId)) return
  throw new CommandFailure(describeSaid([sayNoLogin({ name, path: `source.${which}` }, accountId)]))
}

function openProviderRows(
  which: 'provider' | 'secondProvider',
  settings: Settings,
  {
    callgate: { metrics, storage },
    accountId,
  }: { readonly callgate: Callgate; readonly accountId: string },
): RawRowClient {
  const runtime = nodeRuntime
  const deps = { runtime, metrics, storage, accountId, getSettings: () => settings }
  const options = createProviderOptions(settings, which, deps)
  const questions = Object.fromEntries(
    questionNames.map((name) => [
      name,
      { ...options.questions[name], deadlineMs: providerTimeoutMs },
    ]),
  ) as typeof options.questions
  return new RawRowClient({ ...options, questions })
}
