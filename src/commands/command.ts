/** What every command is handed, and how it ends. */
import type { Command } from 'commander'
import type { Settings } from '../config.js'
import { loadSettings } from '../load-settings.js'

/** The standard streams; tests hand in their own. */
export interface Terminal {
  /** Standard output: the answer and nothing else. */
  out(text: string): void
  /** Standard error: progress, hints and problems. */
  note(text: string): void
  /** Whether a person watches standard error. */
  readonly interactive: boolean
}

/** A command adds itself to the program. */
export type AddCommand = (program: Command, terminal: Terminal) => void

/** Ends the program with a message for people and without a stack trace. */
export class CommandFailure extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.name = 'CommandFailure'
    this.exitCode = exitCode
  }
}

/** Settings as the `--config` option before the command and the environment say. */
export function settingsFor(command: Command): Settings {
  const { config } = command.optsWithGlobals<{ config?: string }>()
  return loadSettings({ file: config })
}
