/** `callgate approvals ...`: the calls of keys that wait for a person. */
import { type Command, Option } from 'commander'
import { createOperatorCaller } from '../../domain/caller.js'
import { type ApprovalState, approvalStates } from '../../domain/mandate.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { Approval } from '../../service/accounts/approvals.js'
import { requireOwnAccounts, withAppContext } from '../account-command.js'
import { formatTable, type RegisterCommand, toPlainText } from '../command.js'

interface AccountOption {
  readonly account: string
}

export const registerApprovals: RegisterCommand = (program, terminal) => {
  const group = program
    .command('approvals')
    .description('calls that wait for a person, of keys with --approval always or first-contact')

  group
    .command('list')
    .description('list them, the newest first; at most 100')
    .option('--account <id>', 'of this account', 'main')
    .addOption(new Option('--state <state>', 'only those in this state').choices(approvalStates))
    .action((options: AccountOption & { state?: ApprovalState }, command: Command) =>
      withAppContext(command, async ({ approvals }) => {
        const caller = createOperatorCaller(options.account)
        terminal.out(describe(await approvals.list(caller, options.state)))
      }),
    )

  for (const verdict of ['approve', 'refuse'] as const) {
    group
      .command(verdict)
      .description(`${verdict} one call`)
      .argument('<id>', 'the id shown by approvals list')
      .option('--account <id>', 'of this account', 'main')
      .option('--note <text>', 'kept with it')
      .action((id: string, options: AccountOption & { note?: string }, command: Command) =>
        withAppContext(command, async (context) => {
          requireOwnAccounts(context)
          const { approvals, storage } = context
          const caller = createOperatorCaller(options.account)
          const { subjectHash } = await approvals.find(caller, id)
          const { note } = options
          const by = storage.author.who
          const decided = await approvals.decide(caller, { id, verdict, subjectHash, note }, by)
          terminal.note(`${id} is ${decided.state}: ${describeSubject(decided)}\n`)
        }),
      )
  }
}

function describeSubject({ subject }: Approval): string {
  const { number, callKind, projectId, campaignId, callerId, purpose, personId } = subject
  const parts = [
    `${callKind} call to ${number}`,
    callerId !== undefined && `from ${callerId}`,
    projectId !== undefined && `project ${projectId}`,
    campaignId !== undefined && `campaign ${campaignId}`,
    purpose !== undefined && `purpose ${purpose}`,
    subject.subject !== undefined && `about ${toPlainText(subject.subject)}`,
    personId !== undefined && `person ${toPlainText(personId)}`,
  ]
  return parts.filter(Boolean).join(', ')
}

function describe(approvals: readonly Approval[]): string {
  return formatTable(
    ['id', 'state', 'key', 'call', 'requested', 'expires', 'by', 'note'],
    approvals.map((approval) => [
      approval.id,
      approval.state,
      approval.keyId,
      describeSubject(approval),
      formatInstant(approval.requestedAt),
      formatInstant(approval.expiresAt),
      approval.decidedBy ?? '',
      approval.note ?? '',
    ]),
  )
}
