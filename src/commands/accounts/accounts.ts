/** `callgate accounts ...`: lists accounts and changes their permissions. */
import { type Command, Option } from 'commander'
import { defaultMaxScrubNumbers, maxScrubNumbers } from '../../domain/caller.js'
import { type CheckName, checkNames } from '../../domain/decision.js'
import type { Pauses } from '../../domain/mandate.js'
import { type Country, countries } from '../../domain/place.js'
import { formatInstant } from '../../domain/time/dates.js'
import {
  type Account,
  type AccountSettings,
  repeatedAddModes,
} from '../../service/accounts/accounts.js'
import { requireAccount, requireOwnAccounts, withAppContext } from '../account-command.js'
import { CommandFailure, formatTable, type RegisterCommand, type Terminal } from '../command.js'
import { createYesNoOption, findUser } from '../option-values.js'

const scrubNumbersRule = `${defaultMaxScrubNumbers} (as published) to ${maxScrubNumbers}`

/** The label of each setting in the output. */
const labels: Readonly<Record<keyof AccountSettings, string>> = {
  country: 'country',
  agentsMayRemove: 'agents may remove numbers',
  mayScan: 'may scan',
  scanCredits: 'scan credits',
  autoPrefix: 'auto prefix',
  repeatedAdd: 'repeated add',
  numbersPerScrub: 'numbers per scrub',
  aiKeepsVoiceWindows: 'AI keeps voice windows',
}

const settingNames = Object.keys(labels) as (keyof AccountSettings)[]

export const registerAccounts: RegisterCommand = (program, terminal) => {
  const group = program.command('accounts').description('manage accounts and what each may do')
  group
    .command('list')
    .description('list the accounts')
    .action((_options, command: Command) =>
      withAppContext(command, async ({ accounts, pauses }) => {
        terminal.out(describeAccounts(await accounts.list(), await pauses.read()))
      }),
    )
  registerCreate(group, terminal)
  registerSet(group, terminal)
  registerChecks(group, terminal)
  registerCountries(group, terminal)
  registerWebhookSecret(group, terminal)
}

function registerCreate(group: Command, terminal: Terminal): void {
  group
    .command('create')
    .description('create an account; create its keys with keys create --account <id>')
    .argument('<id>', 'letters, digits, - and _; also the client_id of its access tokens')
    .requiredOption('--name <text>', 'name for people')
    .action((id: string, { name }: { name: string }, command: Command) =>
      withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        const { accounts } = context
        if (await accounts.ensure({ id, kind: 'real', name })) {
          terminal.out(`${id}\n`)
          return terminal.note(
            `${id} has no lists yet, which its calls need: import its own with --account ${id}, or state ` +
              `a right to those of another account with: callgate lists share all --with ${id}\n`,
          )
        }
        throw new CommandFailure(`account '${id}' already exists (see: callgate accounts list)`)
      }),
    )
}

function registerSet(group: Command, terminal: Terminal): void {
  group
    .command('set')
    .description('change what an account may do; running servers follow within a second')
    .argument('<id>', 'the id shown by accounts list')
    .addOption(
      createYesNoOption(
        '--agents-may-remove <choice>',
        'role Agent may remove numbers from the internal list',
      ),
    )
    .addOption(
      new Option(
        '--repeated-add <choice>',
        'whether adding a number that is already on the internal list ends older consents',
      ).choices(repeatedAddModes),
    )
    .addOption(
      new Option('--country <code>', 'country whose carriers label its numbers').choices([
        'US',
        'CA',
      ]),
    )
    .addOption(createYesNoOption('--may-scan <choice>', 'allow one-time reputation scans'))
    .option('--scan-credits <n>', 'how many more numbers it may scan, or unlimited', parseCredits)
    .addOption(
      createYesNoOption('--auto-prefix <choice>', 'prefix codes of new projects with <id>_'),
    )
    .option(
      '--numbers-per-scrub <n>',
      `maximum numbers of one scrub: ${scrubNumbersRule}`,
      parseScrubNumbers,
    )
    .addOption(
      createYesNoOption(
        '--ai-keeps-voice-windows <choice>',
        'IsCallAllowedAI of a scrub respects the calling hours for recorded voices, as the gate does',
      ),
    )
    .action((id: string, changes: Partial<AccountSettings>, command: Command) =>
      withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        const { accounts } = context
        if (Object.keys(changes).length === 0) throw new CommandFailure(nothingToChange, 2)
        await requireAccount({ accounts }, id)
        await accounts.set(id, changes)
        for (const name of settingNames) {
          const value = changes[name]
          if (value !== undefined) terminal.note(`${id}: ${labels[name]}: ${formatValue(value)}\n`)
        }
      }),
    )
}

interface CheckOptions {
  readonly check: CheckName
  readonly because: string
}

function registerChecks(group: Command, terminal: Terminal): void {
  const withCheck = (command: Command) =>
    command
      .argument('<id>', 'the id shown by accounts list')
      .addOption(
        new Option('--check <name>', 'the check').choices(checkNames).makeOptionMandatory(),
      )

  withCheck(group.command('shadow'))
    .description('have a check only report for the calls of the account; see report shadow')
    .requiredOption('--because <text>', 'why, as callgate doctor shows it')
    .action((id: string, { check, because }: CheckOptions, command: Command) =>
      withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        await requireAccount(context, id)
        const subject = `check:${check}:${id}` as const
        const isNew = await context.pauses.pause({ subject, because, pausedBy: findUser() })
        const state = isNew ? 'in shadow' : 'in shadow already, nothing was changed'
        terminal.note(`${id}: ${check} is ${state}\n`)
      }),
    )

  withCheck(group.command('enforce'))
    .description('have the check block calls of the account again')
    .action((id: string, { check }: CheckOptions, command: Command) =>
      withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        await requireAccount(context, id)
        const isChanged = await context.pauses.resume(`check:${check}:${id}`)
        const state = isChanged ? 'enforced' : 'enforced already, nothing was changed'
        terminal.note(`${id}: ${check} is ${state}\n`)
      }),
    )
}

function registerCountries(group: Command, terminal: Terminal): void {
  group
    .command('countries')
    .description('say which countries an account calls; its calls to others are blocked')
    .argument('<id>', 'the id shown by accounts list')
    .argument('<countries>', 'US, CA, or both with a comma', parseCountries)
    .option(
      '--because <text>',
      'why, as the blocked calls show it',
      'the account does not call there',
    )
    .action((id: string, called: readonly Country[], { because }: CheckOptions, command: Command) =>
      withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        await requireAccount(context, id)
        const subjectOf = (country: Country) => `country:${country}:${id}` as const
        // First, so that nothing is called any longer than wanted, and a reason that is refused changes nothing.
        for (const country of countries.filter((one) => !called.includes(one))) {
          await context.pauses.pause({ subject: subjectOf(country), because, pausedBy: findUser() })
        }
        for (const country of called) await context.pauses.resume(subjectOf(country))
        terminal.note(`${id} calls ${called.join(', ')}\n`)
      }),
    )
}

function parseCountries(text: string): readonly Country[] {
  const named = text.toUpperCase().split(',')
  const called = countries.filter((country) => named.includes(country))
  if (called.length === named.length) return called
  throw new CommandFailure(`countries '${text}': must be US, CA, or both with a comma`, 2)
}

function registerWebhookSecret(group: Command, terminal: Terminal): void {
  group
    .command('webhook-secret')
    .description(
      'print the secret that signs the account’s webhooks; standard output has only the secret',
    )
    .argument('<id>', 'the id shown by accounts list')
    .option('--rotate', 'create a new secret; receivers need it before the next webhook')
    .action((id: string, { rotate }: { rotate?: true }, command: Command) =>
      withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        const { accounts } = context
        await requireAccount({ accounts }, id)
        const secret = rotate ? accounts.rotateWebhookSecret(id) : accounts.webhookSecret(id)
        terminal.out(`${await secret}\n`)
      }),
    )
}

const nothingToChange =
  'nothing to change: give at least one of --agents-may-remove, --country, --may-scan, ' +
  '--scan-credits, --auto-prefix, --repeated-add, --numbers-per-scrub, --ai-keeps-voice-windows'

function parseCredits(text: string): number | 'unlimited' {
  if (text === 'unlimited') return text
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new CommandFailure(`--scan-credits '${text}': must be a whole number or unlimited`, 2)
}

function parseScrubNumbers(text: string): number {
  const numbers = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (numbers >= defaultMaxScrubNumbers && numbers <= maxScrubNumbers) return numbers
  throw new CommandFailure(`--numbers-per-scrub '${text}': must be ${scrubNumbersRule}`, 2)
}

function formatValue(value: Account[keyof AccountSettings]): string {
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
}

function describeAccounts(accounts: readonly Account[], pauses: Pauses): string {
  return formatTable(
    [
      ...['id', 'kind', ...settingNames.map((name) => labels[name])],
      ...['in shadow', 'calls', 'created', 'name'],
    ],
    accounts.map((account) => [
      account.id,
      account.kind,
      ...settingNames.map((name) => formatValue(account[name])),
      checkNames.filter((check) => pauses.has(`check:${check}:${account.id}`)).join(',') || '-',
      countries.filter((country) => !pauses.has(`country:${country}:${account.id}`)).join(',') ||
        '-',
      formatInstant(account.createdAt),
      account.name,
    ]),
  )
}
