/** Runs a command of the program in this process, with a terminal that remembers what it was told. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command, CommanderError } from 'commander'
import { CommandFailure, type RegisterCommand } from '../../src/commands/command.js'
import { AppError, DataFileError } from '../../src/errors.js'
import type { Ended } from './program.js'

/** Settings of the tests, one a line, in a file in the data folder or in another. */
export interface CommandSettings {
  readonly dataDir: string
  readonly more?: string
  readonly configFolder?: string
}

/** What the program would print and how it would end; a bug is thrown. */
export async function runCommand(
  add: RegisterCommand,
  args: readonly string[],
  { dataDir, more = '', configFolder = dataDir }: CommandSettings,
): Promise<Ended> {
  const config = join(configFolder, 'callgate.yaml')
  writeFileSync(config, `dataDir: ${dataDir}\n${more}`)
  const written: string[] = []
  const noted: string[] = []
  const heard = {
    writeOut: (text: string) => void written.push(text),
    writeErr: (text: string) => void noted.push(text),
  }
  const program = new Command('callgate')
    .option('--config <file>')
    .option('--person <name>')
    .exitOverride()
    .configureOutput(heard)
  add(program, { out: heard.writeOut, note: heard.writeErr, interactive: false })
  try {
    await program.parseAsync(['--config', config, ...args], { from: 'user' })
    return { code: 0, out: written.join(''), err: noted.join('') }
  } catch (cause) {
    const { code, message } = failureOf(cause)
    return { code, out: written.join(''), err: noted.join('') + message }
  }
}

function failureOf(cause: unknown): { readonly code: number; readonly message: string } {
  if (cause instanceof CommanderError) return { code: cause.exitCode === 0 ? 0 : 2, message: '' }
  if (cause instanceof CommandFailure) return { code: cause.exitCode, message: cause.message }
  if (cause instanceof AppError || cause instanceof DataFileError) {
    return { code: 1, message: cause.message }
  }
  throw cause
}
