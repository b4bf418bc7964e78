/** `callgate compare`: puts the same questions to a provider and to this callgate, and shows what differs. */
import type { Command } from 'commander'
import { type Callgate, openCallgate } from '../compose.js'
import { providerOptions } from '../compose-remote.js'
import type { ProviderSettings, Settings } from '../config.js'
import { parseInstant } from '../domain/clock.js'
import { type QuestionName, questionNames } from '../domain/compliance.js'
import { ProviderRows } from '../sources/remote/provider-rows.js'
import { realWorld } from '../world.js'
import { type AddCommand, CommandFailure, settingsFor, type Terminal } from './command.js'
import { openDifferenceFile } from './compare-file.js'
import { type AskedNumber, type Asking, listedNumbers, recordedNumbers } from './compare-numbers.js'
import { OwnRows } from './compare-own.js'
import { ComparisonReport, counted } from './compare-report.js'
import { Comparison } from './comparison.js'
import { requireAccount } from './foundation.js'

interface CompareOptions extends Asking {
  readonly with: string
  readonly recorded?: string
  readonly account?: string
  readonly at?: string
  readonly only?: string
  readonly out?: string
  readonly exitCode?: boolean
}

/** The exit code of differences under `--exit-code`, apart from those of failures. */
const differsExitCode = 3

export const addCompare: AddCommand = (program, terminal) => {
  program
    .command('compare')
    .description('ask a provider and this callgate the same, and show what differs')
    .argument('[file]', 'text, .gz or .zip: a number a line, or CSV with number and postal columns')
    .requiredOption('--with <provider>', 'source.provider.name or source.secondProvider.name')
    .option('--recorded <time>', 'the calls decided in the last 12h, 7d, instead of a file')
    .option('--account <id>', 'whose lists and records answer here (default: gate.account)')
    .option('--project <id>', 'project of the numbers in the file')
    .option('--campaign <id>', 'campaign of the numbers in the file')
    .option('--at <instant>', 'of the calling hours, such as 2026-11-23T17:00:00Z (default: now)')
    .option('--only <questions>', `some of ${questionNames.join(',')}`)
    .option('--out <csv>', 'every differing field of every number; a new file')
    .option('--exit-code', `end with ${differsExitCode} when anything differs`)
    .addHelpText('after', helpText)
    .action(async (file: string | undefined, options: CompareOptions, command: Command) => {
      const report = await compare(file, options, { settings: settingsFor(command), terminal })
      terminal.out(report.text())
      if (report.missing > 0) {
        const missing = counted(report.missing, 'missing answer')
        throw new CommandFailure(`not compared: ${missing}`)
      }
      if (options.exitCode && report.differs) throw new CommandFailure('', differsExitCode)
    })
}

const helpText =
  '\nNothing is stored on either side. The provider is asked within the limits of its settings, and may\n' +
  'charge for every number. It need not be the source of the running server: give its settings to this\n' +
  'command alone, as variables.\n' +
  'Ends with 1 when answers are missing on either side.\n' +
  '\nExample:\n' +
  '  CALLGATE_SOURCE_KIND=remote CALLGATE_SOURCE_PROVIDER_NAME=acme \\\n' +
  '  CALLGATE_SOURCE_PROVIDER_BASE_URL=https://api.example.com \\\n' +
  '  CALLGATE_SOURCE_PROVIDER_LOGIN_ID_FILE=/etc/callgate/acme-key \\\n' +
  '    callgate compare leads.csv --with acme --out differences.csv\n'

interface Surroundings {
  readonly settings: Settings
  readonly terminal: Terminal
}

async function compare(
  file: string | undefined,
  options: CompareOptions,
  { settings, terminal }: Surroundings,
): Promise<ComparisonReport> {
  const which = providerNamed(options.with, settings)
  const names = questionsOf(options.only)
  const at = instantOf(options.at)
  // The service in this process answers here, whoever answers the running server.
  const embedded = { ...settings, source: { ...settings.source, kind: 'embedded' as const } }
  const callgate = await openCallgate(embedded, { ...realWorld, processMetrics: false })
  try {
    const accountId = options.account ?? settings.gate.account
    await requireAccount(callgate, accountId)
    const numbers = await numbersOf(file, options, { callgate, accountId, terminal })
    const provider = openProvider(which, settings, callgate)
    const own = new OwnRows(callgate)
    terminal.out(
      `${options.with} and account ${accountId} of this callgate\nhere: ${own.data()}\n\n`,
    )
    const out = options.out === undefined ? undefined : openDifferenceFile(options.out)
    try {
      const report = new ComparisonReport(options.with, names)
      const comparison = new Comparison({
        ...{ provider, own, report, out, names, accountId },
        at: at ?? callgate.data.sandbox.clockOf(accountId).now(),
        numbersAtOnce: numbersAtOnce(settings.source[which], names),
      })
      await comparison.run(numbers, terminal)
      return report
    } finally {
      out?.close()
      await provider.close()
    }
  } finally {
    await callgate.close()
  }
}

function providerNamed(name: string, { source }: Settings): 'provider' | 'secondProvider' {
  const known = (['provider', 'secondProvider'] as const).filter(
    (which) => source[which].baseUrl !== undefined,
  )
  const found = known.find((which) => source[which].name === name)
  if (found) return found
  const names = known.map((which) => `'${source[which].name}'`).join(', ')
  const rule = names === '' ? 'set source.provider.baseUrl first' : `the settings have ${names}`
  throw new CommandFailure(`--with '${name}': unknown provider; ${rule}`, 2)
}

function questionsOf(text: string | undefined): readonly QuestionName[] {
  if (text === undefined) return questionNames
  const wanted = new Set(text.split(',').map((word) => word.trim().toLowerCase()))
  const found = questionNames.filter((name) => wanted.delete(name))
  const [unknown] = wanted
  if (unknown === undefined) return found
  throw new CommandFailure(
    `--only '${unknown}': must be one or more of ${questionNames.join(', ')}`,
    2,
  )
}

function instantOf(text: string | undefined): number | undefined {
  const at = text === undefined ? undefined : parseInstant(text)
  if (text === undefined || at !== undefined) return at
  throw new CommandFailure(`--at '${text}': must be an instant such as 2026-11-23T17:00:00Z`, 2)
}

async function numbersOf(
  file: string | undefined,
  options: CompareOptions,
  about: { readonly callgate: Callgate; readonly accountId: string; readonly terminal: Terminal },
): Promise<readonly AskedNumber[]> {
  const { recorded } = options
  if ((file === undefined) === (recorded === undefined)) {
    throw new CommandFailure('either a <file> of numbers or --recorded <time> is needed', 2)
  }
  if (file !== undefined) return await listedNumbers(file, options, about)
  return await recordedNumbers(recorded ?? '', about)
}

/** Longer than a call could wait: a provider that says 'in a minute' is still asked again. */
const patienceMs = 120_000
const maxNumbersAtOnce = 2_000

/** What the provider's limits let through in half a minute, so that no answer is waited for in vain. */
function numbersAtOnce(provider: ProviderSettings, names: readonly QuestionName[]): number {
  const limits = {
    scrub: provider.scrub,
    'internal-dnc': provider.internalDnc,
    litigator: provider.litigator,
    'legal-time': provider.legalTime,
  }
  const inHalfAMinute = names.map((name) => {
    const { requestsPerMinute, numbersPerRequest } = limits[name]
    return (requestsPerMinute * numbersPerRequest) / 2
  })
  return Math.max(1, Math.floor(Math.min(maxNumbersAtOnce, provider.maxQueued, ...inHalfAMinute)))
}

function openProvider(
  which: 'provider' | 'secondProvider',
  settings: Settings,
  { metrics }: Callgate,
): ProviderRows {
  const options = providerOptions(settings, which, { world: realWorld, metrics })
  const questions = Object.fromEntries(
    questionNames.map((name) => [name, { ...options.questions[name], deadlineMs: patienceMs }]),
  ) as typeof options.questions
  return new ProviderRows({ ...options, questions })
}
