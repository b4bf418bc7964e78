/** `callgate accounts ...`: the accounts there are, and what each allows its agents. */
import { type Command, Option } from 'commander'
import { formatInstant } from '../domain/clock.js'
import type { Account } from '../service/accounts/accounts.js'
import { type AddCommand, CommandFailure } from './command.js'
import { withFoundation } from './foundation.js'
import { table } from './table.js'

export const addAccounts: AddCommand = (program, terminal) => {
  const group = program.command('accounts').description('accounts and what their agents may do')

  group
    .command('list')
    .description('the accounts there are')
    .action((_options, command: Command) =>
      withFoundation(command, async ({ accounts }) => {
        terminal.out(describe(await accounts.list()))
      }),
    )

  group
    .command('set')
    .description('change what an account allows; running servers follow at once')
    .argument('<id>', 'the id shown by accounts list')
    .addOption(
      new Option(
        '--agents-may-remove <choice>',
        'role Agent may take numbers off the internal list',
      )
        .choices(['yes', 'no'])
        .makeOptionMandatory(true),
    )
    .action((id: string, options: { agentsMayRemove: 'yes' | 'no' }, command: Command) =>
      withFoundation(command, async ({ accounts }) => {
        const { agentsMayRemove } = options
        if (!(await accounts.setAgentsMayRemove(id, agentsMayRemove === 'yes'))) {
          throw new CommandFailure(
            `id '${id}': is no account here (see: callgate accounts list)`,
            2,
          )
        }
        terminal.note(`${id}: agents may remove numbers: ${agentsMayRemove}\n`)
      }),
    )
}

function describe(accounts: readonly Account[]): string {
  return table(
    ['id', 'kind', 'agents may remove', 'created', 'name'],
    accounts.map(({ id, kind, agentsMayRemove, createdAt, name }) => [
      id,
      kind,
      agentsMayRemove ? 'yes' : 'no',
      formatInstant(createdAt),
      name,
    ]),
  )
}
