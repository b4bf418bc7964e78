/** `callgate preview`: what decisions about the numbers of a file would be. */
import { type Command, Option } from 'commander'
import { previewEndpoint, readPreviewNumber } from '../../api/gate/preview.js'
import { type Callgate, openCallgate } from '../../app/callgate.js'
import type { Settings } from '../../config/settings.js'
import type { TableOptions } from '../../data/feeds/table-layout.js'
import type { TableArguments } from '../../data/feeds/table-options.js'
import { type CallKind, callKinds } from '../../domain/decision.js'
import { formatInstant } from '../../domain/time/dates.js'
import { truncate } from '../../errors.js'
import { DecisionCounts, type PreviewCall, previewDecision } from '../../gate/preview.js'
import type { DecisionReply } from '../../gate/record/decision-document.js'
import { formatCsvCell } from '../../runtime/csv-cell.js'
import { isPresent, writeWholeFile } from '../../runtime/folders.js'
import { monotonicSeconds, nodeRuntime } from '../../runtime/runtime.js'
import { mapConcurrently } from '../../runtime/yield-to-event-loop.js'
import { requireAccount } from '../account-command.js'
import { parseCallOptions } from '../check.js'
import {
  CommandFailure,
  formatTable,
  loadCommandSettings,
  type RegisterCommand,
  type Terminal,
} from '../command.js'
import { formatCount, formatNumber } from '../format.js'
import { columnOption, readTableOptions } from '../import/table-options.js'
import { type NumbersLine, numbersFileColumns, readNumbersLines } from '../numbers-file.js'
import { startProgress } from '../progress.js'

interface PreviewOptions extends TableArguments {
  readonly kind: CallKind
  readonly at?: string
  readonly project?: string
  readonly campaign?: string
  readonly account?: string
  readonly out?: string
}

export const registerPreview: RegisterCommand = (program, terminal) => {
  program
    .command('preview')
    .description('show what decisions about the numbers of a file would be; nothing is recorded')
    .argument(
      '<file>',
      'text, .gz or .zip: one number per line, or CSV with number and postal columns',
    )
    .addOption(
      new Option('--kind <kind>', 'kind of the calls').choices(callKinds).makeOptionMandatory(true),
    )
    .addOption(columnOption(numbersFileColumns))
    .option('--at <instant>', 'decide as of this instant, such as 2026-11-23T17:00:00Z')
    .option('--project <id>', 'project')
    .option('--campaign <id>', 'campaign')
    .option('--account <id>', 'account (default: gate.account)')
    .option('--out <csv>', 'new file for the decision, reason and next allowed time of each row')
    .addHelpText('after', helpText)
    .action(async (file: string, options: PreviewOptions, command: Command) => {
      const settings = loadCommandSettings(command)
      terminal.out(await preview(file, options, { settings, terminal }))
    })
}

const helpText =
  '\nEach row is decided as a call placed at that moment, or at --at. Rows whose number cannot be read are\n' +
  'blocked and counted too. A provider is asked about every row within the limits of its settings, in\n' +
  'addition to what a running server asks it, and may charge for it.\n' +
  '\nExample:\n' +
  '  callgate preview leads.csv --kind ai --at 2026-11-24T15:00:00Z --out decisions.csv\n'

interface PreviewContext {
  readonly settings: Settings
  readonly terminal: Terminal
}

async function preview(
  file: string,
  options: PreviewOptions,
  { settings, terminal }: PreviewContext,
): Promise<string> {
  const { out, account: accountId = settings.gate.account } = options
  const table = readTableOptions(options, numbersFileColumns)
  const call: PreviewCall = { ...parseFields(options), accountId, via: 'check' }
  if (out !== undefined && isPresent(out)) {
    throw new CommandFailure(`--out '${out}': already exists; name a new file`, 2)
  }
  const callgate = await openCallgate(withoutCache(settings), {
    ...nodeRuntime,
    processMetrics: false,
  })
  try {
    await requireAccount(callgate, accountId)
    const startedAt = monotonicSeconds()
    const work = (write: (text: string) => void) =>
      previewFile(file, { callgate, call, table, write, terminal })
    const counts = await (out === undefined ? work(() => undefined) : writeWholeFile(out, work))
    return describeCounts(counts, { file, call, out, seconds: monotonicSeconds() - startedAt })
  } finally {
    await callgate.close()
  }
}

/** Validated like a request for a preview, whose numbers are those of the file. */
function parseFields({
  kind: callKind,
  at,
  project: projectId,
  campaign: campaignId,
}: PreviewOptions) {
  const fields = { numbers: ['of the file'], callKind, at, projectId, campaignId }
  const { numbers: _, ...call } = parseCallOptions(previewEndpoint, fields)
  return call
}

/** The numbers of a file are usually distinct, so caching their answers would only take memory. */
function withoutCache(settings: Settings): Settings {
  const cache = { ...settings.gate.cache, maxEntries: 0 }
  return { ...settings, gate: { ...settings.gate, cache } }
}

/** So many rows wait for a provider at once. */
const maxPendingRows = 1_000
const header = 'line,number,postal,decision,reason,nextAllowedAt,message\r\n'

interface FilePreview {
  readonly callgate: Callgate
  readonly call: PreviewCall
  readonly table: TableOptions
  readonly write: (text: string) => void
  readonly terminal: Terminal
}

/** Decides on the rows of each chunk of the file before the next one is read. */
async function previewFile(
  file: string,
  { callgate, call, table, write, terminal }: FilePreview,
): Promise<DecisionCounts> {
  const { gate, settings } = callgate
  const counts = new DecisionCounts()
  const progress = startProgress('preview', terminal)
  let rows: NumbersLine[] = []
  write(header)
  try {
    await readNumbersLines(file, {
      serviceCodes: new Set(settings.gate.serviceCodes),
      table,
      onLine: (row) => rows.push(row),
      onBytes: (done, total) => progress.update(done, total, counts.total),
      async afterChunk() {
        const read = rows
        rows = []
        const decided = mapConcurrently(read, maxPendingRows, async (row) => ({
          row,
          document: await previewDecision(gate, call, toPreviewNumber(row)),
        }))
        let text = ''
        for await (const { row, document } of decided) {
          counts.add(document)
          text += formatRow(row, document)
        }
        write(text)
      },
    })
  } finally {
    progress.stop()
  }
  if (counts.total > 0) return counts
  throw new CommandFailure(`${file}: contains no numbers`)
}

function toPreviewNumber({ text, number, postalCode, problem }: NumbersLine) {
  if (problem !== undefined) return { dialed: truncate(text), problem }
  return readPreviewNumber({ number, postalCode })
}

function formatRow({ line, number, postalCode, text }: NumbersLine, document: DecisionReply) {
  const { decision, reason, nextAllowedAt, message } = document
  const cells = [number ?? text, postalCode, decision, reason, nextAllowedAt, message]
  return `${line},${cells.map((cell) => formatCsvCell(cell ?? '')).join(',')}\r\n`
}

function describeCounts(
  counts: DecisionCounts,
  {
    file,
    call: { callKind, accountId, at },
    out,
    seconds,
  }: {
    readonly file: string
    readonly call: PreviewCall
    readonly out: string | undefined
    readonly seconds: number
  },
): string {
  const { allowed, blocked, total } = counts
  const asOf = at === undefined ? 'now' : `as of ${formatInstant(at)}`
  const rate = Math.round(total / Math.max(seconds, 0.001))
  const rows = Object.entries(counts.byReason()).map(([reason, count]) => [
    reason,
    formatNumber(count),
  ])
  return [
    `${file}: ${formatCount(total, 'row')}, ${callKind} calls, account ${accountId}, ${asOf}`,
    `${formatNumber(allowed)} would be allowed, ${formatNumber(blocked)} blocked`,
    '',
    formatTable(['reason', 'rows'], rows),
    `took ${seconds.toFixed(1)} s, ${formatCount(rate, 'row')} a second`,
    ...(out === undefined ? [] : [`the decision of each row is in ${out}`]),
    '',
  ].join('\n')
}
