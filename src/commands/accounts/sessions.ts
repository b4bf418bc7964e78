/** `callgate sessions ...`: who is signed in to the console. */
import type { Command } from 'commander'
import type { AppContext } from '../../app/app-context.js'
import { formatInstant } from '../../domain/time/dates.js'
import { Sessions } from '../../service/people/sessions.js'
import { withAppContext } from '../account-command.js'
import { CommandFailure, formatTable, type RegisterCommand } from '../command.js'

export const registerSessions: RegisterCommand = (program, terminal) => {
  const group = program.command('sessions').description('who is signed in to the console')

  group
    .command('list')
    .description('list the sessions that have not ended, the one used last first')
    .action((_options: object, command: Command) =>
      withAppContext(command, async (context) => {
        const rows = (await openSessions(context).list()).map(
          ({ accountId, who, role, beganAt, usedAt }) => [
            ...[accountId, who, role ?? '-', formatInstant(beganAt), formatInstant(usedAt)],
          ],
        )
        terminal.out(formatTable(['account', 'who', 'role', 'began', 'used'], rows))
      }),
    )

  group
    .command('end')
    .description('end all sessions of a person or a key at once, on every server')
    .argument('<who>', 'as sessions list shows them')
    .requiredOption('--reason <text>', 'kept in the audit table')
    .action((who: string, { reason }: { reason: string }, command: Command) =>
      withAppContext(command, async (context) => {
        const count = await openSessions(context).endAll(who, reason)
        if (count === 0) throw new CommandFailure(`'${who}' has no session`, 2)
        terminal.note(`${who}: ended ${count} ${count === 1 ? 'session' : 'sessions'}\n`)
      }),
    )
}

function openSessions({ storage, keys, expiryClock, runtime, settings }: AppContext): Sessions {
  const { randomBytes } = runtime
  const accountOfPeople = settings.console.oidc.account
  return new Sessions({ storage, keys, accountOfPeople, clock: expiryClock, randomBytes })
}
