/** `callgate permits ...`: replaces the keys that sign permits for SIP edges. */
import type { Command } from 'commander'
import { formatInstant } from '../../domain/time/dates.js'
import { PermitKeys } from '../../permits/permit-keys.js'
import { requireOwnAccounts, withAppContext } from '../account-command.js'
import { CommandFailure, type RegisterCommand } from '../command.js'

export const registerPermits: RegisterCommand = (program, terminal) => {
  program
    .command('permits')
    .description('keys of permits that SIP edges check')
    .command('rotate')
    .description('create the next key of an edge; standard output has only its public key')
    .argument('<edge>', 'name of the edge in permits.edges')
    .option(
      '--at-once',
      'sign with it now, and accept no permit of the old keys anymore: somebody has one of them',
    )
    .action((edge: string, { atOnce = false }: { atOnce?: boolean }, command: Command) =>
      withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        const { storage, settings, runtime } = context
        if (!Object.hasOwn(settings.permits.edges, edge)) {
          throw new CommandFailure(`edge '${edge}' is not in permits.edges`, 2)
        }
        const keys = new PermitKeys({ storage, clock: runtime.clock, timers: runtime.timers })
        const { pem, signsFrom } = await keys.rotate(edge, { atOnce })
        terminal.out(pem)
        terminal.note(`${edge}: signs from ${formatInstant(signsFrom)}; give it to the edge now\n`)
      }),
    )
}
