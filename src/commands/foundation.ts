/** Accounts, keys and projects for one command, without the reference data a judgement needs. */
import type { Command } from 'commander'
import { type Foundation, openFoundation } from '../compose-foundation.js'
import { realWorld } from '../world.js'
import { CommandFailure, settingsFor } from './command.js'

/** Opens the foundation for one command and closes it after it. */
export async function withFoundation<Result>(
  command: Command,
  work: (foundation: Foundation) => Promise<Result>,
): Promise<Result> {
  const foundation = await openFoundation(settingsFor(command), realWorld)
  try {
    return await work(foundation)
  } finally {
    await foundation.close()
  }
}

/** Refuses an account that does not exist, for commands that would just find nothing of it. */
export async function requireAccount(
  { accounts }: Pick<Foundation, 'accounts'>,
  id: string,
): Promise<void> {
  if (await accounts.find(id)) return
  throw new CommandFailure(`--account '${id}': is no account here`, 2)
}
