/** `callgate check`: a verdict for people, with every finding, its source and its rule. */
import { type Command, Option } from 'commander'
import { openCallgate, realWorld } from '../compose.js'
import { parseInstant } from '../domain/clock.js'
import { type CallKind, callKinds } from '../domain/decision.js'
import { isFictional, parseDialed } from '../domain/phone-number.js'
import {
  type DecisionDocument,
  decisionDocument,
  type FindingDocument,
} from '../gate/decision-document.js'
import { sandboxAccountId } from '../service/sandbox/sandbox.js'
import { type AddCommand, CommandFailure, settingsFor } from './command.js'

interface CheckOptions {
  readonly kind: CallKind
  readonly at?: string
  readonly postal?: string
  readonly project?: string
  readonly campaign?: string
  readonly account?: string
  readonly json?: boolean
  readonly exitCode?: boolean
}

/** The exit code of a block under `--exit-code`, apart from those of failures. */
const blockedExitCode = 3

export const addCheck: AddCommand = (program, terminal) => {
  program
    .command('check')
    .description('may this call be placed? looks, and records nothing')
    .argument('<number>', 'as dialled: 2125550100, +1 (212) 555-0100, sip:...')
    .addOption(
      new Option('--kind <kind>', 'who speaks').choices(callKinds).makeOptionMandatory(true),
    )
    .option('--at <instant>', 'judge as of this instant, such as 2026-11-23T17:00:00Z')
    .option('--postal <code>', 'ZIP or postal code of the person called')
    .option('--project <id>', 'project')
    .option('--campaign <id>', 'campaign')
    .option('--account <id>', 'account (default: gate.account; sandbox for 555-01XX numbers)')
    .option('--json', 'the whole decision as JSON')
    .option('--exit-code', `end with ${blockedExitCode} when the call is blocked`)
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  callgate check 212-555-0100 --kind manual --at 2026-11-23T17:00:00Z   a clean landline\n' +
        '  callgate check 212-555-0100 --kind ai --at 2026-11-23T17:00:00Z       no consent for AI\n' +
        '  callgate check 205-555-0100 --kind manual --at 2026-11-22T18:00:00Z   Alabama, Sunday\n',
    )
    .action(async (number: string, options: CheckOptions, command: Command) => {
      const decision = await judge(number, options, command)
      terminal.out(options.json ? `${JSON.stringify(decision, null, 2)}\n` : describe(decision))
      if (options.exitCode && decision.decision === 'block') {
        throw new CommandFailure('', blockedExitCode)
      }
    })
}

async function judge(
  number: string,
  options: CheckOptions,
  command: Command,
): Promise<DecisionDocument> {
  const settings = settingsFor(command)
  const at = options.at === undefined ? undefined : parseInstant(options.at)
  if (options.at !== undefined && at === undefined) {
    const rule = 'must be an instant such as 2026-11-23T17:00:00Z'
    throw new CommandFailure(`--at '${options.at}': ${rule}`, 2)
  }
  const callgate = await openCallgate(settings, { ...realWorld, processMetrics: false })
  try {
    const accountId = options.account ?? usualAccount(number, settings.gate.account)
    if (!(await callgate.accounts.find(accountId))) {
      throw new CommandFailure(`--account '${accountId}': is no account here`, 2)
    }
    const decision = await callgate.dryGate.decide({
      accountId,
      dialed: number,
      callKind: options.kind,
      projectId: options.project,
      campaignId: options.campaign,
      postalCode: options.postal,
      at,
      via: 'check',
    })
    return decisionDocument(decision)
  } finally {
    await callgate.close()
  }
}

/** Fictional numbers have facts in the sandbox only. */
function usualAccount(number: string, otherwise: string): string {
  const dialed = parseDialed(number)
  return dialed.kind === 'nanp' && isFictional(dialed.number) ? sandboxAccountId : otherwise
}

const marks: Readonly<Record<FindingDocument['verdict'], string>> = {
  pass: 'ok',
  deny: 'NO',
  unknown: '??',
}

function describe(decision: DecisionDocument): string {
  const { number, callKind, accountId, judgedAt, validUntil, nextAllowedAt } = decision
  const widest = Math.max(0, ...decision.findings.map(({ check }) => check.length))
  return [
    `${decision.decision.toUpperCase()}  ${number}  ${callKind} call, account ${accountId}`,
    `  ${decision.reason}: ${decision.message}`,
    `  judged at ${judgedAt}, holds until ${validUntil}`,
    ...(nextAllowedAt === undefined ? [] : [`  may be called from ${nextAllowedAt}`]),
    ...decision.findings.map(
      ({ check, verdict, detail, source }) =>
        `  [${marks[verdict]}] ${check.padEnd(widest)}  ${detail} (${source})`,
    ),
    '',
  ].join('\n')
}
