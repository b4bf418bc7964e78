/** `callgate changes ...`: changes that one person has asked for and another one must approve. */
import { type Command, Option } from 'commander'
import { findUnapproved } from '../../app/changes/policy-changes.js'
import { type Caller, createOperatorCaller, mainAccountId } from '../../domain/caller.js'
import { type ChangeState, changeStates } from '../../domain/mandate.js'
import { formatInstant } from '../../domain/time/dates.js'
import { getErrorMessage } from '../../errors.js'
import { nodeRuntime } from '../../runtime/runtime.js'
import type { ChangeRequest, ChangeVerdict } from '../../service/changes/change-requests.js'
import { describeAuthor, requireOwnAccounts, withAppContext } from '../account-command.js'
import {
  formatTable,
  loadCommandSettings,
  type RegisterCommand,
  type Terminal,
  toPlainText,
} from '../command.js'

interface AccountOption {
  readonly account: string
}

interface VerdictOptions extends AccountOption {
  readonly hash: string
  readonly reason?: string
}

export const registerChanges: RegisterCommand = (program, terminal) => {
  const group = program
    .command('changes')
    .description('changes that one person has asked for and another one must approve')
  group
    .command('list')
    .description('list them, the newest first; at most 100')
    .option('--account <id>', 'of this account', 'main')
    .addOption(new Option('--state <state>', 'only those in this state').choices(changeStates))
    .action((options: AccountOption & { state?: ChangeState }, command: Command) =>
      withAppContext(command, async ({ changeRequests }) => {
        const caller = createOperatorCaller(options.account)
        terminal.out(describeAll(await changeRequests.list(caller, options.state)))
      }),
    )
  group
    .command('show')
    .description('show exactly what is asked for, with the hash that approving it needs')
    .argument('<id>', 'the id shown by changes list')
    .option('--account <id>', 'of this account', 'main')
    .action((id: string, options: AccountOption, command: Command) =>
      withAppContext(command, async ({ changeRequests }) => {
        terminal.out(describe(await changeRequests.find(createOperatorCaller(options.account), id)))
      }),
    )
  group
    .command('ask-policy')
    .description('ask for each policy.*.onUnknown: allow of the settings that nobody has approved')
    .action((_options, command: Command) =>
      withAppContext(command, async ({ changeRequests, storage }) => {
        const unapproved = await findUnapproved(loadCommandSettings(command), storage.db)
        for (const { check: _, ...change } of unapproved) {
          const asked = changeRequests.require(createOperatorCaller(mainAccountId), change)
          terminal.out(`${await asked.then(() => change.what, getErrorMessage)}\n`)
        }
        if (unapproved.length === 0) terminal.note('nothing needs to be approved\n')
      }),
    )
  registerVerdict(group, terminal, 'refuse', (command, caller, verdict) =>
    withAppContext(command, async (context) => {
      requireOwnAccounts(context)
      return await context.changeRequests.refuse(caller, verdict)
    }),
  )
  registerVerdict(group, terminal, 'approve', approve)
}

function registerVerdict(
  group: Command,
  terminal: Terminal,
  name: 'approve' | 'refuse',
  decide: (command: Command, caller: Caller, verdict: ChangeVerdict) => Promise<ChangeRequest>,
): void {
  group
    .command(name)
    .description(name === 'approve' ? 'approve it: it is done at once, in your name' : 'refuse it')
    .argument('<id>', 'the id shown by changes list')
    .requiredOption('--hash <sha256>', 'as changes show has it, so that it is what you have seen')
    .option('--account <id>', 'of this account', 'main')
    .option('--reason <text>', 'why; kept with it and in the audit')
    .action(async (id: string, options: VerdictOptions, command: Command) => {
      const { account, hash: requestHash, reason: note } = options
      const verdict = { id, requestHash, note }
      const { state, what } = await decide(command, createOperatorCaller(account), verdict)
      const then = state === 'approved' ? '; who asked for it can do it now, once' : ''
      terminal.note(`${id} is ${state}: ${what}${then}\n`)
    })
}

/** Carried out by this process, through the endpoints of a server. */
async function approve(
  command: Command,
  caller: Caller,
  verdict: ChangeVerdict,
): Promise<ChangeRequest> {
  const [{ openCallgate }, { listRoutes }, { approveChange }] = await Promise.all([
    import('../../app/callgate.js'),
    import('../serve/http-server.js'),
    import('../../app/changes/change-routes.js'),
  ])
  const author = describeAuthor(command)
  const runtime = { ...nodeRuntime, processMetrics: false }
  const callgate = await openCallgate(loadCommandSettings(command), runtime, { author })
  try {
    requireOwnAccounts(callgate)
    const { changeRequests, authenticate, settings } = callgate
    const deps = {
      ...{ authenticate, maxBodyBytes: settings.http.maxBodyBytes, logger: runtime.log },
    }
    return await approveChange(caller, verdict, {
      ...{ changeRequests, routes: listRoutes(callgate, new Set()), deps },
    })
  } finally {
    await callgate.close()
  }
}

function describeAll(changes: readonly ChangeRequest[]): string {
  return formatTable(
    ['id', 'state', 'what', 'asked by', 'why', 'asked', 'ends', 'decided by', 'why'],
    changes.map((change) => [
      change.id,
      change.state,
      toPlainText(change.what),
      toPlainText(change.askedBy),
      toPlainText(change.reason),
      formatInstant(change.askedAt),
      formatInstant(change.expiresAt),
      toPlainText(change.decidedBy),
      toPlainText(change.note),
    ]),
  )
}

function describe(change: ChangeRequest): string {
  const { request, problem } = change
  const rows = [
    ['state', change.state],
    ['what', change.what],
    ['exactly', request ?? 'deleted, since it is over'],
    ['hash', change.requestHash],
    ['asked by', change.askedBy],
    ['why', change.reason],
    ['ends', formatInstant(change.expiresAt)],
    ['decided by', change.decidedBy],
    ['their reason', change.note],
    ['not done because', problem],
  ] as const
  return rows
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${toPlainText(value)}\n`)
    .join('')
}
