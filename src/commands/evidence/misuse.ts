/** Exit codes of the group: 1 and 2 are results, so wrong usage, settings and files that cannot be read have their own. */
import type { Command, CommanderError } from 'commander'
import { SettingsError } from '../../config/load.js'
import { AppError, DataFileError } from '../../errors.js'
import { CommandFailure } from '../command.js'

const misuseCode = 3

/** Has a command exit with {@link misuseCode} for everything but its results, which are failures without a message. */
export function exitByResult(command: Command): Command {
  return command.exitOverride((error: CommanderError) => {
    throw error.exitCode === 0 ? error : new CommandFailure('', misuseCode)
  })
}

/** The action of such a command. */
export function asResult<Args extends readonly unknown[]>(
  action: (...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    try {
      await action(...args)
    } catch (cause) {
      const isExpected =
        cause instanceof SettingsError ||
        cause instanceof AppError ||
        cause instanceof DataFileError ||
        (cause instanceof CommandFailure && cause.message !== '')
      throw isExpected ? new CommandFailure(cause.message, misuseCode) : cause
    }
  }
}
