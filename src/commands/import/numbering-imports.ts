/** `callgate import numbering`, `blocks` and `ocn`: the places and line kinds of numbers. */
import type { Command } from 'commander'
import { getNumberingFolder } from '../../app/data-folders.js'
import type { PrefixFeedReport } from '../../data/feeds/numbering/prefix-feed.js'
import { toVersion } from '../../data/number-list/format/number-list-format.js'
import { defaultMaxBadRows } from '../../data/numbering/import/import-limits.js'
import {
  type ImportChanges,
  importBlocks,
  importNumbering,
  importOcnClasses,
  type NumberingImportSummary,
  type OcnImportSummary,
  type PrefixImportSummary,
  type TableImportSummary,
} from '../../data/numbering/import/numbering-import.js'
import type { NumberingFileName } from '../../data/numbering/published-numbering.js'
import { formatInstant } from '../../domain/time/dates.js'
import { systemClock } from '../../runtime/runtime.js'
import type { Terminal } from '../command.js'
import { formatCount, formatNumber } from '../format.js'
import { type ImportFeed, type ImportRequest, registerImportFeed } from './import-feed.js'
import {
  badLinesOptions,
  describeDifference,
  describeDryRun,
  dryRunOption,
  type ImportOptions,
  parseWholeNumber,
} from './import-options.js'
import { publishImport } from './publish-lists.js'

type NumberingFeed<Summary> = ImportFeed<ImportOptions, Summary>

export function registerNumberingImports(group: Command, terminal: Terminal): void {
  registerImportFeed(group, terminal, prefixFeed)
  registerImportFeed(group, terminal, blockFeed)
  registerImportFeed(group, terminal, ocnFeed)
}

function toImportOptions({ settings, options }: ImportRequest<ImportOptions>) {
  return {
    folder: getNumberingFolder(settings),
    clock: systemClock,
    badLinesAllowed: parseWholeNumber('--bad-lines', options.badLines),
    dryRun: options.dryRun,
  }
}

function listVersions(name: NumberingFileName, summary: ImportChanges | undefined) {
  const sha256 = summary?.sha256OfFile
  return sha256 === undefined ? [] : [{ name, version: toVersion(sha256) }]
}

/** Bad rows are accepted by default, since reports often have a few and they affect no other numbers. */
const badRowsOptions = badLinesOptions(
  'row',
  `skip up to n rows of a file that cannot be read (default: ${defaultMaxBadRows})`,
)

const prefixFeed: NumberingFeed<NumberingImportSummary> = {
  name: 'numbering',
  description: 'prefixes of the US and Canada, from the reports of the numbering administrators',
  arguments: [
    ['<nanpa>', 'NANPA "utilized codes, all states" report, zip or text'],
    ['[cnac]', 'CNAC "CO code status, all NPAs" report, zip or CSV'],
  ],
  options: [...badRowsOptions, dryRunOption],
  help:
    'Both are public and free: nanpa.com (reports, CO code assignment records) and cnac.ca.\n' +
    'Once they are imported, a prefix that is not in them is treated as unassigned.\n',
  run: (request, observer) => {
    const [nanpa, cnac] = request.args
    const change = () => importNumbering({ nanpa, cnac, ...toImportOptions(request), ...observer })
    const names = ['numbering-us', ...(cnac === undefined ? [] : ['numbering-ca'])]
    return publishImport(request, names, {
      change,
      listVersions: ({ US, CA }) => [
        ...listVersions('numbering-us', US),
        ...listVersions('numbering-ca', CA),
      ],
    })
  },
  countRows: (summary) => listCountries(summary).reduce((sum, { read }) => sum + read, 0),
  describe: (summary) => listCountries(summary).flatMap(describePrefixes),
}

function listCountries({ US, CA }: NumberingImportSummary): readonly PrefixImportSummary[] {
  return [US, CA].filter((one) => one !== undefined)
}

function describePrefixes(summary: PrefixImportSummary): string[] {
  const { country, accepted, asOf, dryRun } = summary
  const dated = asOf === undefined ? 'undated' : `as of ${formatInstant(asOf)}`
  return [
    `${country}: ${formatNumber(accepted)} prefixes, ${dated}${describeDryRun(dryRun)}`,
    ...describeReport(summary),
    `  ${formatNumber(summary.undecidedZones)} prefixes may be in several time zones; all of them must permit a call`,
  ]
}

const maxShownBadRows = 20

function describeReport(summary: Omit<PrefixFeedReport, 'asOf'> & ImportChanges): string[] {
  const { read, path, sha256, skipped: notKept, bad } = summary
  const skipped = Object.entries(notKept).map(([reason, rows]) => `${formatNumber(rows)} ${reason}`)
  return [
    `  read ${formatCount(read, 'row')} of ${path} (sha256 ${sha256.slice(0, 16)})`,
    ...describeDifference(summary),
    ...(skipped.length > 0 ? [`  not kept: ${skipped.join(', ')}`] : []),
    ...bad.slice(0, maxShownBadRows).map(({ line, reason }) => `  bad line ${line}: ${reason}`),
  ]
}

const blockFeed: NumberingFeed<TableImportSummary> = {
  name: 'blocks',
  description: 'thousands blocks of the US: the companies that share a pooled prefix',
  arguments: [['<file>', 'NANPA "thousands block assignment" report, zip or CSV']],
  options: [...badLinesOptions('block'), dryRunOption],
  help:
    'Public and free: nanpa.com. An assigned block overrides its prefix: its company determines the\n' +
    'kind of line, and its rate center, if different, the place.\n',
  run: (request, observer) => {
    const [file = ''] = request.args
    return publishImport(request, ['blocks-us'], {
      change: () => importBlocks({ file, ...toImportOptions(request), ...observer }),
      listVersions: (summary) => listVersions('blocks-us', summary),
    })
  },
  countRows: ({ read }) => read,
  describe: (summary) => [
    `${formatNumber(summary.accepted)} assigned thousands blocks of the US` +
      describeDryRun(summary.dryRun),
    ...describeReport(summary),
    `  ${formatNumber(summary.undecidedZones)} blocks have a rate center that may be in several time zones`,
  ],
}

const ocnFeed: NumberingFeed<OcnImportSummary> = {
  name: 'ocn',
  description: 'line classes of operating companies (wireless, wireline, voip)',
  arguments: [['<csv>', 'CSV with the columns ocn and class']],
  options: [...badRowsOptions, dryRunOption],
  run: (request, observer) => {
    const [file = ''] = request.args
    return publishImport(request, ['ocn'], {
      change: () => importOcnClasses({ file, ...toImportOptions(request), ...observer }),
      listVersions: (summary) => listVersions('ocn', summary),
    })
  },
  countRows: ({ read }) => read,
  describe: (summary) => [
    `${formatNumber(summary.accepted)} operating companies${describeDryRun(summary.dryRun)}`,
    ...describeReport(summary),
  ],
}
