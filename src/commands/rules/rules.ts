/** `callgate rules ...`: the calling rules in force in a region on a day, and how they differ from others. */
import type { Command } from 'commander'
import { readConfiguration } from '../../app/read-configuration.js'
import type { RuleChange, RuleRow } from '../../app/rules/compare-rules.js'
import {
  compareRegions,
  describeRegion,
  type RuleSources,
  type RulesOnDay,
  toRuleSources,
} from '../../app/rules/rules-on-day.js'
import { loadCallingRules } from '../../data/calling-rules/calling-rules-schema.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { formatWithWeekday, parseDay, toUtcDay } from '../../domain/time/dates.js'
import { truncate } from '../../errors.js'
import { isPresent } from '../../runtime/folders.js'
import { systemClock } from '../../runtime/runtime.js'
import {
  CommandFailure,
  findConfigOption,
  formatTable,
  type RegisterCommand,
  type Terminal,
} from '../command.js'
import { formatCount, joinLines } from '../format.js'

interface DayOptions {
  readonly at?: string
  readonly json?: boolean
}

interface DiffOptions extends DayOptions {
  readonly all?: boolean
  readonly from?: string
  readonly to?: string
  readonly with?: string
}

export const registerRules: RegisterCommand = (program, terminal) => {
  const group = program
    .command('rules')
    .description(
      'show the calling rules in force in a region on a day, and what differs between days or files',
    )
  group
    .command('show')
    .description(
      'what holds in a region on a day: hours, closed days, relationships, bans, disclosures',
    )
    .argument('<region>', 'two-letter postal code, such as FL')
    .option('--at <date>', 'local day there, YYYY-MM-DD (default: today in UTC)')
    .option('--json', 'as JSON')
    .action((region: string, { at, json = false }: DayOptions, command: Command) => {
      const sources = readSources(command)
      const found = requireRegion(sources, region, parseDayOption('--at', at))
      terminal.out(json ? formatJson(found) : formatRegion(found))
    })
  group
    .command('list')
    .description('the hours of each region on a day, one line a region')
    .option('--at <date>', 'local day there, YYYY-MM-DD (default: today in UTC)')
    .option('--json', 'as JSON')
    .action(({ at, json = false }: DayOptions, command: Command) => {
      const sources = readSources(command)
      const day = parseDayOption('--at', at)
      const found = sources.rules.regions.flatMap(
        ({ code }) => describeRegion(sources, code, day) ?? [],
      )
      terminal.out(json ? formatJson(found) : formatList(found))
    })
  registerDiff(group, terminal)
}

function registerDiff(group: Command, terminal: Terminal): void {
  group
    .command('diff')
    .description('what differs between two days, or between these rules and another file on a day')
    .argument('[region]', 'two-letter postal code, such as FL')
    .option('--all', 'every region')
    .option('--from <date>', 'first of two local days, YYYY-MM-DD')
    .option('--to <date>', 'second of two local days')
    .option('--with <file>', 'compare with these calling rules instead')
    .option('--at <date>', 'with --with: the local day (default: today in UTC)')
    .option('--json', 'as JSON')
    .action((region: string | undefined, options: DiffOptions, command: Command) => {
      const sides = readSides(options, readSources(command))
      const codes = listCodes(region, options, sides)
      const changes = codes.flatMap((code) => {
        const [before, after] = sides.map(({ sources, day }) => describeRegion(sources, code, day))
        return compareRegions(before, after)
      })
      terminal.out(options.json ? formatJson(changes) : formatChanges(changes))
    })
}

interface Side {
  readonly sources: RuleSources
  readonly day: LocalDay
}

function readSides(
  { from, to, with: file, at }: DiffOptions,
  sources: RuleSources,
): readonly [Side, Side] {
  if (file === undefined) {
    if (from === undefined || to === undefined) {
      throw new CommandFailure('give two days, --from and --to, or a file, --with', 2)
    }
    if (at !== undefined) throw new CommandFailure(`--at '${at}': only goes with --with`, 2)
    const days = { from: parseDayOption('--from', from), to: parseDayOption('--to', to) }
    return [
      { sources, day: days.from },
      { sources, day: days.to },
    ]
  }
  if (from !== undefined || to !== undefined) {
    throw new CommandFailure('--with compares on one day: give --at instead of --from and --to', 2)
  }
  if (!isPresent(file)) throw new CommandFailure(`--with '${file}': file not found`, 2)
  const day = parseDayOption('--at', at)
  return [
    { sources, day },
    { sources: { ...sources, rules: loadCallingRules(file) }, day },
  ]
}

/** Of both sides, since a region may be new or gone. */
function listCodes(
  region: string | undefined,
  { all = false }: DiffOptions,
  sides: readonly Side[],
): readonly string[] {
  if (all === (region !== undefined)) throw new CommandFailure('give a region, or --all', 2)
  const codes = new Set(
    sides.flatMap(({ sources }) => sources.rules.regions.map(({ code }) => code)),
  )
  if (region === undefined) return [...codes]
  const code = region.toUpperCase()
  if (codes.has(code)) return [code]
  throw unknownRegion(region)
}

function readSources(command: Command): RuleSources {
  const { configuration, problems } = readConfiguration({ file: findConfigOption(command) })
  if (!configuration) {
    const list = problems.map((problem) => `\n  - ${problem}`).join('')
    throw new CommandFailure(`${problems.length} mistake(s):${list}`, 2)
  }
  return toRuleSources(configuration)
}

function requireRegion(sources: RuleSources, region: string, day: LocalDay): RulesOnDay {
  const found = describeRegion(sources, region.toUpperCase(), day)
  if (found) return found
  throw unknownRegion(region)
}

function unknownRegion(region: string): CommandFailure {
  const rule =
    'must be the postal code of a state, territory or province (see: callgate rules list)'
  return new CommandFailure(`region '${truncate(region)}': ${rule}`, 2)
}

function parseDayOption(option: string, text: string | undefined): LocalDay {
  if (text === undefined) return toUtcDay(systemClock.now())
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? parseDay(text) : undefined
  if (day !== undefined) return day
  throw new CommandFailure(
    `${option} '${truncate(text)}': must be a date YYYY-MM-DD that exists`,
    2,
  )
}

function formatJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}

function formatRegion({
  region,
  name,
  country,
  date,
  day,
  rules,
  closedDays,
  next,
}: RulesOnDay): string {
  const { calls, recordedVoice, emergencies } = day
  // Listed with their dates below.
  const shown = rules.filter(({ rule }) => !rule.startsWith('holidays.'))
  const where = `${name} (${region}), ${country}, ${formatWithWeekday(parseDay(date) ?? Number.NaN)}`
  return joinLines([
    where,
    `any voice:       ${calls.rule}`,
    `recorded or AI:  ${recordedVoice.rule}`,
    ...emergencies.map(
      (one) =>
        `no calls during ${one.name}: ${one.from} to ${one.until ?? 'an end that is not known'}`,
    ),
    '',
    formatTable(
      ['rule', 'value', 'from', 'until', 'confidence', 'citation'],
      shown.map((row) => [
        row.rule,
        row.value,
        row.from ?? '-',
        row.until ?? '-',
        row.confidence ?? '-',
        row.citation,
      ]),
    ),
    closedDays.length === 0
      ? 'no holidays without calls'
      : `no calls on these days of ${date.slice(0, 4)}:`,
    ...closedDays.map((closed) => `  ${closed.date}  ${closed.name}`),
    '',
    next === null ? 'next change: none known' : `next change: on ${next.date}`,
    ...(next?.changes ?? []).flatMap((change) => formatChange(change)),
  ])
}

function formatList(found: readonly RulesOnDay[]): string {
  return formatTable(
    ['region', 'name', 'that day', 'recorded or AI', 'confidence', 'closed by'],
    found.map(({ region, name, day, rules }) => [
      region,
      name,
      day.calls.window,
      day.recordedVoice.window,
      rules[0]?.confidence ?? '-',
      day.closedBy ?? '',
    ]),
  )
}

function formatChanges(changes: readonly RuleChange[]): string {
  const regions = new Set(changes.map(({ region }) => region))
  if (changes.length === 0) return 'no difference\n'
  return joinLines([
    `${formatCount(changes.length, 'difference')} in ${formatCount(regions.size, 'region')}`,
    ...[...regions].flatMap((region) => [
      '',
      region,
      ...changes.filter((change) => change.region === region).flatMap(formatChange),
    ]),
  ])
}

function formatChange({ rule, before, after }: RuleChange): string[] {
  return [`  ${rule}`, `    - ${formatRow(before)}`, `    + ${formatRow(after)}`]
}

function formatRow(row: RuleRow | null): string {
  if (row === null) return '(none)'
  const { value, from, until, citation } = row
  const dates = [
    ...(from === null ? [] : [`from ${from}`]),
    ...(until === null ? [] : [`until ${until}`]),
  ]
  return [value, ...dates, citation].join('; ')
}
