/**
 * `callgate import ported`: numbers that went from a wireline to a wireless carrier and the other
 * way. Each direction is a list of its own; files of both are judged before either is replaced.
 */
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import type { Settings } from '../config.js'
import { portedListOf } from '../data/feeds/ported-numbers.js'
import {
  importList,
  type ListImportOptions,
  type ListImportSummary,
} from '../data/number-list/list-import.js'
import { CommandFailure, settingsFor, type Terminal } from './command.js'
import { addListOptions, type ListOptions, listOptions } from './import-lists.js'
import { lines } from './import-options.js'
import { describeRun, type ImportHooks, runImport } from './import-run.js'
import { describeList, noteAge } from './import-summary.js'

type PortedList = 'ported-wireless' | 'ported-wireline'

interface PortedOptions extends ListOptions {
  readonly to?: 'wireless' | 'wireline'
}

export function addPortedImport(group: Command, terminal: Terminal): void {
  const command = group
    .command('ported')
    .description('numbers ported from wireline to wireless, and from wireless to wireline')
    .argument('<file...>', 'text, .gz or .zip: a number or a range such as 8505550100|0123 a line')
    .addOption(
      new Option(
        '--to <kind>',
        'where the numbers of files went whose names do not say it',
      ).choices(['wireless', 'wireline']),
    )
  addListOptions(command)
  command
    .addHelpText(
      'after',
      '\nFiles called WIRELINE-TO-WIRELESS... become the list ported-wireless, those called\n' +
        'WIRELESS-TO-WIRELINE... the list ported-wireline. Files of both are judged before either\n' +
        'list is replaced. They should be of the same day: a call to a number that was ported more\n' +
        'than 15 days ago must know it (47 CFR 64.1200(a)(1)(iv)), so an older list counts no more.\n',
    )
    .action((files: string[], options: PortedOptions, self: Command) =>
      importPorted(settingsFor(self), terminal, { files, options }),
    )
}

interface Wanted {
  readonly files: readonly string[]
  readonly options: PortedOptions
}

async function importPorted(
  settings: Settings,
  terminal: Terminal,
  { files, options }: Wanted,
): Promise<void> {
  const wanted = [...filesByList(files, options.to)].map(([name, own]) =>
    listOptions(settings, { feed: 'ported', name, files: own, options }),
  )
  const run = { name: 'ported', settings, options, terminal }
  const result = await runImport(run, (hooks) => importAll(wanted, hooks))
  for (const summary of result.summary) {
    terminal.out(lines(describeList(summary, settings.lists)))
    noteAge(summary, settings.lists, terminal)
  }
  const rows = result.summary.reduce((sum, one) => sum + one.rows, 0)
  terminal.out(lines(describeRun(result, rows)))
}

/** Of several lists none is replaced before all are judged, so that they stay of one day. */
async function importAll(
  wanted: readonly ListImportOptions[],
  { rejects, onProgress }: ImportHooks,
): Promise<readonly ListImportSummary[]> {
  const judgeFirst = wanted.length > 1 && wanted.every(({ dryRun }) => dryRun !== true)
  for (const list of judgeFirst ? wanted : []) {
    await importList({ ...list, dryRun: true, rejects, onProgress })
  }
  const summaries: ListImportSummary[] = []
  for (const list of wanted) {
    const told = judgeFirst ? undefined : rejects
    summaries.push(await importList({ ...list, rejects: told, onProgress }))
  }
  return summaries
}

/** Throws {@link CommandFailure} for a file of which neither its name nor `to` says what it is. */
function filesByList(
  files: readonly string[],
  to: PortedOptions['to'],
): ReadonlyMap<PortedList, readonly string[]> {
  const stated = to && (`ported-${to}` as const)
  const byList = new Map<PortedList, string[]>()
  for (const file of files) {
    const named = portedListOf(basename(file))
    const list = named ?? stated
    if (list === undefined) {
      const rule = 'its name does not say what it holds; say --to wireless or --to wireline'
      throw new CommandFailure(`${file}: ${rule}`, 2)
    }
    if (stated !== undefined && list !== stated) {
      throw new CommandFailure(`--to ${to}: the name of ${file} says ${list}`, 2)
    }
    byList.set(list, [...(byList.get(list) ?? []), file])
  }
  return byList
}
