/** `callgate records export ...`: writes opt-outs, or relationship and permission records, as CSV. */
import type { Command } from 'commander'
import { getNumberingFolder } from '../../app/data-folders.js'
import { openNumberingPlan } from '../../data/numbering/numbering-plan.js'
import { createOperatorCaller } from '../../domain/caller.js'
import { writeWholeFile } from '../../runtime/folders.js'
import { createReadLog } from '../../service/audit/read-log.js'
import {
  exportEbrRecords,
  exportOptOuts,
  type RecordsExportSummary,
} from '../../service/records/records-export.js'
import { forAccount } from '../account-command.js'
import type { Terminal } from '../command.js'
import { formatCount } from '../format.js'

const exports = [
  {
    name: 'opt-outs',
    description: 'the numbers on the internal do-not-call list, each with its latest opt-out',
    run: exportOptOuts,
  },
  {
    name: 'consents',
    description: 'the current relationship and permission records, including expired ones',
    run: exportEbrRecords,
  },
] as const

export function registerExports(records: Command, terminal: Terminal): void {
  const group = records.command('export').description('write a CSV file that import can read')
  for (const { name, description, run } of exports) {
    group
      .command(name)
      .description(description)
      .argument('[csv]', 'file to write; replaced if it exists (default: standard output)')
      .option('--account <id>', 'account', 'main')
      .option('--project <code>', 'project (default: the Master Project)')
      .action(
        forAccount<{ readonly project?: string }>(async (context, { accountId, args, options }) => {
          const [path] = args
          const { settings } = context
          const numberingPlan = openNumberingPlan({
            folder: getNumberingFolder(settings),
            unknownPrefix: settings.numbering.unknownPrefix,
          })
          const of = options.project ?? 'the Master Project'
          await context.changeRequests.require(createOperatorCaller(accountId), {
            ...{ kind: 'export', what: `exporting the ${name} of ${of}` },
            request: { export: name, project: options.project },
          })
          const recordRead = createReadLog(context.storage, context.runtime.clock)
          const subject = { kind: name, id: options.project ?? accountId }
          await recordRead(createOperatorCaller(accountId), { what: 'records.exported', subject })
          const work = (write: (text: string) => void) =>
            run({ ...context, numberingPlan }, { accountId, projectId: options.project, write })
          const summary = await (path === undefined
            ? work((text) => terminal.out(text))
            : writeWholeFile(path, work))
          terminal.note(describeExport(name, summary))
        }),
      )
  }
}

function describeExport(name: string, { project, rows, omitted }: RecordsExportSummary): string {
  const omittedText =
    omitted > 0 ? `; ${formatCount(omitted, 'record')} omitted because an opt-out ended them` : ''
  return `${name}: project ${project}, ${formatCount(rows, 'row')}${omittedText}\n`
}
