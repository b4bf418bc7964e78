/** `callgate projects ftc-validation` and `registration`: record the registrations of a project. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Instant } from '../../domain/time/clock.js'
import { parseInstant } from '../../domain/time/dates.js'
import type { FtcValidationInput } from '../../service/projects/project-registrations.js'
import {
  type FtcStatus,
  ftcStatuses,
  type RegistrationStatus,
  registrationStatuses,
} from '../../storage/tables.js'
import { forAccount } from '../account-command.js'
import type { Terminal } from '../command.js'

const blockedEffect = '; scrubs of this project now give letter B for US numbers'

const effects: Readonly<Record<FtcStatus, string>> = {
  pending: '; it does not affect scrubs of this project yet',
  validated: '; scrubs of this project now give letter B for US area codes it does not cover',
  failed: blockedEffect,
  expired: blockedEffect,
}

export function registerFtcValidation(group: Command, terminal: Terminal): void {
  group
    .command('ftc-validation')
    .description(
      'record the status of a project’s federal registry subscription, replacing the previous one',
    )
    .argument('<code>', 'project code')
    .addOption(
      new Option('--status <status>', 'outcome').choices(ftcStatuses).makeOptionMandatory(true),
    )
    .option('--org-id <id>', 'organization id (unchanged unless given; empty removes it)')
    .option('--san <number>', 'subscription account number (unchanged unless given)')
    .option('--message <text>', 'message of the registry')
    .option('--expiration <date>', 'last day of the subscription, YYYY-MM-DD')
    .addOption(
      new Option('--entire-us', 'the subscription covers every area code').conflicts('areaCodes'),
    )
    .option('--area-codes <codes>', 'area codes it covers, such as 212,646', parseList)
    .option('--account <id>', 'account', 'main')
    .action(
      forAccount<FtcValidationInput>(async ({ projects }, { accountId, args, options: facts }) => {
        const ref = { accountId, code: args[0] ?? '' }
        const stored = await projects.registrations.recordFtcValidation(ref, facts)
        terminal.note(`${stored}: federal validation is ${facts.status}${effects[facts.status]}\n`)
      }),
    )
}

interface RegistrationOptions {
  readonly status: RegistrationStatus
  readonly confirmation?: string
  readonly submittedOn?: Instant
}

export function registerRegistration(group: Command, terminal: Terminal): void {
  group
    .command('registration')
    .description('record the status of a project’s state registration as a telephone solicitor')
    .argument('<code>', 'project code')
    .argument('<state>', 'two-letter state')
    .addOption(
      new Option('--status <status>', 'outcome')
        .choices(registrationStatuses)
        .makeOptionMandatory(true),
    )
    .option('--confirmation <text>', 'confirmation number of the state (unchanged unless given)')
    .option(
      '--submitted-on <time>',
      'when it was submitted, ISO 8601 in UTC (unchanged unless given)',
      parseInstantOption,
    )
    .option('--account <id>', 'account', 'main')
    .action(
      forAccount<RegistrationOptions>(async ({ projects }, { accountId, args, options }) => {
        const [code = '', state = ''] = args
        const { status, confirmation, submittedOn: submittedAt } = options
        const facts = { state, status, confirmation, submittedAt }
        const ref = { accountId, code }
        const stored = await projects.registrations.recordRegistration(ref, facts)
        terminal.note(`${stored}: registration in ${state.toUpperCase()} is ${status}\n`)
      }),
    )
}

function parseList(text: string): readonly string[] {
  return text.split(',').map((part) => part.trim())
}

function parseInstantOption(text: string): Instant {
  const at = parseInstant(text)
  if (at === undefined) throw new InvalidArgumentError('must be an ISO 8601 date or date-time')
  return at
}
