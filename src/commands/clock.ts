/** `callgate clock ...`: what to do about records that a clock which ran ahead has stored. */
import type { Command } from 'commander'
import { formatInstant } from '../domain/clock.js'
import type { AddCommand } from './command.js'
import { withFoundation } from './foundation.js'

export const addClock: AddCommand = (program, terminal) => {
  program
    .command('clock')
    .description('the clock of this machine, against the newest stored record')
    .command('accept')
    .description(
      'say that the clock is right now, when it ran ahead before: calls are allowed again, and ' +
        'opt-outs dated later than now are dated now; running servers follow within a second',
    )
    .action((_options, command: Command) =>
      withFoundation(command, async ({ changeHead, storage, world }) => {
        const newest = formatInstant(changeHead.newestAt)
        const now = formatInstant(world.clock.now())
        const dated = await storage.patiently(() => changeHead.acceptClock())
        terminal.note(
          `the newest stored record was of ${newest}; the clock is accepted as of ${now}\n` +
            `opt-outs that were dated later: ${dated}\n`,
        )
      }),
    )
}
