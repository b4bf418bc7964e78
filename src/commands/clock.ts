/** `callgate clock ...`: recovers after records were stored while the clock was ahead. */
import type { Command } from 'commander'
import { formatInstant } from '../domain/time/dates.js'
import { withAppContext } from './account-command.js'
import type { RegisterCommand } from './command.js'

export const registerClock: RegisterCommand = (program, terminal) => {
  program
    .command('clock')
    .description('compare this machine’s clock with the newest stored record')
    .command('accept')
    .description(
      'confirm that the clock is correct now after it was ahead: calls are allowed again, and ' +
        'opt-outs with a later date get the current time; running servers follow within a second',
    )
    .action((_options, command: Command) =>
      withAppContext(command, async ({ changeHead, storage, runtime }) => {
        const newest = formatInstant(changeHead.newestAt)
        const now = formatInstant(runtime.clock.now())
        const dated = await storage.retryWhileLocked(() => changeHead.acceptClock(storage.author))
        terminal.note(
          `the newest stored record was from ${newest}; the clock is accepted as of ${now}\n` +
            `opt-outs redated from a later time: ${dated}\n`,
        )
      }),
    )
}
