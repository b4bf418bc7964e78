/** `callgate rehearse`: what other calling rules or policy would have made of the recorded calls. */
import { join } from 'node:path'
import type { Command } from 'commander'
import type { Configuration } from '../../app/configuration.js'
import { readConfiguration } from '../../app/read-configuration.js'
import { isPresent } from '../../runtime/folders.js'
import { systemClock } from '../../runtime/runtime.js'
import { checkAccount } from '../account-command.js'
import {
  CommandFailure,
  findConfigOption,
  formatTable,
  loadCommandSettings,
  type RegisterCommand,
} from '../command.js'
import { formatCount, formatNumber, joinLines } from '../format.js'
import { parseTimeRange } from '../option-values.js'
import { type RehearsalReport, rehearse } from './rehearsal.js'
import { prepareRules, type UnjudgedReason, unjudgedReasons } from './rejudge.js'

interface RehearseOptions {
  readonly rules?: string
  readonly policy?: string
  readonly since: string
  readonly until?: string
  readonly account?: string
  readonly limit: number
  readonly json?: boolean
}

export const defaultLimit = 20
const maxLimit = 100_000

export const registerRehearse: RegisterCommand = (program, terminal) => {
  program
    .command('rehearse')
    .description(
      're-judge the calls recorded in a period under other calling rules or another policy, and list those whose ' +
        'decision would change. Changes nothing; the server may be running',
    )
    .option('--rules <file>', 'calling rules (default: those in use)')
    .option(
      '--policy <file>',
      'settings file; the settings it contains replace those in use: policy, gate, callingHours',
    )
    .option('--since <time>', 'an instant, a date, or how long ago: 7d, 24h, 30m', '7d')
    .option('--until <time>', 'the same (default: now)')
    .option('--account <id>', 'only this account (default: all but the sandbox)')
    .option('--limit <n>', 'how many calls to list', parseLimit, defaultLimit)
    .option('--json', 'as JSON')
    .action(async (options: RehearseOptions, command: Command) => {
      const { dataDir } = loadCommandSettings(command)
      const { account } = options
      const range = parseTimeRange(options, systemClock.now())
      const configuration = readRehearsed(options, findConfigOption(command))
      const report = rehearse(prepareRules(configuration), {
        folder: join(dataDir, 'journal'),
        range,
        account,
        maxListed: options.limit,
      })
      if (account !== undefined && report.decisions === 0) await checkAccount(command, account)
      terminal.out(options.json ? `${JSON.stringify(report, null, 2)}\n` : formatReport(report))
    })
}

export function parseLimit(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (limit <= maxLimit) return limit
  throw new CommandFailure(
    `--limit '${text}': must be a whole number from 0 to ${formatNumber(maxLimit)}`,
    2,
  )
}

/** The settings and rules in use, or those of other files. */
export function readRehearsed(
  { rules: rulesFile, policy: overlay }: Pick<RehearseOptions, 'rules' | 'policy'>,
  file: string | undefined,
): Configuration {
  for (const [option, path] of [
    ['--rules', rulesFile],
    ['--policy', overlay],
  ] as const) {
    if (path !== undefined && !isPresent(path)) {
      throw new CommandFailure(`${option} '${path}': file not found`, 2)
    }
  }
  const { configuration, problems } = readConfiguration({ file, overlay, rulesFile })
  if (configuration) return configuration
  const list = problems.map((problem) => `\n  - ${problem}`).join('')
  throw new CommandFailure(`${problems.length} mistake(s):${list}`, 2)
}

export const unjudgedTexts: Readonly<Record<UnjudgedReason, string>> = {
  'newer-record': 'recorded by a newer version of callgate',
  erased: 'the number was erased',
  'not-checked': 'blocked before any check, and would be checked now',
}

function formatReport(report: RehearsalReport): string {
  const { account, decisions, allowed, blocked, wouldHaveBlocked, wouldHaveAllowed } = report
  const whose = account === undefined ? '' : ` of account '${account}'`
  const { otherReason, blockedByGate, notRehearsed, flipped } = report
  const count = wouldHaveBlocked + wouldHaveAllowed
  const unjudged = unjudgedReasons.flatMap((why) => {
    const found = notRehearsed[why]
    return found ? [`${formatNumber(found)} cannot be rehearsed: ${unjudgedTexts[why]}`] : []
  })
  const lines = [
    `${report.since} to ${report.until}: ${formatCount(decisions, 'decision')}${whose}`,
    `would have blocked ${formatNumber(wouldHaveBlocked)} of ${formatNumber(allowed)} allowed`,
    `would have allowed ${formatNumber(wouldHaveAllowed)} of ${formatNumber(blocked)} blocked`,
    `${formatNumber(otherReason)} would have been blocked for another reason`,
    ...(blockedByGate > 0
      ? [`${formatNumber(blockedByGate)} were blocked by the gate itself, whatever the rules are`]
      : []),
    ...unjudged,
    ...formatCounts('would have blocked', report.blockedByReason),
    ...formatCounts('would have allowed', report.allowedByReason),
  ]
  if (count === 0) return joinLines(lines)
  const shown =
    flipped.length < count
      ? `first ${formatNumber(flipped.length)} of ${formatNumber(count)}; --limit shows more`
      : `all ${formatNumber(count)}`
  return joinLines([
    ...lines,
    '',
    `calls whose decision would change (${shown}):`,
    ...flipped.map(formatFlip),
  ])
}

function formatCounts(title: string, counted: Readonly<Record<string, number>>): string[] {
  const rows = Object.entries(counted).map(([reason, count]) => [reason, formatNumber(count)])
  return rows.length === 0 ? [] : ['', formatTable(['reason', title], rows).trimEnd()]
}

function formatFlip(call: RehearsalReport['flipped'][number]): string {
  const { id, decidedAt, accountId, number, callKind, recorded, rehearsed, why } = call
  const text = ({ decision, reason }: typeof recorded) =>
    decision === 'allow' ? 'allow' : `block (${reason})`
  return [
    `${decidedAt}  ${id}  ${number}  ${callKind}  ${accountId}`,
    `  ${text(recorded)} -> ${text(rehearsed)}`,
    ...why.map((line) => `  ${line}`),
  ].join('\n')
}
