/** `callgate lists share ...`: which accounts may use lists of other accounts, and the logins of providers. */
import { type Command, Option } from 'commander'
import type { AppContext } from '../../app/app-context.js'
import {
  allLists,
  describeNameRule,
  isPortedList,
  isUsedByChecks,
  providerLogins,
} from '../../data/number-list/list-names.js'
import { mainAccountId, sandboxAccountId } from '../../domain/caller.js'
import { formatInstant } from '../../domain/time/dates.js'
import { systemClock } from '../../runtime/runtime.js'
import type { ListRight, ListRights } from '../../service/lists/list-rights.js'
import { CommandFailure, formatTable, type Terminal } from '../command.js'
import { findUser } from '../option-values.js'

interface ShareOptions {
  readonly with: string
  readonly from: string
  readonly because: string
}

export function registerListRights(group: Command, terminal: Terminal): void {
  const withOption = () =>
    new Option('--with <id>', 'account that may use it').makeOptionMandatory()
  group
    .command('share')
    .description(
      'state that an account may use a list of another one; running servers follow within a second',
    )
    .argument(
      '<name>',
      `name of the list; ${providerLogins}: the logins of providers; or ${allLists}: those and every list that checks use`,
    )
    .addOption(withOption())
    .option('--from <id>', 'account whose list it is', mainAccountId)
    .requiredOption('--because <text>', 'what gives it the right, such as the contract')
    .action((list: string, options: ShareOptions, command: Command) =>
      withRights(command, list, async (rights, context) => {
        const { with: accountId, from: ownerId, because } = options
        for (const id of [accountId, ownerId]) await requireUser(context, id)
        await rights.grant({ accountId, list, ownerId, because, grantedBy: findUser() })
        terminal.note(`${accountId} may use ${describeList(list, ownerId)} of ${ownerId}\n`)
      }),
    )
  group
    .command('unshare')
    .description('end such a right; without a list of its own, calls of the account are blocked')
    .argument('<name>', `name of the list, or ${allLists}, as it was shared`)
    .addOption(withOption())
    .action((list: string, { with: accountId }: ShareOptions, command: Command) =>
      withRights(command, list, async (rights, context) => {
        await requireUser(context, accountId)
        if (await rights.end({ accountId, list, endedBy: findUser() })) {
          return terminal.note(`the right of ${accountId} to ${describeList(list)} has ended\n`)
        }
        throw new CommandFailure(
          `account '${accountId}' has no right to ${describeList(list)} (see: callgate lists rights)`,
        )
      }),
    )
  group
    .command('rights')
    .description('show which accounts may use lists of others, also what has ended')
    .action((_options, command: Command) =>
      openRights(command, async (stored) => {
        const rights = await stored.list()
        const { json = false } = command.optsWithGlobals<{ readonly json?: boolean }>()
        terminal.out(json ? formatRightsJson(rights) : describeRights(rights))
      }),
    )
}

/** Throws {@link CommandFailure} on an edge, and for a name that is none of those that `share` describes. */
async function withRights(
  command: Command,
  list: string,
  work: (rights: ListRights, context: AppContext) => Promise<void>,
): Promise<void> {
  const isShareable = isUsedByChecks(list) && !list.includes('/') && !isPortedList(list)
  if (list !== allLists && list !== providerLogins && !isShareable) {
    const rule = isPortedList(list) ? 'is the same for all accounts' : describeNameRule(list)
    throw new CommandFailure(`name '${list}': ${rule}`, 2)
  }
  const { requireOwnAccounts } = await import('../account-command.js')
  await openRights(command, async (rights, context) => {
    requireOwnAccounts(context)
    await work(rights, context)
  })
}

/** The database is loaded only here, since `callgate lists` does not need it. */
async function openRights(
  command: Command,
  work: (rights: ListRights, context: AppContext) => Promise<void>,
): Promise<void> {
  const { withAppContext } = await import('../account-command.js')
  const { ListRights } = await import('../../service/lists/list-rights.js')
  await withAppContext(command, (context) =>
    work(new ListRights({ storage: context.storage, clock: systemClock }), context),
  )
}

async function requireUser(context: AppContext, accountId: string): Promise<void> {
  const { requireAccount } = await import('../account-command.js')
  await requireAccount(context, accountId)
  if (accountId !== sandboxAccountId) return
  throw new CommandFailure(`account '${accountId}' has lists of its own, which are built in`, 2)
}

function describeList(list: string, ownerId?: string): string {
  if (list === providerLogins) return 'the logins of providers'
  if (list !== allLists) return list
  return ownerId === mainAccountId ? 'every list and the logins of providers' : 'every list'
}

function formatRightsJson(rights: readonly ListRight[]): string {
  const shown = rights.map(({ grantedAt, endedAt, ...right }) => ({
    ...right,
    grantedAt: formatInstant(grantedAt),
    endedAt: endedAt === undefined ? undefined : formatInstant(endedAt),
  }))
  return `${JSON.stringify(shown, undefined, 2)}\n`
}

function describeRights(rights: readonly ListRight[]): string {
  return formatTable(
    ['account', 'list', 'of', 'since', 'by', 'ended', 'by', 'because'],
    rights.map((right) => [
      right.accountId,
      right.list,
      right.ownerId,
      formatInstant(right.grantedAt),
      right.grantedBy,
      right.endedAt === undefined ? '-' : formatInstant(right.endedAt),
      right.endedBy ?? '-',
      right.because,
    ]),
  )
}
