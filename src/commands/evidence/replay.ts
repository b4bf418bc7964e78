/** `callgate evidence replay`: judges recorded decisions again, and compares what comes out with their records. */
import { join } from 'node:path'
import { Argument, type Command } from 'commander'
import {
  type Configuration,
  type ConfigurationVersions,
  computeVersions,
} from '../../app/configuration.js'
import { formatInstant } from '../../domain/time/dates.js'
import { DataFileError, getErrorMessage } from '../../errors.js'
import type { EvidenceResult } from '../../evidence/result.js'
import { readIdInstant } from '../../gate/journal/projection/decision-months.js'
import type { RecordedDecision, TimeRange } from '../../gate/journal/recorded-decisions.js'
import { readRules } from '../../gate/journal/recovery/kept-rules.js'
import type { DecisionDocument } from '../../gate/record/decision-document.js'
import { systemClock } from '../../runtime/runtime.js'
import { checkAccount } from '../account-command.js'
import { CommandFailure, findConfigOption, type RegisterCommand } from '../command.js'
import { formatCount, formatNumber, joinLines } from '../format.js'
import { defaultLimit, parseLimit, readRehearsed, unjudgedTexts } from '../rehearse/rehearse.js'
import {
  prepareRules,
  type Rules,
  type UnjudgedReason,
  unjudgedReasons,
} from '../rehearse/rejudge.js'
import { endByResult, exitCodesHelp } from './end-by-result.js'
import { forEachDecision, parsePeriod } from './recorded-calls.js'
import { type MemberDifference, replay } from './replay-decision.js'

interface ReplayOptions {
  readonly from?: string
  readonly to?: string
  readonly account?: string
  readonly rules?: string
  readonly policy?: string
  readonly limit: number
  readonly json?: boolean
}

/** `no-rules`: the calling rules that the record names cannot be read. */
type NotReplayedReason = UnjudgedReason | 'no-rules'

interface DifferentRecord {
  readonly id: string
  readonly decidedAt: string
  readonly accountId: string
  readonly members: readonly MemberDifference[]
}

/** Of records: a decision that changed before its answer left has two. */
export interface ReplayReport {
  readonly result: EvidenceResult
  readonly from: string
  readonly to: string
  readonly account?: string | undefined
  /** What they were judged again by, as `callgate reload` names it. */
  readonly versions: { readonly settings: string; readonly rules: readonly string[] }
  readonly records: number
  readonly same: number
  readonly different: number
  /** Blocked by the gate itself, before any check. */
  readonly byGate: number
  readonly notReplayed: Readonly<Partial<Record<NotReplayedReason, number>>>
  /** Which of the calling rules that records name cannot be read, and why. */
  readonly unreadRules: readonly string[]
  /** The first ones. */
  readonly differences: readonly DifferentRecord[]
}

export const registerReplay: RegisterCommand = (group, terminal) => {
  const command = group
    .command('replay')
    .description(
      'judge recorded decisions again, from the facts in their records, and compare every byte. Changes nothing; the ' +
        'server may be running',
    )
    .addArgument(new Argument('[decision-id]', 'one decision'))
    .option(
      '--from <time>',
      'those from an instant or a date on, or from how long ago: 7d, 24h, 30m',
    )
    .option('--to <time>', 'the same (default: now)')
    .option('--account <id>', 'only this account (default: all)')
    .option('--rules <file>', 'calling rules (default: those that each record names)')
    .option(
      '--policy <file>',
      'settings file of that time; the settings it contains replace those in use: policy, gate, callingHours',
    )
    .option('--limit <n>', 'how many records that differ to list', parseLimit, defaultLimit)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      exitCodesHelp({
        proven: 'every record comes out the same',
        false: 'one differs',
        notProven: 'none differs, but something could not be judged again, or there is none',
      }),
    )
  endByResult(
    command,
    terminal,
    async (id: string | undefined, options: ReplayOptions, invoked: Command) => {
      const report = await replayAll(invoked, id, options)
      const isNone = report.records === 0
      if (isNone && options.account !== undefined) await checkAccount(invoked, options.account)
      if (isNone && id !== undefined) throw new CommandFailure(`decision '${id}' not found`)
      terminal.out(options.json ? `${JSON.stringify(report, null, 2)}\n` : formatReport(report))
      return report.result
    },
  )
}

async function replayAll(
  command: Command,
  id: string | undefined,
  options: ReplayOptions,
): Promise<ReplayReport> {
  const { account, limit } = options
  const range = findRange(id, options)
  const configuration = readRehearsed(options, findConfigOption(command))
  const versionsOfRules = new RulesByVersion(configuration, options.rules !== undefined)
  const counter = new ReplayCounter(versionsOfRules, limit)
  await forEachDecision(command, range, async (recorded) => {
    const { document } = recorded
    if (id !== undefined && document.id !== id) return
    if (account === undefined || document.accountId === account) counter.add(recorded)
  })
  const { versions, unread: unreadRules } = versionsOfRules
  const [from, to] = [formatInstant(range.since), formatInstant(range.until)]
  const counts = counter.report()
  return { result: findResult(counts), from, to, account, versions, unreadRules, ...counts }
}

/** A decision is made at most a few seconds after its id. */
const maxAfterIdMs = 600_000

function findRange(id: string | undefined, { from, to }: ReplayOptions): TimeRange {
  if (id === undefined) {
    if (from !== undefined) return parsePeriod(from, to, systemClock.now())
    throw new CommandFailure('name a decision, or the time of decisions with --from', 2)
  }
  if (from !== undefined || to !== undefined) {
    throw new CommandFailure('--from and --to: must not be used with the id of a decision', 2)
  }
  const since = readIdInstant(id)
  if (since !== undefined) return { since, until: since + maxAfterIdMs }
  throw new CommandFailure(
    `<decision-id> '${id}': must be 29 letters and digits, as in a record`,
    2,
  )
}

/** By the calling rules that records name, or by the given ones alone. */
class RulesByVersion {
  readonly #configuration: Configuration
  readonly #given: string | undefined
  readonly #versions: ConfigurationVersions
  readonly #known = new Map<string, Rules | undefined>()
  readonly unread: string[] = []

  constructor(configuration: Configuration, areRulesGiven: boolean) {
    this.#configuration = configuration
    this.#versions = computeVersions(configuration)
    this.#given = areRulesGiven ? this.#versions.rules : undefined
  }

  get versions(): ReplayReport['versions'] {
    const rules = [...this.#known].flatMap(([version, known]) => (known ? [version] : []))
    return { settings: this.#versions.settings, rules }
  }

  /** `undefined` if they cannot be read. */
  find({ rules }: DecisionDocument): Rules | undefined {
    const version = this.#given ?? rules
    if (!this.#known.has(version)) this.#known.set(version, this.#create(version))
    return this.#known.get(version)
  }

  #create(version: string): Rules | undefined {
    const { settings, rules } = this.#configuration
    if (version === this.#versions.rules) return prepareRules({ settings, rules })
    try {
      const text = readRules(join(settings.dataDir, 'journal'), version)
      return prepareRules({ settings, rules: JSON.parse(text.toString()) })
    } catch (cause) {
      // A center keeps what an edge sent, whatever it is.
      const rule = 'cannot be used as calling rules'
      const isNamed = cause instanceof DataFileError
      this.unread.push(isNamed ? cause.message : `${version}: ${rule}: ${getErrorMessage(cause)}`)
      return undefined
    }
  }
}

class ReplayCounter {
  readonly #rules: RulesByVersion
  readonly #maxListed: number
  readonly #counts = { records: 0, same: 0, different: 0, byGate: 0 }
  readonly #notReplayed = new Map<NotReplayedReason, number>()
  readonly #differences: DifferentRecord[] = []

  constructor(rules: RulesByVersion, maxListed: number) {
    this.#rules = rules
    this.#maxListed = maxListed
  }

  add(recorded: RecordedDecision): void {
    const counts = this.#counts
    counts.records += 1
    const rules = this.#rules.find(recorded.document)
    if (rules === undefined) {
      this.#addNotReplayed('no-rules')
      return
    }
    const found = replay(rules, recorded)
    if (found.kind === 'by-gate') {
      counts.byGate += 1
      return
    }
    if (found.kind === 'not-replayed') {
      this.#addNotReplayed(found.why)
      return
    }
    counts[found.kind] += 1
    if (found.kind === 'different' && this.#differences.length < this.#maxListed) {
      const { id, decidedAt, accountId } = recorded.document
      this.#differences.push({ id, decidedAt, accountId, members: found.members })
    }
  }

  #addNotReplayed(why: NotReplayedReason): void {
    this.#notReplayed.set(why, (this.#notReplayed.get(why) ?? 0) + 1)
  }

  report() {
    const notReplayed = Object.fromEntries(this.#notReplayed)
    return { ...this.#counts, notReplayed, differences: this.#differences }
  }
}

function findResult({
  records,
  different,
  notReplayed,
}: Pick<ReplayReport, 'records' | 'different' | 'notReplayed'>): EvidenceResult {
  if (different > 0) return 'FALSE'
  const isPartial = Object.keys(notReplayed).length > 0
  return records === 0 || isPartial ? 'NOT PROVEN' : 'PROVEN'
}

const resultTexts: Readonly<Record<EvidenceResult, string>> = {
  PROVEN: 'judged again, every record comes out the same.',
  'NOT PROVEN': 'nothing differs, but something could not be judged again.',
  'NOT CHECKED': '',
  FALSE: 'judged again, some records come out differently.',
}

function formatReport(report: ReplayReport): string {
  const { from, to, account, versions, records, same, different, byGate } = report
  const whose = account === undefined ? '' : ` of account '${account}'`
  const lines = [
    `${from} to ${to}: ${formatCount(records, 'record')} of decisions${whose}`,
    `judged again by rules ${versions.rules.join(', ') || 'none'} and settings ${versions.settings}, in the rows of each decision's day`,
    `${formatNumber(same)} give the same bytes`,
    `${formatNumber(different)} differ`,
    ...(byGate > 0
      ? [`${formatNumber(byGate)} were blocked by the gate itself, before any rule was applied`]
      : []),
    ...unjudgedReasons.flatMap((why) => {
      const count = report.notReplayed[why]
      return count ? [`${formatNumber(count)} cannot be judged again: ${unjudgedTexts[why]}`] : []
    }),
    ...formatUnread(report),
  ]
  const text = records === 0 ? 'there is no record to judge again.' : resultTexts[report.result]
  const last = `${report.result}: ${text}`
  if (different === 0) return joinLines([...lines, last])
  const { differences } = report
  const shown =
    differences.length < different
      ? `first ${formatNumber(differences.length)} of ${formatNumber(different)}; --limit shows more`
      : `all ${formatNumber(different)}`
  return joinLines([
    ...lines,
    '',
    `records that differ (${shown}):`,
    ...differences.map(formatDifferent),
    last,
  ])
}

function formatUnread({ notReplayed, unreadRules }: ReplayReport): readonly string[] {
  const count = notReplayed['no-rules']
  if (count === undefined) return []
  const why = 'cannot be judged again, since the calling rules that they name cannot be read'
  return [`${formatNumber(count)} ${why}:`, ...unreadRules.map((problem) => `  ${problem}`)]
}

function formatDifferent({ id, decidedAt, accountId, members }: DifferentRecord): string {
  const show = (value: unknown) => JSON.stringify(value) ?? 'absent'
  return [
    `${decidedAt}  ${id}  ${accountId}`,
    ...members.map(
      ({ member, recorded, replayed }) =>
        `  ${member}: recorded ${show(recorded)}, judged again ${show(replayed)}`,
    ),
  ].join('\n')
}
