/** The types and helpers shared by all commands. */
import { statSync } from 'node:fs'
import type { Command } from 'commander'
import { loadSettings } from '../config/load.js'
import type { Settings } from '../config/settings.js'
import { getErrorMessage } from '../errors.js'
import { giveToOwner } from '../runtime/folders.js'

/** The standard streams; tests pass their own. */
export interface Terminal {
  /** Standard output: only the result. */
  out(text: string): void
  /** Standard error: progress, hints and problems. */
  note(text: string): void
  /** Whether standard error is a terminal. */
  readonly interactive: boolean
}

/** Adds a command to the program. */
export type RegisterCommand = (program: Command, terminal: Terminal) => void

/** Ends the program with a message and without a stack trace. */
export class CommandFailure extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.name = 'CommandFailure'
    this.exitCode = exitCode
  }
}

/** The settings file of the `--config` option of the program. */
export function findConfigOption(command: Command): string | undefined {
  return command.optsWithGlobals<{ config?: string }>().config
}

/** The name of the `--person` option of the program, in lower case. Throws {@link CommandFailure} unless it is one name. */
export function findPersonOption(command: Command): string | undefined {
  const { person } = command.optsWithGlobals<{ person?: string }>()
  if (person === undefined) return undefined
  const name = person.normalize('NFC').trim().toLowerCase()
  if (/^[\p{L}\p{N}][\p{L}\p{N}.@_-]{0,59}$/u.test(name)) return name
  const rule = 'must be one name of at most 60 letters, digits and the characters . @ _ -'
  throw new CommandFailure(`--person '${person}': ${rule}`, 2)
}

/** Loads the settings from the `--config` option of the program and the environment. */
export function loadCommandSettings(command: Command): Settings {
  const settings = loadSettings({ file: findConfigOption(command) })
  if (process.getuid?.() === 0) keepOwners(settings)
  return settings
}

/** When a command that root runs ends, gives the files that it wrote into another user's folder to that user. */
function keepOwners({ dataDir, lists, numbering }: Settings): void {
  const folders = [dataDir, lists.folder, numbering.folder].filter((one) => one !== undefined)
  const ofOthers = folders.filter((one) => statSync(one, { throwIfNoEntry: false })?.uid)
  if (ofOthers.length === 0) return
  process.once('exit', () => {
    for (const folder of ofOthers) {
      try {
        giveToOwner(folder)
      } catch (cause) {
        const fix = `run chown -R --reference=${folder} ${folder}`
        process.stderr.write(
          `callgate: cannot give the files of root in ${folder} to the owner of the folder: ${getErrorMessage(cause)}; ${fix}\n`,
        )
      }
    }
  })
}

/** Formats rows as aligned columns for a terminal. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  return `${[head, ...rows].map(line).join('\n')}\n`
}

/** Texts of whoever has asked for something, on one line and without control characters. */
export function toPlainText(text: string | undefined): string {
  return text?.replaceAll(/\p{C}/gu, ' ') ?? ''
}
