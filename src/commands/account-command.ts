/** Runs a command that works on accounts, keys or projects, without the data that decisions need. */
import type { Command } from 'commander'
import { type AppContext, openAppContext } from '../app/app-context.js'
import type { Author } from '../domain/caller.js'
import { nodeRuntime } from '../runtime/runtime.js'
import { CommandFailure, findPersonOption, loadCommandSettings } from './command.js'
import { findUser } from './option-values.js'

/** Opens the context for one command and closes it afterwards. */
export async function withAppContext<Result>(
  command: Command,
  work: (context: AppContext) => Promise<Result>,
): Promise<Result> {
  const author = describeAuthor(command)
  const context = await openAppContext(loadCommandSettings(command), nodeRuntime, { author })
  try {
    return await work(context)
  } finally {
    await context.close()
  }
}

/** The person who runs the command. */
export function describeAuthor(command: Command): Author {
  const words: string[] = []
  for (let one: Command | null = command; one; one = one.parent) words.unshift(one.name())
  const person = findPersonOption(command)
  const who = person === undefined ? `user:${findUser()}` : `user:${findUser()}/${person}`
  return { who, door: `command ${words.slice(1).join(' ')}` }
}

/** Throws on an edge, whose accounts and keys are replaced by those of its center. */
export function requireOwnAccounts({ settings }: AppContext): void {
  const [center] = settings.edge.centers
  if (center === undefined) return
  throw new CommandFailure(
    `this is an edge, which copies accounts and keys from ${center}; run the command on that server`,
    2,
  )
}

/** Throws when the account does not exist; otherwise commands would silently find nothing. */
export async function requireAccount(
  { accounts }: Pick<AppContext, 'accounts'>,
  id: string,
): Promise<void> {
  if (await accounts.find(id)) return
  throw new CommandFailure(`account '${id}' not found (see: callgate accounts list)`, 2)
}

/** Like {@link requireAccount}, for a command that otherwise reads only the journal. */
export function checkAccount(command: Command, id: string): Promise<void> {
  return withAppContext(command, (context) => requireAccount(context, id))
}

/** The account given by `--account`, and the arguments and other options of the command. */
export interface AccountRequest<Options> {
  readonly accountId: string
  readonly args: readonly string[]
  readonly options: Options
}

/** Creates the action of a command with the option `--account`. Throws if the account does not exist. */
export function forAccount<Options>(
  work: (context: AppContext, request: AccountRequest<Options>) => Promise<void>,
): (...given: unknown[]) => Promise<void> {
  return (...given) => {
    const command = given.at(-1) as Command
    return withAppContext(command, async (context) => {
      const { account, ...options } = command.opts<Options & { readonly account: string }>()
      await requireAccount(context, account)
      await work(context, { accountId: account, args: command.args, options: options as Options })
    })
  }
}
