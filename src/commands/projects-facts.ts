/** `callgate projects ftc-validation` and `registration`: what registries have said of a project. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Instant, parseInstant } from '../domain/clock.js'
import {
  type FtcStatus,
  ftcStatuses,
  type RegistrationStatus,
  registrationStatuses,
} from '../storage/tables.js'
import type { Terminal } from './command.js'
import { requireAccount, withFoundation } from './foundation.js'

interface FtcOptions {
  readonly account: string
  readonly status: FtcStatus
  readonly orgId?: string
  readonly san?: string
  readonly message?: string
  readonly expiration?: string
  readonly entireUs?: boolean
  readonly areaCodes?: readonly string[]
}

const none = '; scrubs of this project now give letter B for US numbers'

const effects: Readonly<Record<FtcStatus, string>> = {
  pending: '; scrubs of this project do not depend on it yet',
  validated: '; scrubs of this project now give letter B for US area codes it does not cover',
  failed: none,
  expired: none,
}

export function addFtcValidation(group: Command, terminal: Terminal): void {
  group
    .command('ftc-validation')
    .description(
      'record what the federal registry says of a project’s subscription, in place of what it said before',
    )
    .argument('<code>', 'project code')
    .addOption(
      new Option('--status <status>', 'outcome').choices(ftcStatuses).makeOptionMandatory(true),
    )
    .option('--org-id <id>', 'organization id (unchanged unless given; empty takes it away)')
    .option('--san <number>', 'subscription account number (unchanged unless given)')
    .option('--message <text>', 'the registry’s own words')
    .option('--expiration <date>', 'last day of the subscription, YYYY-MM-DD')
    .addOption(
      new Option('--entire-us', 'the subscription covers every area code').conflicts('areaCodes'),
    )
    .option('--area-codes <codes>', 'area codes it covers, such as 212,646', listOf)
    .option('--account <id>', 'account', 'main')
    .action((code: string, { account, ...facts }: FtcOptions, command: Command) =>
      withFoundation(command, async (foundation) => {
        await requireAccount(foundation, account)
        const ref = { accountId: account, code }
        const stored = await foundation.projects.facts.recordFtcValidation(ref, facts)
        terminal.note(`${stored}: federal validation is ${facts.status}${effects[facts.status]}\n`)
      }),
    )
}

interface RegistrationOptions {
  readonly account: string
  readonly status: RegistrationStatus
  readonly confirmation?: string
  readonly submittedOn?: Instant
}

export function addRegistration(group: Command, terminal: Terminal): void {
  group
    .command('registration')
    .description('record what a state says of a project’s registration as a telephone solicitor')
    .argument('<code>', 'project code')
    .argument('<state>', 'two-letter state')
    .addOption(
      new Option('--status <status>', 'outcome')
        .choices(registrationStatuses)
        .makeOptionMandatory(true),
    )
    .option('--confirmation <text>', 'the state’s number of it (unchanged unless given)')
    .option(
      '--submitted-on <time>',
      'when it was submitted, ISO 8601 in UTC (unchanged unless given)',
      instantOf,
    )
    .option('--account <id>', 'account', 'main')
    .action((code: string, state: string, options: RegistrationOptions, command: Command) =>
      withFoundation(command, async (foundation) => {
        const { account, status, confirmation, submittedOn: submittedAt } = options
        await requireAccount(foundation, account)
        const ref = { accountId: account, code }
        const facts = { state, status, confirmation, submittedAt }
        const stored = await foundation.projects.facts.recordRegistration(ref, facts)
        terminal.note(`${stored}: registration in ${state.toUpperCase()} is ${status}\n`)
      }),
    )
}

function listOf(text: string): readonly string[] {
  return text.split(',').map((part) => part.trim())
}

function instantOf(text: string): Instant {
  const at = parseInstant(text)
  if (at === undefined) throw new InvalidArgumentError('must be an ISO 8601 date or date-time')
  return at
}
