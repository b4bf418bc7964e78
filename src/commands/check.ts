/** `callgate check`: prints a decision with every finding, its source and its rule. */
import { type Command, Option } from 'commander'
import type { Endpoint } from '../api/endpoint.js'
import {
  type DecisionRequest,
  decideEndpoint,
  requireInstantInRange,
} from '../api/gate/decisions.js'
import { createValidationError } from '../api/validation-error.js'
import { openCallgate } from '../app/callgate.js'
import { sandboxAccountId } from '../domain/caller.js'
import { type CallKind, type CallRequest, callKinds, callPurposes } from '../domain/decision.js'
import { isFictional, parseDialString } from '../domain/phone-number.js'
import { AppError, describeProblem } from '../errors.js'
import type { DecisionReply, FindingReply } from '../gate/record/decision-document.js'
import { describePolicy } from '../gate/record/describe-decision.js'
import { replyTo } from '../gate/record/write-record.js'
import { nodeRuntime, systemClock } from '../runtime/runtime.js'
import { requireAccount } from './account-command.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from './command.js'

interface CheckOptions {
  readonly kind?: CallKind
  readonly at?: string
  readonly postal?: string
  readonly project?: string
  readonly campaign?: string
  readonly purpose?: string
  readonly account?: string
  readonly json?: boolean
  readonly exitCode?: boolean
}

/** The exit code of a block with `--exit-code`; distinct from those of failures. */
const blockedExitCode = 3

export const registerCheck: RegisterCommand = (program, terminal) => {
  program
    .command('check')
    .description('decide whether a call may be placed, without recording anything')
    .argument('<number>', 'as dialed: 2125550100, +1 (212) 555-0100, sip:...')
    .addOption(
      new Option('--kind <kind>', 'kind of call (default: each kind in turn)').choices(callKinds),
    )
    .option('--at <instant>', 'decide as of this instant, such as 2026-11-23T17:00:00Z')
    .option('--postal <code>', 'ZIP or postal code of the called person')
    .option('--project <id>', 'project')
    .option('--campaign <id>', 'campaign')
    .addOption(
      new Option(
        '--purpose <purpose>',
        'what the call is for, if gate.purposes lets a request say it',
      ).choices(callPurposes),
    )
    .option('--account <id>', 'account (default: gate.account; sandbox for 555-01XX numbers)')
    .option('--json', 'the whole decision as JSON; without --kind, a list of all three')
    .option(
      '--exit-code',
      `exit with ${blockedExitCode} when the call is blocked; without --kind, when any of the three is`,
    )
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  callgate check 212-555-0100 --at 2026-11-23T17:00:00Z                 each kind of call\n' +
        '  callgate check 212-555-0100 --kind manual --at 2026-11-23T17:00:00Z   a clean landline\n' +
        '  callgate check 212-555-0100 --kind ai --at 2026-11-23T17:00:00Z       no consent for AI\n' +
        '  callgate check 205-555-0100 --kind manual --at 2026-11-22T18:00:00Z   Alabama, Sunday\n',
    )
    .action(async (number: string, options: CheckOptions, command: Command) => {
      const decisions = await decide(number, options, command)
      const shown = options.kind === undefined ? decisions : decisions[0]
      terminal.out(
        options.json
          ? `${JSON.stringify(shown, null, 2)}\n`
          : decisions.map(describeDecision).join('\n'),
      )
      if (options.exitCode && decisions.some(({ decision }) => decision === 'block')) {
        throw new CommandFailure('', blockedExitCode)
      }
    })
}

async function decide(
  number: string,
  options: CheckOptions,
  command: Command,
): Promise<readonly DecisionReply[]> {
  const settings = loadCommandSettings(command)
  const kinds = options.kind === undefined ? callKinds : [options.kind]
  const requests = kinds.map((kind) => parseRequest(number, { ...options, kind }))
  const callgate = await openCallgate(settings, { ...nodeRuntime, processMetrics: false })
  try {
    const accountId = options.account ?? defaultAccount(number, settings.gate.account)
    await requireAccount(callgate, accountId)
    const decisions: DecisionReply[] = []
    for (const { number: dialed, ...request } of requests) {
      const call: CallRequest = { ...request, accountId, dialed, via: 'check' }
      decisions.push(replyTo(await callgate.gate.preview(call)))
    }
    return decisions
  } finally {
    await callgate.close()
  }
}

/** Validates with the schema of the decision endpoint, so both accept the same requests. */
function parseRequest(number: string, options: CheckOptions): DecisionRequest {
  const { kind: callKind, purpose, project: projectId, campaign: campaignId, postal, at } = options
  const fields = { number, callKind, purpose, projectId, campaignId, postalCode: postal, at }
  return parseCallOptions(decideEndpoint, fields)
}

/** Throws {@link CommandFailure} with the names of the options. */
export function parseCallOptions<Request extends Pick<DecisionRequest, 'at'>>(
  { request }: Pick<Endpoint<Request, unknown>, 'request'>,
  fields: object,
): Request {
  const read = readCallOptions({ request }, fields)
  const { at } = read
  if (at !== undefined) withOptionNames(() => requireInstantInRange(at, systemClock.now()))
  return read
}

/** Throws as {@link parseCallOptions} does. */
export function readCallOptions<Request>(
  { request }: Pick<Endpoint<Request, unknown>, 'request'>,
  fields: object,
): Request {
  return withOptionNames(() => {
    const read = request.safeParse(fields, { reportInput: true })
    if (!read.success) throw createValidationError(read.error)
    return read.data
  })
}

function withOptionNames<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const named = error.problems.map((problem) =>
      describeProblem({ ...problem, field: optionNames[problem.field] ?? problem.field }),
    )
    throw new CommandFailure(named.join('; '), 2)
  }
}

/** Field of the decision request to its name on the command line. */
const optionNames: Readonly<Record<string, string>> = {
  number: '<number>',
  callKind: '--kind',
  projectId: '--project',
  campaignId: '--campaign',
  postalCode: '--postal',
  at: '--at',
  reason: '--reason',
}

/** Uses the sandbox for fictional numbers, since only it has facts about them. */
function defaultAccount(number: string, accountId: string): string {
  const dialed = parseDialString(number)
  return dialed.kind === 'nanp' && isFictional(dialed.number) ? sandboxAccountId : accountId
}

const marks: Readonly<Record<FindingReply['verdict'], string>> = {
  pass: 'ok',
  deny: 'NO',
  unknown: '??',
}

function describeDecision(decision: DecisionReply): string {
  const { number, callKind, accountId, judgedAt, validUntil, nextAllowedAt } = decision
  const latest = decision.nextAllowedAtLatest ? ' at the latest' : ''
  const { degraded, policy = [] } = decision
  const widest = Math.max(0, ...decision.findings.map(({ check }) => check.length))
  return [
    `${decision.decision.toUpperCase()}  ${number}  ${callKind} call, account ${accountId}`,
    `  ${decision.reason}: ${decision.message}`,
    `  decided as of ${judgedAt}, valid until ${validUntil}`,
    ...(nextAllowedAt === undefined ? [] : [`  may be called from ${nextAllowedAt}${latest}`]),
    ...decision.findings.map(
      ({ check, verdict, detail, source }) =>
        `  [${marks[verdict]}] ${check.padEnd(widest)}  ${detail} (${source})`,
    ),
    ...policy.map((effect) => `  policy: ${describePolicy(effect, decision.findings)}`),
    ...(degraded.length === 0 ? [] : [`  degraded: ${degraded.join(', ')}`]),
    '',
  ].join('\n')
}
