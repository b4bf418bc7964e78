/** `callgate keys ...`: API keys of the accounts. A new key is shown once and stored hashed. */
import { type Command, Option } from 'commander'
import { type Role, roles } from '../domain/caller.js'
import { formatInstant } from '../domain/clock.js'
import type { ApiKeyInfo } from '../service/accounts/api-keys.js'
import { type AddCommand, CommandFailure } from './command.js'
import { withFoundation } from './foundation.js'
import { table } from './table.js'

export const addKeys: AddCommand = (program, terminal) => {
  const group = program
    .command('keys')
    .description('API keys: the loginId of requests, or the client_secret of access tokens')

  group
    .command('create')
    .description('make a key; standard output is the key and nothing else')
    .option('--account <id>', 'account the key speaks for', 'main')
    .addOption(
      new Option('--role <role>', 'what the key may do').choices(roles).default('Administrator'),
    )
    .option('--label <text>', 'what the key is for', '')
    .action((options: { account: string; role: Role; label: string }, command: Command) =>
      withFoundation(command, async ({ keys }) => {
        const { account: accountId, role, label } = options
        const { id, key } = await keys.create({ accountId, role, label })
        terminal.out(`${key}\n`)
        terminal.note(`${id}: ${role} of account ${accountId}. The key is not shown again.\n`)
      }),
    )

  group
    .command('list')
    .description('the keys there are, never the keys themselves')
    .option('--account <id>', 'only those of one account')
    .action((options: { account?: string }, command: Command) =>
      withFoundation(command, async ({ keys }) => {
        terminal.out(describeKeys(await keys.list(options.account)))
      }),
    )

  group
    .command('revoke')
    .description('make a key and its access tokens worthless, within a second on running servers')
    .argument('<id>', 'the id shown by keys list')
    .action((id: string, _options, command: Command) =>
      withFoundation(command, async ({ keys }) => {
        if (!(await keys.revoke(id))) {
          throw new CommandFailure(`id '${id}': no key in force has it (see: callgate keys list)`)
        }
        terminal.note(`${id} is revoked\n`)
      }),
    )
}

function describeKeys(keys: readonly ApiKeyInfo[]): string {
  return table(
    ['id', 'account', 'role', 'created', 'state', 'label'],
    keys.map((key) => [
      key.id,
      key.accountId,
      key.role,
      formatInstant(key.createdAt),
      key.revokedAt === undefined ? 'in force' : `revoked ${formatInstant(key.revokedAt)}`,
      key.label,
    ]),
  )
}
