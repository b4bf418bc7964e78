/** `callgate import us-dnc-changes`: the registry's daily change files, applied to the list in use. */
import type { Command } from 'commander'
import { importChanges } from '../data/number-list/list-changes.js'
import { nationalListNames } from '../data/number-list/list-names.js'
import { listsFolder } from '../data-folders.js'
import { systemClock } from '../domain/clock.js'
import { settingsFor, type Terminal } from './command.js'
import {
  addAsOf,
  addBadLines,
  addDryRun,
  asOfInstant,
  type ImportOptions,
  lines,
  wholeNumber,
} from './import-options.js'
import { describeRun, runImport } from './import-run.js'
import { describeChanges, noteAge } from './import-summary.js'

interface ChangesOptions extends ImportOptions {
  readonly allowGap?: true
}

export function addChangesImport(group: Command, terminal: Terminal): void {
  const command = group
    .command('us-dnc-changes')
    .description('changes of the US registry since the list in use; days may come in any order')
    .argument('<file...>', 'text, .gz or .zip: number, time, A or D')
    .option('--allow-gap', 'accept that days between the list and the changes are missing')
  addAsOf(command, 'the latest time in the files')
  addBadLines(command, 'change')
  addDryRun(command)
    .addHelpText(
      'after',
      '\nA line is 8505550123,2026-11-18T08:00:00,A; A adds, D deletes, the later one counts. A\n' +
        'deletion older than the list is left out. A number of an area code the list does not speak\n' +
        'for is a bad line: load the full list of that area code. When a day is missing between the\n' +
        'list and the changes nothing is imported; load a full list, or say --allow-gap.\n',
    )
    .action((files: string[], options: ChangesOptions, self: Command) =>
      applyChanges(self, terminal, { files, options }),
    )
}

interface Wanted {
  readonly files: readonly string[]
  readonly options: ChangesOptions
}

async function applyChanges(
  self: Command,
  terminal: Terminal,
  { files, options }: Wanted,
): Promise<void> {
  const settings = settingsFor(self)
  const name = nationalListNames.US
  const wanted = {
    ...{ name, files, folder: listsFolder(settings), clock: systemClock },
    keepVersions: settings.lists.keepVersions,
    asOf: asOfInstant(options.asOf),
    allowGap: options.allowGap,
    badLinesAllowed: wholeNumber('--bad-lines', options.badLines),
    dryRun: options.dryRun,
  }
  const run = { name: 'us-dnc-changes', settings, options, terminal }
  const result = await runImport(run, (hooks) => importChanges({ ...wanted, ...hooks }))
  const { summary } = result
  terminal.out(
    lines([...describeChanges(summary, settings.lists), ...describeRun(result, summary.rows)]),
  )
  noteAge(summary, settings.lists, terminal)
}
