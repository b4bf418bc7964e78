/**
 * `callgate report shadow`: how many calls the checks in shadow mode would have blocked. `callgate report abandonment`: how many answered
 * calls of each campaign were abandoned, and how many others ended too early. `callgate report budgets`: what accounts have asked
 * providers.
 */
import { join } from 'node:path'
import type { Command } from 'commander'
import { resolveShippedFile } from '../config/load.js'
import type { Settings } from '../config/settings.js'
import { loadCallingRules } from '../data/calling-rules/calling-rules-schema.js'
import { sandboxAccountId } from '../domain/caller.js'
import { pickHigherRankedReason, type ReasonCode } from '../domain/decision.js'
import { formatDay, formatInstant, parseDay, toUtcDay } from '../domain/time/dates.js'
import { readRecordedDecisions, type TimeRange } from '../gate/journal/recorded-decisions.js'
import type { DecisionDocument } from '../gate/record/decision-document.js'
import { judgeAbandoned } from '../law/abandonment-rules.js'
import { systemClock } from '../runtime/runtime.js'
import type { CampaignCount } from '../service/accounts/abandonment.js'
import { checkAccount, requireAccount, withAppContext } from './account-command.js'
import {
  CommandFailure,
  formatTable,
  loadCommandSettings,
  type RegisterCommand,
  type Terminal,
} from './command.js'
import { formatCount, formatNumber } from './format.js'
import { parseTimeRange } from './option-values.js'
import type { BudgetState } from './serve/budget-states.js'

interface ShadowOptions {
  readonly since: string
  readonly until?: string
  readonly account?: string
  readonly json?: boolean
}

/** Of the calls of a time, what-ifs left out. */
interface ShadowReport {
  readonly since: string
  readonly until: string
  readonly decisions: number
  /** Calls that enforced checks, or the gate itself, blocked. */
  readonly blocked: number
  /** Calls that were allowed only because the checks that found something are in shadow mode. */
  readonly wouldHaveBlocked: number
  /** The reason that each of those calls would have been blocked with. */
  readonly byReason: Readonly<Record<string, number>>
  readonly byAccount: Readonly<Record<string, number>>
  /** Calls whose dialplan did not name a trunk are counted as ''. */
  readonly byTrunk: Readonly<Record<string, number>>
}

export const registerReport: RegisterCommand = (program, terminal) => {
  const group = program.command('report').description('count what was recorded')
  registerAbandonment(group, terminal)
  registerBudgets(group, terminal)
  group
    .command('shadow')
    .description('how many calls the checks in shadow mode would have blocked, and why')
    .option('--since <time>', 'an instant, a date, or how long ago: 7d, 24h, 30m', '7d')
    .option('--until <time>', 'the same (default: now)')
    .option('--account <id>', 'only this account (default: all but the sandbox)')
    .option('--json', 'as JSON')
    .action(async (options: ShadowOptions, command: Command) => {
      const { dataDir } = loadCommandSettings(command)
      const { account } = options
      const range = parseTimeRange(options, systemClock.now())
      const report = countShadowed(join(dataDir, 'journal'), range, account)
      if (account !== undefined && report.decisions === 0) await checkAccount(command, account)
      terminal.out(options.json ? `${JSON.stringify(report, null, 2)}\n` : formatReport(report))
    })
}

function countShadowed(folder: string, range: TimeRange, account?: string): ShadowReport {
  const counts = { decisions: 0, blocked: 0, wouldHaveBlocked: 0 }
  const [byReason, byAccount, byTrunk] = [new Map(), new Map(), new Map()] as Map<string, number>[]
  const add = (counted: Map<string, number> | undefined, key: string, by: number) =>
    counted?.set(key, (counted.get(key) ?? 0) + by)
  /** Counts a call, or with -1 takes back what was counted for it. */
  const count = (document: DecisionDocument, isAllowed: boolean, by: 1 | -1) => {
    counts.decisions += by
    const reason = findShadowedReason(document)
    if (!isAllowed) counts.blocked += by
    else if (reason !== undefined) {
      counts.wouldHaveBlocked += by
      add(byReason, reason, by)
      add(byAccount, document.accountId, by)
      add(byTrunk, document.trunk ?? '', by)
    }
  }
  for (const { document, isAmendment } of readRecordedDecisions(folder, range)) {
    const { whatIf, accountId } = document
    if (
      whatIf ||
      (account === undefined ? accountId === sandboxAccountId : accountId !== account)
    ) {
      continue
    }
    // Only allows are amended, and they keep their findings.
    if (isAmendment) count(document, true, -1)
    count(document, document.decision === 'allow', 1)
  }
  return {
    since: formatInstant(range.since),
    until: formatInstant(range.until),
    ...counts,
    byReason: sortByCount(byReason),
    byAccount: sortByCount(byAccount),
    byTrunk: sortByCount(byTrunk),
  }
}

/** The reason that the call would have been blocked with; `undefined` if no check in shadow found any. */
function findShadowedReason({ policy, findings }: DecisionDocument): ReasonCode | undefined {
  const shadowed = new Set(
    policy?.filter(({ effect }) => effect === 'shadowed').map(({ check }) => check),
  )
  const reasons = findings
    .filter(({ check }) => shadowed.has(check))
    .map(({ reason }) => reason as ReasonCode)
  const [first, ...others] = reasons
  return first === undefined ? undefined : others.reduce(pickHigherRankedReason, first)
}

function sortByCount(counted: ReadonlyMap<string, number> | undefined): Record<string, number> {
  const entries = [...(counted ?? [])].filter(([, count]) => count > 0)
  return Object.fromEntries(entries.sort(([, one], [, other]) => other - one))
}

function formatReport(report: ShadowReport): string {
  const { decisions, wouldHaveBlocked, blocked, byReason, byAccount, byTrunk } = report
  const share = decisions === 0 ? '' : ` (${((100 * wouldHaveBlocked) / decisions).toFixed(1)} %)`
  const tables = [
    ['reason', byReason],
    ['account', byAccount],
    ['trunk', byTrunk],
  ] as const
  return [
    `${report.since} to ${report.until}: ${formatCount(decisions, 'decision')}`,
    `would have blocked ${formatNumber(wouldHaveBlocked)} of ${formatNumber(decisions)}${share}`,
    `${formatNumber(blocked)} were blocked by what is enforced`,
    '',
    ...tables
      .filter(([, counted]) => Object.keys(counted).some((key) => key !== ''))
      .map(([name, counted]) => formatCounts(name, counted)),
  ].join('\n')
}

function formatCounts(name: string, counted: Readonly<Record<string, number>>): string {
  const rows = Object.entries(counted).map(([key, count]) => [key || '(none)', formatNumber(count)])
  return formatTable([name, 'would have blocked'], rows)
}

interface AbandonmentOptions {
  readonly account?: string
  readonly all?: boolean
  readonly json?: boolean
}

function registerAbandonment(group: Command, terminal: Terminal): void {
  group
    .command('abandonment')
    .description(
      'how many answered calls of each campaign were abandoned, and how many others disconnected too early, by the periods of each law',
    )
    .option('--account <id>', 'only this account (default: all)')
    .option('--all', 'also periods that have ended')
    .option('--json', 'as JSON')
    .action(({ account, all, json }: AbandonmentOptions, command: Command) =>
      withAppContext(command, async (context) => {
        if (account !== undefined) await requireAccount(context, account)
        const after = all ? 0 : systemClock.now()
        const counts = await context.abandonment.list({ accountId: account, after })
        const rows = counts.map(describeCount(context.settings))
        terminal.out(json ? `${JSON.stringify(rows, null, 2)}\n` : formatAbandonment(rows))
      }),
    )
}

/** A rule that the file no longer has still says what it counted. */
function describeCount({ callingHours }: Settings) {
  const { limits } = loadCallingRules(resolveShippedFile(callingHours.rulesFile)).abandonment
  return (count: CampaignCount) => {
    const { accountId: account, campaign, rule, answered, abandoned } = count
    const { unanswered, disconnectedEarly } = count
    const limit = limits.find(({ id }) => id === rule)
    return {
      ...{ account, campaign, rule },
      ...{ from: formatInstant(count.from), until: formatInstant(count.until) },
      ...{ answered, abandoned },
      percent: answered === 0 ? 0 : (100 * abandoned) / answered,
      maxPercent: limit?.maxPercent ?? null,
      state: limit ? judgeAbandoned(limit, count) : null,
      citation: limit?.citation ?? null,
      ...{
        unanswered,
        disconnectedEarly,
        ringSeconds: limit?.ringMs ? limit.ringMs / 1_000 : null,
      },
    }
  }
}

function formatAbandonment(rows: readonly ReturnType<ReturnType<typeof describeCount>>[]): string {
  if (rows.length === 0) return 'no call of a campaign was reported\n'
  return formatTable(
    [
      ...[
        'account',
        'campaign',
        'rule',
        'from',
        'until',
        'answered',
        'abandoned',
        'share',
        'limit',
      ],
      ...['', 'unanswered', 'disconnected early'],
    ],
    rows.map(({ percent, maxPercent, answered, abandoned, state, ...row }) => [
      ...[row.account, row.campaign, row.rule, row.from, row.until],
      ...[formatNumber(answered), formatNumber(abandoned), `${percent.toFixed(2)} %`],
      ...[maxPercent === null ? '-' : `${maxPercent} %`, state ?? ''],
      ...[
        formatNumber(row.unanswered),
        row.ringSeconds ? formatNumber(row.disconnectedEarly) : '-',
      ],
    ]),
  )
}

interface BudgetOptions {
  readonly account?: string
  readonly day?: string
  readonly json?: boolean
}

function registerBudgets(group: Command, terminal: Terminal): void {
  group
    .command('budgets')
    .description('what accounts have asked providers on a day, of accounts that have a budget')
    .option('--account <id>', 'only this account (default: all)')
    .option('--day <date>', 'a UTC day such as 2026-11-26 (default: today)')
    .option('--json', 'as JSON')
    .action(({ account, day: text, json }: BudgetOptions, command: Command) =>
      withAppContext(command, async (context) => {
        if (account !== undefined) await requireAccount(context, account)
        const day = text === undefined ? toUtcDay(systemClock.now()) : parseDay(text)
        if (day === undefined) {
          throw new CommandFailure(`--day '${text}': must be a date such as 2026-11-26`, 2)
        }
        const { readBudgetStates } = await import('./serve/budget-states.js')
        const all = await readBudgetStates(context.settings, context.storage.db, day)
        const rows = all.filter((row) => account === undefined || row.account === account)
        const ofDay = rows.map(({ source: provider, path: _, ...row }) => ({
          ...{ day: formatDay(day), provider },
          ...{ ...row, limit: row.limit ?? null, setting: row.setting ?? null },
        }))
        terminal.out(json ? `${JSON.stringify(ofDay, null, 2)}\n` : formatBudgets(ofDay))
      }),
    )
}

function formatBudgets(
  rows: readonly (Omit<BudgetState, 'source' | 'path' | 'limit' | 'setting'> & {
    readonly day: string
    readonly provider: string
    readonly limit: number | null
  })[],
): string {
  if (rows.length === 0) return 'no account with a budget has asked a provider on that day\n'
  return formatTable(
    ['day', 'provider', 'account', 'used', 'limit', 'unit', ''],
    rows.map(({ unit, used, limit, currency, state, ...row }) => [
      ...[row.day, row.provider, row.account, formatNumber(used)],
      ...[limit === null ? '-' : formatNumber(limit), unit === 'money' ? currency : unit],
      state,
    ]),
  )
}
