/** How the commands end that check evidence. */
import type { Command, CommanderError } from 'commander'
import { SettingsError } from '../../config/load.js'
import { AppError, DataFileError } from '../../errors.js'
import { type EvidenceResult, exitCodes, usageExitCode } from '../../evidence/result.js'
import { CommandFailure, type Terminal } from '../command.js'

/** After the description of a command. */
export const exitCodesHelp = (meanings: {
  readonly proven: string
  readonly false: string
  readonly notProven: string
}): string =>
  `\nExits with 0 (PROVEN) if ${meanings.proven}, 10 (FALSE) if ${meanings.false}, 2 (NOT PROVEN) if ${meanings.notProven}, ` +
  '3 (NOT CHECKED) if nothing could be read, and 64 for wrong usage. 1 means that the program failed.'

/**
 * Has a command exit by the result that `check` resolves to, after it has printed it. What cannot be read is NOT CHECKED;
 * wrong usage and settings have a code of their own.
 */
export function endByResult<Args extends readonly unknown[]>(
  command: Command,
  terminal: Terminal,
  check: (...args: Args) => Promise<EvidenceResult>,
): void {
  command.exitOverride((error: CommanderError) => {
    throw error.exitCode === 0 ? error : new CommandFailure('', usageExitCode)
  })
  command.action(async (...args: unknown[]) => {
    const result = await check(...(args as unknown as Args)).catch((cause: unknown) => {
      const { json, csv } = command.opts<{ readonly json?: boolean; readonly csv?: boolean }>()
      const problem = explainUnchecked(cause)
      if (json) terminal.out(`${JSON.stringify({ result: 'NOT CHECKED', problem }, null, 2)}\n`)
      else if (csv) terminal.note(`NOT CHECKED: ${problem}\n`)
      else terminal.out(`NOT CHECKED: ${problem}\n`)
      return 'NOT CHECKED' as const
    })
    if (result !== 'PROVEN') throw new CommandFailure('', exitCodes[result])
  })
}

/** Why there is no result. Throws what is wrong usage, and what nobody expected. */
function explainUnchecked(cause: unknown): string {
  const isUsage =
    cause instanceof SettingsError ||
    (cause instanceof CommandFailure && cause.exitCode === wrongUsage)
  if (isUsage) throw new CommandFailure(cause.message, usageExitCode)
  const isExpected =
    cause instanceof AppError || cause instanceof DataFileError || cause instanceof CommandFailure
  if (isExpected && cause.message !== '') return cause.message
  throw cause
}

/** Of all other commands. */
const wrongUsage = 2
