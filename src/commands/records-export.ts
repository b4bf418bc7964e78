/** `callgate records export ...`: opt-outs and consents as tables. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import type { Command } from 'commander'
import { DataFileError } from '../errors.js'
import {
  exportConsents,
  exportOptOuts,
  type RecordsExported,
} from '../service/records/records-export.js'
import type { Terminal } from './command.js'
import { requireAccount, withFoundation } from './foundation.js'
import { some } from './import-options.js'

interface ExportOptions {
  readonly account: string
  readonly project?: string
}

const exports = [
  {
    name: 'opt-outs',
    description: 'the numbers on the internal do-not-call list, each with its latest opt-out',
    run: exportOptOuts,
  },
  {
    name: 'consents',
    description: 'the relationship and consent records in force, expired ones too',
    run: exportConsents,
  },
] as const

export function addExports(records: Command, terminal: Terminal): void {
  const group = records.command('export').description('write a table that import reads again')
  for (const { name, description, run } of exports) {
    group
      .command(name)
      .description(description)
      .argument('[csv]', 'file to write; replaced when it is there (default: standard output)')
      .option('--account <id>', 'account', 'main')
      .option('--project <code>', 'project (default: the Master Project)')
      .action((path: string | undefined, options: ExportOptions, self: Command) =>
        withFoundation(self, async (foundation) => {
          const { account: accountId, project: projectId } = options
          await requireAccount(foundation, accountId)
          const work = (write: (text: string) => void) =>
            run(foundation, { accountId, projectId, write })
          const told = await (path === undefined
            ? work((text) => terminal.out(text))
            : intoFile(path, work))
          terminal.note(describe(name, told))
        }),
      )
  }
}

function describe(name: string, { project, rows, leftOut }: RecordsExported): string {
  const ended = leftOut > 0 ? `; ${some(leftOut, 'record')} that an opt-out ended left out` : ''
  return `${name}: project ${project}, ${some(rows, 'row')}${ended}\n`
}

/** The file is there whole or not at all. */
async function intoFile<Result>(
  path: string,
  work: (write: (text: string) => void) => Promise<Result>,
): Promise<Result> {
  const aside = `${path}.${process.pid}.part`
  try {
    const file = openSync(aside, 'wx', 0o600)
    try {
      const result = await work((text) => writeAll(file, text))
      fsyncSync(file)
      renameSync(aside, path)
      return result
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    rmSync(aside, { force: true })
    if (!(cause instanceof Error && 'syscall' in cause)) throw cause
    throw new DataFileError(path, `cannot be written: ${cause.message}`, cause)
  }
}

function writeAll(file: number, text: string): void {
  const bytes = Buffer.from(text, 'utf8')
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}
