/** `callgate evidence reconcile`: compares the call detail records of a carrier or of Asterisk with the recorded decisions. */
import { Argument, type Command, Option } from 'commander'
import { Trunks } from '../../asterisk/trunks.js'
import { parseLegNumber } from '../../asterisk/watch/leg-number.js'
import type { Settings } from '../../config/settings.js'
import type { BadLine } from '../../data/feeds/bad-lines.js'
import {
  type BilledLeg,
  type CallRecordsFile,
  callRecordColumns,
  readCallRecords,
  toNumberKey,
} from '../../data/feeds/call-records.js'
import type { DayOrder } from '../../data/feeds/days.js'
import type { TableOptions } from '../../data/feeds/table-layout.js'
import { openSourceFile } from '../../data/files/source-file.js'
import { sandboxAccountId } from '../../domain/caller.js'
import { getTimeZone } from '../../domain/time/time-zones.js'
import { DataFileError } from '../../errors.js'
import { mergeOutcome } from '../../gate/journal/merge-outcome.js'
import type { TimeRange } from '../../gate/journal/recorded-decisions.js'
import type { DecisionDocument } from '../../gate/record/decision-document.js'
import { instantOf } from '../../gate/record/recorded-facts.js'
import { systemClock } from '../../runtime/runtime.js'
import { checkAccount } from '../account-command.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from '../command.js'
import { datesOption } from '../import/table-options.js'
import { parseDuration } from '../option-values.js'
import { parseLimit } from '../rehearse/rehearse.js'
import { endByResult, exitCodesHelp } from './end-by-result.js'
import { type DecidedCall, type MatchOptions, matchLegs, relatedMs } from './match-legs.js'
import { findResult, type ReconcileReport, toCsv, toJson, toText } from './reconcile-report.js'
import { forEachCall, parsePeriod } from './recorded-calls.js'

interface ReconcileOptions {
  readonly from?: string
  readonly to?: string
  readonly account?: string
  readonly columns?: string
  readonly zone?: string
  readonly dates?: DayOrder
  readonly slack: string
  readonly legs: string
  readonly limit: number
  readonly json?: boolean
  readonly csv?: boolean
}

export const registerReconcile: RegisterCommand = (group, terminal) => {
  const command = group
    .command('reconcile')
    .description(
      'compare the call detail records of a carrier, or Master.csv of Asterisk, with the decisions: each leg must have its ' +
        'allow, and each allow its leg. Changes nothing; the server may be running',
    )
    .addArgument(
      new Argument('<cdr.csv>', 'a table with a header, or Master.csv; text, .gz or .zip'),
    )
    .option(
      '--from <time>',
      'legs from an instant, a date, or how long ago on (default: the first leg)',
    )
    .option('--to <time>', 'the same (default: the last leg)')
    .option('--account <id>', 'decisions of this account (default: all but the sandbox)')
    .option(
      '--columns <name=header,...>',
      'headers of the columns number, time, date, duration, id, decision (default: those with usual names)',
    )
    .option('--zone <name>', 'time zone of times without one, such as America/New_York or UTC')
    .addOption(datesOption)
    .option(
      '--slack <time>',
      'how much a leg may begin before its decision or after its end',
      '60s',
    )
    .option('--legs <n>', 'how many legs an allow may have, as with several trunks', '1')
    .option('--limit <n>', 'how many lines of each kind to show', parseLimit, 100)
    .addOption(new Option('--json', 'everything, as JSON').conflicts('csv'))
    .option('--csv', 'what does not match or cannot be read, as CSV')
    .addHelpText(
      'after',
      exitCodesHelp({
        proven: 'all legs and allows match',
        false: 'some do not',
        notProven: 'those that could be read match, or there are none',
      }),
    )
  endByResult(
    command,
    terminal,
    async (path: string, options: ReconcileOptions, invoked: Command) => {
      const report = await reconcile(invoked, path, options)
      const { account } = options
      if (account !== undefined && report.decisions === 0) await checkAccount(invoked, account)
      if (options.json) terminal.out(toJson(report))
      else terminal.out(options.csv ? toCsv(report) : toText(report, options.limit))
      return findResult(report)
    },
  )
}

async function reconcile(
  command: Command,
  path: string,
  options: ReconcileOptions,
): Promise<ReconcileReport> {
  const settings = loadCommandSettings(command)
  const matching = parseMatching(options)
  const stated = parseStatedPeriod(options)
  const marginMs = relatedMs + matching.slackMs
  const file = await readLegs(path, options, settings, (at) => {
    return at >= stated.since - marginMs && at < stated.until + marginMs
  })
  const period = findPeriod(file.legs, stated)
  const { calls, erased } = await readCalls(command, options.account, {
    since: period.since - marginMs,
    until: period.until + marginMs,
  })
  const isReported = ({ startsAt }: BilledLeg) =>
    startsAt >= period.since && startsAt < period.until
  const matched = matchLegs(
    file.legs.filter((leg) => !leg.isServiceCode),
    calls,
    { ...matching, ...period },
  )
  const decided = [...calls.values()].filter(
    ({ decidedAt }) => decidedAt >= period.since && decidedAt < period.until,
  )
  const inPeriod = file.legs.filter(isReported)
  return {
    ...{ file: path, account: options.account, period },
    rows: file.rows,
    comments: file.comments,
    notDialed: file.notDialed,
    inbound: file.inbound,
    outside: file.outside + file.legs.length - inPeriod.length,
    legs: inPeriod.length,
    hasTrunks: settings.asterisk.trunks.length > 0,
    decisions: decided.length,
    allows: decided.filter(({ isAllow }) => isAllow).length,
    erased,
    serviceCodes: inPeriod.filter((leg) => leg.isServiceCode),
    ...matched,
    unreadable: file.unreadable,
  }
}

function parseMatching(options: ReconcileOptions): Pick<MatchOptions, 'slackMs' | 'maxLegs'> {
  const { slack, legs, zone } = options
  const slackMs = parseDuration(slack, ['s', 'm', 'h'])
  if (slackMs === undefined) {
    throw new CommandFailure(`--slack '${slack}': must be a time such as 30s, 2m or 1h`, 2)
  }
  const maxLegs = /^[1-9]\d?$/.test(legs) ? Number(legs) : undefined
  if (maxLegs === undefined) {
    throw new CommandFailure(`--legs '${legs}': must be a whole number from 1 to 99`, 2)
  }
  if (zone !== undefined) {
    try {
      getTimeZone(zone)
    } catch {
      const rule = 'must be an IANA time zone, such as America/New_York or UTC'
      throw new CommandFailure(`--zone '${zone}': ${rule}`, 2)
    }
  }
  return { slackMs, maxLegs }
}

/** Infinite where the file decides. */
function parseStatedPeriod({ from, to }: ReconcileOptions): TimeRange {
  const now = systemClock.now()
  const since = from === undefined ? undefined : parsePeriod(from, to, now).since
  const until = to === undefined ? undefined : parsePeriod(from ?? '1970-01-01', to, now).until
  return { since: since ?? Number.NEGATIVE_INFINITY, until: until ?? Number.POSITIVE_INFINITY }
}

/** From the first leg to the last one, where it is not stated. */
function findPeriod(legs: readonly BilledLeg[], stated: TimeRange): TimeRange {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { startsAt, orStartsAt = startsAt } of legs) {
    first = Math.min(first, startsAt)
    last = Math.max(last, orStartsAt)
  }
  const since = Number.isFinite(stated.since) ? stated.since : first
  // Most files have whole seconds.
  const until = Number.isFinite(stated.until) ? stated.until : last + 1_000
  if (Number.isFinite(since) && Number.isFinite(until))
    return { since, until: Math.max(since, until) }
  throw new CommandFailure(
    'the file has no leg that can be read; state the time with --from and --to',
  )
}

/** More are no file of call detail records. */
const maxUnreadable = 100_000

async function readLegs(
  path: string,
  { columns, dates, zone }: ReconcileOptions,
  settings: Settings,
  isWanted: (at: number) => boolean,
) {
  const legs: BilledLeg[] = []
  const unreadable: BadLine[] = []
  let [notDialed, inbound, outside] = [0, 0, 0]
  const { rows, comments } = await readCallRecords({
    source: await openSourceFile(path),
    table: { columns: parseColumns(columns), dates },
    zone,
    serviceCodes: new Set(settings.gate.serviceCodes),
    readDialed: createDialReader(settings),
    onLeg: (leg) => {
      if (isWanted(leg.startsAt)) legs.push(leg)
      else outside += 1
    },
    onOther: () => {
      notDialed += 1
    },
    onInbound: () => {
      inbound += 1
    },
    onBadRow: (bad) => {
      unreadable.push(bad)
      if (unreadable.length > maxUnreadable) {
        const { line, value, rule } = unreadable[0] as BadLine
        const first = `line ${line} '${value}': ${rule}`
        throw new DataFileError(
          path,
          `more than ${maxUnreadable} rows cannot be read; the first: ${first}`,
        )
      }
    },
  })
  return { legs, unreadable, notDialed, inbound, outside, rows, comments }
}

function parseColumns(text: string | undefined): TableOptions['columns'] {
  if (text === undefined) return undefined
  const names = Object.keys(callRecordColumns)
  const named = text.split(',').map((one) => {
    const [, name = '', header = ''] = /^([^=]+)=(.+)$/.exec(one) ?? []
    if (name === '') {
      throw new CommandFailure(
        `--columns '${one}': must be <name>=<header>, separated by commas`,
        2,
      )
    }
    if (names.includes(name.trim())) return [name.trim(), [header.trim()]] as const
    throw new CommandFailure(
      `--columns '${name}': must be one of ${names.join(', ')}, with =<header>`,
      2,
    )
  })
  return Object.fromEntries(named)
}

/** Without trunks in the settings, each channel that Asterisk dialed may be one of a carrier. */
function createDialReader({ asterisk, gate }: Settings): CallRecordsFile['readDialed'] {
  const trunks = new Trunks(asterisk.trunks)
  const serviceCodes = new Set(gate.serviceCodes)
  const hasTrunks = asterisk.trunks.length > 0
  return (channel, dialString) => {
    const trunk = trunks.findByChannel(channel)
    if (hasTrunks && trunk === undefined) return undefined
    const [technology] = channel.split('/')
    const { dialPrefix = '' } = trunk ?? {}
    const read = parseLegNumber(dialString, { dialPrefix, serviceCodes, technology })
    if (read.kind === 'unreadable') return ''
    return read.kind === 'number' ? read.number : read.code
  }
}

/** Those of real calls, by their ids, with what is known of each. */
async function readCalls(command: Command, account: string | undefined, range: TimeRange) {
  const calls = new Map<string, DecidedCall>()
  let erased = 0
  await forEachCall(command, range, {
    onDecision({ document }) {
      const { accountId, whatIf, id } = document
      const isMeant = account === undefined ? accountId !== sandboxAccountId : accountId === account
      if (whatIf || !isMeant) return
      const known = calls.get(id)
      if (document.erased && known === undefined) erased += 1
      calls.set(id, toDecidedCall(document))
    },
    onOutcome(id, outcome) {
      const call = calls.get(id)
      if (call) call.outcome = mergeOutcome(call.outcome, outcome)
    },
  })
  return { calls, erased }
}

function toDecidedCall(document: DecisionDocument): DecidedCall {
  const { id, number, decision, reason, judgedAt, validUntil } = document
  const decidedAt = instantOf(document.decidedAt)
  return {
    id,
    number: toNumberKey(number),
    isAllow: decision === 'allow',
    reason,
    decidedAt,
    // By the clock of carriers; the sandbox may have its own.
    validUntil: decidedAt + instantOf(validUntil) - instantOf(judgedAt),
    outcome: {},
    legs: 0,
    hasWrongLeg: false,
  }
}
