/** `callgate check`: a verdict for people, with every finding, its source and its rule. */
import { type Command, Option } from 'commander'
import { refusal } from '../api/field-problems.js'
import { type DecisionRequest, decideCall, refuseFarInstant } from '../api/gate.js'
import { openCallgate } from '../compose.js'
import { systemClock } from '../domain/clock.js'
import { type CallKind, type CallRequest, callKinds } from '../domain/decision.js'
import { isFictional, parseDialed } from '../domain/phone-number.js'
import { AppError, describeProblem } from '../errors.js'
import {
  type DecisionDocument,
  decisionDocument,
  type FindingDocument,
  policyText,
} from '../gate/decision-document.js'
import { sandboxAccountId } from '../service/sandbox/sandbox.js'
import { realWorld } from '../world.js'
import { type AddCommand, CommandFailure, settingsFor } from './command.js'
import { requireAccount } from './foundation.js'

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
    .argument('<number>', 'as dialed: 2125550100, +1 (212) 555-0100, sip:...')
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
  const { number: dialed, ...request } = requestOf(number, options)
  const callgate = await openCallgate(settings, { ...realWorld, processMetrics: false })
  try {
    const accountId = options.account ?? usualAccount(number, settings.gate.account)
    await requireAccount(callgate, accountId)
    const call: CallRequest = { ...request, accountId, dialed, via: 'check' }
    return decisionDocument(await callgate.dryGate.decide(call))
  } finally {
    await callgate.close()
  }
}

/** What the gate's own endpoint would make of it; what that refuses is refused here. */
function requestOf(number: string, options: CheckOptions): DecisionRequest {
  const { kind: callKind, project: projectId, campaign: campaignId, postal, at } = options
  const fields = { number, callKind, projectId, campaignId, postalCode: postal, at }
  try {
    const read = decideCall.request.safeParse(fields, { reportInput: true })
    if (!read.success) throw refusal(read.error)
    refuseFarInstant(read.data.at, systemClock.now())
    return read.data
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const named = error.problems.map((problem) =>
      describeProblem({ ...problem, field: optionOf[problem.field] ?? problem.field }),
    )
    throw new CommandFailure(named.join('; '), 2)
  }
}

/** Field of the decision call -> what it is called on the command line. */
const optionOf: Readonly<Record<string, string>> = {
  number: '<number>',
  callKind: '--kind',
  projectId: '--project',
  campaignId: '--campaign',
  postalCode: '--postal',
  at: '--at',
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
  const { degraded, policy = [] } = decision
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
    ...policy.map((effect) => `  policy: ${policyText(effect)}`),
    ...(degraded.length === 0 ? [] : [`  degraded: ${degraded.join(', ')}`]),
    '',
  ].join('\n')
}
