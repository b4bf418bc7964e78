/** What the calling rules say of a region on a local day, row by row, and how that differs from another day or file. */
import type { PurposeRules } from '../../domain/decision.js'
import type { LocalDay } from '../../domain/time/clock.js'
import {
  type DayRange,
  formatDay,
  formatInstant,
  isWithinDays,
  msPerDay,
  toCalendarDate,
} from '../../domain/time/dates.js'
import {
  type DayWindow,
  formatDayWindow,
  type WeekWindows,
} from '../../domain/time/week-windows.js'
import { nameRecord } from '../../domain/words/scrub.js'
import { describeSaid } from '../../domain/words/words.js'
import type { ExceptionInUse } from '../../judge/scope.js'
import type { AbandonmentRule } from '../../law/abandonment-rules.js'
import { CallingRules } from '../../law/calling-rules.js'
import type { AutomatedEntry, RegionEntry } from '../../law/calling-rules-document.js'
import { describeConsentRule } from '../../law/consent-rules.js'
import type { ExceptionRow } from '../../law/exceptions.js'
import type { FrequencyRule } from '../../law/frequency-rules.js'
import { findDayRule } from '../../law/hours/legal-window.js'
import type { OperatorClosures } from '../../law/hours/operator-closures.js'
import type { OperatorDates } from '../../law/revocation-rules.js'
import { prepareClosures } from '../../service/calling-hours/prepare-closures.js'
import type { Configuration } from '../configuration.js'
import { compareRows, type RuleChange, type RuleRow } from './compare-rules.js'

/** The hours of one day and the text of the rule, as a finding has it. */
interface DayAnswer {
  /** `08:00-20:00`, or `none`. */
  readonly window: string
  readonly rule: string
  /** What it rests on, such as `state rule: Fla. Stat. 501.616(6)(a), (b)`; empty for a region without rules. */
  readonly basis: string
}

export interface RulesOnDay {
  readonly region: string
  readonly name: string
  readonly country: string
  readonly date: string
  readonly day: {
    readonly calls: DayAnswer
    readonly recordedVoice: DayAnswer
    /** The holiday or the day proclaimed by the operator. */
    readonly closedBy: string | null
    /** Of the settings, if they are in force anywhere at some time of that day. */
    readonly emergencies: readonly {
      readonly name: string
      readonly from: string
      readonly until: string | null
      readonly postalPrefixes: readonly string[]
    }[]
  }
  readonly rules: readonly RuleRow[]
  /** Holidays of the calendar year, observed days included. */
  readonly closedDays: readonly { readonly date: string; readonly name: string }[]
  /** The first later day on which other rows hold, as far as the file says. */
  readonly next: { readonly date: string; readonly changes: readonly RuleChange[] } | null
}

/** Calling rules, and what the operator has entered. */
export interface RuleSources {
  readonly rules: CallingRules
  readonly closures: OperatorClosures
  /** First days of rules on opt-outs. */
  readonly ruleDates: OperatorDates
  /** Exceptions that are used. */
  readonly exceptions: readonly ExceptionInUse[]
}

export function toRuleSources(configuration: Configuration): RuleSources {
  const rules = new CallingRules(configuration.rules)
  return {
    rules,
    closures: prepareClosures(rules, configuration.settings.callingHours),
    ruleDates: configuration.settings.optOuts.ruleDates,
    exceptions: configuration.settings.gate.exceptions,
  }
}

/** `undefined` for a region that the rules do not have. */
export function describeRegion(
  sources: RuleSources,
  code: string,
  day: LocalDay,
): RulesOnDay | undefined {
  const { rules, closures } = sources
  const region = rules.findRegion(code)
  if (region === undefined) return undefined
  const dayRule = (recordedVoice: boolean) => {
    const options = { overrides: [], recordedVoice, requireStatutoryWindow: false }
    const found = findDayRule({ rules, closures, place: { region: code }, day, options })
    const { restrictedDay, says, basis = [] } = found
    const texts = { rule: describeSaid(says), basis: describeSaid(basis) }
    return { restrictedDay, answer: { window: formatWindow(found.window), ...texts } }
  }
  const [calls, voice] = [dayRule(false), dayRule(true)]
  const { year } = toCalendarDate(day)
  return {
    region: code,
    name: region.name,
    country: region.country,
    date: formatDay(day),
    day: {
      calls: calls.answer,
      recordedVoice: voice.answer,
      closedBy: calls.restrictedDay ?? null,
      emergencies: listEmergencies(closures, code, day),
    },
    rules: listRows(sources, code, day),
    closedDays: [...rules.listRestrictedDays(code, year)]
      .sort(([a], [b]) => a - b)
      .map(([closed, name]) => ({ date: formatDay(closed), name })),
    next: findNextChange(sources, code, day),
  }
}

/** No clock of a region is 12 hours or more from UTC. */
function listEmergencies(
  { emergencies }: OperatorClosures,
  code: string,
  day: LocalDay,
): RulesOnDay['day']['emergencies'] {
  return (emergencies.get(code) ?? [])
    .filter(
      ({ from, until = Number.POSITIVE_INFINITY }) =>
        from < (day + 1.5) * msPerDay && until > (day - 0.5) * msPerDay,
    )
    .map(({ name, from, until, postalPrefixes = [] }) => ({
      name,
      from: formatInstant(from),
      until: until === undefined ? null : formatInstant(until),
      postalPrefixes,
    }))
}

/** What differs between two states of a region; one may lack it. */
export function compareRegions(
  before: RulesOnDay | undefined,
  after: RulesOnDay | undefined,
): readonly RuleChange[] {
  const code = before?.region ?? after?.region ?? ''
  // The dates of holidays differ from year to year without any change of a rule.
  const isSameYear = before?.date.slice(0, 4) === after?.date.slice(0, 4)
  const rowsOf = (state: RulesOnDay | undefined) =>
    state ? [...listClosures(state, isSameYear), ...state.rules] : []
  return compareRows(code, rowsOf(before), rowsOf(after))
}

function listClosures(
  { day: { closedBy, calls }, closedDays, rules }: RulesOnDay,
  withYear: boolean,
): readonly RuleRow[] {
  const open = { from: null, until: null, confidence: null }
  const ofHolidays = rules.find(({ rule }) => rule.startsWith('holidays.'))?.citation ?? ''
  const citation = calls.basis
  return [
    ...(closedBy === null ? [] : [{ ...open, rule: 'closed', value: closedBy, citation }]),
    ...(withYear ? closedDays : []).map(({ date, name }) => {
      return { ...open, rule: `closedDays.${date}`, value: name, citation: ofHolidays }
    }),
  ]
}

function findNextChange(sources: RuleSources, code: string, day: LocalDay): RulesOnDay['next'] {
  const now = listRows(sources, code, day)
  const later = listTurns(sources, code)
    .filter((turn) => turn > day)
    .sort((a, b) => a - b)
  for (const turn of later) {
    const changes = compareRows(code, now, listRows(sources, code, turn))
    if (changes.length > 0) return { date: formatDay(turn), changes }
  }
  return null
}

/** The local days on which a row of the region begins or no longer holds. */
function listTurns(sources: RuleSources, code: string): readonly LocalDay[] {
  return listAllRows(sources, code).flatMap(({ range: { from, until } }) => [
    ...(from === undefined ? [] : [from]),
    ...(until === undefined ? [] : [until + 1]),
  ])
}

function listHolidays({ document: { defaults } }: CallingRules, region: RegionEntry) {
  return [
    ...region.holidays.map((row) => ({ ...row, doubt: '' })),
    ...(defaults.disputedHolidays === 'ban' ? region.holidaysDisputed : []).map((row) => {
      return { ...row, doubt: ' (disputed)' }
    }),
    ...(defaults.limitedHolidays === 'ban' ? region.holidaysLimited : []).map((row) => {
      return { ...row, doubt: ` (only ${row.area ?? 'in a part of the region'})` }
    }),
  ]
}

/** The rows in force, in the order of {@link listAllRows}. */
function listRows(sources: RuleSources, code: string, day: LocalDay): readonly RuleRow[] {
  return listAllRows(sources, code).flatMap(({ range, row }) =>
    isWithinDays(range, day) ? [row] : [],
  )
}

/** A row, and the days on which it holds. */
interface DatedRow {
  readonly range: DayRange
  readonly row: RuleRow
}

/** The rows of a region of all times: its own, and those of tables that are for it. */
function listAllRows(sources: RuleSources, code: string): readonly DatedRow[] {
  const region = sources.rules.document.regions[code]
  if (region === undefined) return []
  return [
    ...listOwnRows(sources.rules, code, region),
    ...listCallRows(sources.rules, code, region),
    ...listRevocationRows(sources),
    ...listExceptions(sources, code),
    ...listFigures(sources.rules),
    ...listPurposeRows(sources.rules, code),
  ]
}

function listOwnRows(rules: CallingRules, code: string, region: RegionEntry): readonly DatedRow[] {
  const { citation, confidence, automated = [], wirelessProhibited = [], emergency = [] } = region
  return [
    ...rules.listHours(code).map((row) => {
      return createRow('hours', formatWeekText(row.week), { confidence, ...row })
    }),
    ...listHolidays(rules, region).map((row) => {
      const name = rules.document.holidays[row.key]?.name
      const source = { ...row, citation, confidence }
      return createRow(`holidays.${row.key}`, `${name}${row.doubt}`, source)
    }),
    ...automated.map((row) => createRow('automated', formatVoiceHours(row), row)),
    ...rules.listEbrRules(code).flatMap((rule) => {
      const source = { ...rule, confidence: rule.basis === 'federal' ? 'baseline' : confidence }
      const ends = 'until the obligation ends'
      return [
        createRow('ebr.S', formatMonths(rule.S), source),
        createRow('ebr.I', formatMonths(rule.I), source),
        ...(rule.obligationExempts ? [createRow('ebr.obligationExempts', ends, source)] : []),
      ]
    }),
    ...wirelessProhibited.map((row) => createRow('wirelessProhibited', formatBan(row), row)),
    ...emergency.map((row) => createRow('emergency', row.scope, { confidence, ...row })),
  ]
}

/** Of the tables whose rows are for kinds of calls. */
function listCallRows(rules: CallingRules, code: string, region: RegionEntry): readonly DatedRow[] {
  const { frequencyRules, abandonmentRules, callerIdRules, consentRequired } = rules.document
  return [
    ...consentRequired
      .filter((row) => row.region === code)
      .map((row) => createRow(`consentRequired.${row.id}`, describeConsentRule(row), row)),
    ...frequencyRules
      .filter((row) => isOfRegion(row, code, region))
      .map((row) => createRow(`frequencyRules.${row.id}`, formatFrequency(row), row)),
    ...abandonmentRules
      .filter(({ country }) => country === region.country)
      .map((row) => createRow(`abandonmentRules.${row.id}`, formatAbandonment(row), row)),
    ...callerIdRules
      .filter((row) => row.region === code)
      .map((row) => createRow(`callerIdRules.${row.id}`, 'own area codes only with presence', row)),
    ...rules
      .listDisclosureRows(code)
      .map((row) => createRow(`disclosures.${row.key}`, formatCalls(row), row)),
  ]
}

/** Opt-outs are judged by them wherever the person is. */
function listRevocationRows({ rules, ruleDates }: RuleSources): readonly DatedRow[] {
  return rules.document.revocation.rules.map((row) => {
    const entered = ruleDates.find(({ rule }) => rule === row.id)
    const undated = row.datedByOperator && !entered
    const value =
      `opt-outs honored within ${row.businessDays} business days, one confirmation within ${row.confirmationMinutes} minutes` +
      (undated ? '; not in force until optOuts.ruleDates has its first day' : '')
    return createRow(`revocation.${row.id}`, value, { ...row, from: row.from ?? entered?.from })
  })
}

function listExceptions({ rules, exceptions }: RuleSources, code: string): readonly DatedRow[] {
  return rules.exceptions.rows
    .filter(({ region }) => region === code)
    .map((row) => createRow(`exceptions.${row.id}`, formatException(row, exceptions), row))
}

function formatException(
  { id, lifts, by, months }: ExceptionRow,
  inUse: readonly ExceptionInUse[],
) {
  const uses = inUse.filter((row) => row.id === id).map(formatUse)
  const time = months === undefined ? '' : ` of the last ${formatMonths(months)}`
  const records = by.map(nameRecord).join(' or ')
  const state = uses.length === 0 ? 'off (gate.exceptions)' : `on, decided by ${uses.join('; ')}`
  return `${state}: a ${records}${time} lifts ${lifts.join(' and ')}`
}

function formatUse({ decidedBy, on, account, project }: ExceptionInUse): string {
  const scope = [account && `account ${account}`, project && `project ${project}`].filter(Boolean)
  return [`${decidedBy} from ${formatDay(on)}`, ...scope].join(', ')
}

function listFigures({ document }: CallingRules): readonly DatedRow[] {
  return [
    ...document.reassignedReleases.map((row) => {
      const value = `data of the ${row.dayOfMonth}th of each month, in use ${row.daysUntilInUse} days later`
      return createRow('reassignedReleases', value, row)
    }),
    ...document.conversations.map((row) => {
      return createRow('conversations', `answered calls from ${row.minSeconds} s on`, row)
    }),
  ]
}

function listPurposeRows(rules: CallingRules, code: string): readonly DatedRow[] {
  return Object.entries(rules.document.purposes).flatMap(([purpose, row]) => {
    const own = row.regions[code]
    const general = createRow(`purposes.${purpose}`, formatPurpose(row.hours, row.machines), row)
    return own
      ? [general, createRow(`purposes.${purpose}.regions`, formatWeekText(own.hours), own)]
      : [general]
  })
}

interface RowSource extends DayRange {
  readonly citation: string
  readonly confidence: string
}

function createRow(rule: string, value: string, source: RowSource): DatedRow {
  const { from, until, citation, confidence } = source
  const dates = { from: formatEnd(from), until: formatEnd(until) }
  const row: RuleRow = { rule, value, ...dates, citation, confidence }
  return { range: { from, until }, row }
}

function formatEnd(day: LocalDay | undefined): string | null {
  return day === undefined ? null : formatDay(day)
}

function formatVoiceHours({ hours, holidays, holidayHours }: AutomatedEntry) {
  const onHolidays = holidays ? `, its holidays ${formatWindow(holidayHours)}` : ''
  return `${formatWeekText(hours)}${onHolidays}`
}

function formatBan({
  when,
  scope,
  liftedBy,
}: NonNullable<RegionEntry['wirelessProhibited']>[number]) {
  return `${when}: ${scope}; lifted by ${liftedBy}`
}

function formatFrequency(row: FrequencyRule): string {
  const { calls, hours, days, counts, per, perSubject, liftedBy } = row
  const period = hours === undefined ? `${days} days` : `${hours} hours`
  const kinds = formatCalls(row)
  const lifted = liftedBy ? '; lifted by a permission record' : ''
  return (
    `${calls} ${countedTexts[counts]} in ${period} to a ${per}${perSubject ? ', on a subject' : ''}` +
    `${kinds === '' ? '' : `, ${kinds} calls`}${lifted}`
  )
}

const countedTexts: Readonly<Record<FrequencyRule['counts'], string>> = {
  all: 'calls',
  connected: 'connected calls',
  completed: 'answered calls',
  conversation: 'conversations',
}

/** `autodialed and ai informational and political`; nothing for every kind of telemarketing call. */
function formatCalls({
  callKinds = [],
  purposes = [],
}: Pick<FrequencyRule, 'callKinds'> & { readonly purposes?: readonly string[] | undefined }) {
  const isSales = purposes.length === 1 && purposes[0] === 'telemarketing'
  const parts = [callKinds, isSales ? [] : purposes]
  return parts.flatMap((words) => (words.length === 0 ? [] : [words.join(' and ')])).join(' ')
}

function formatPurpose(hours: WeekWindows | undefined, machines: PurposeRules['machines']): string {
  const when = hours ? formatWeekText(hours) : 'hours and closed days of sales calls'
  return `${when}; ${machineTexts[machines]}`
}

const machineTexts: Readonly<Record<PurposeRules['machines'], string>> = {
  permission: 'machines need a permission record',
  'permission-or-landline': 'machines need a permission record, autodialed calls to landlines none',
  unlimited: 'machines need no permission record',
}

function isOfRegion(row: FrequencyRule, code: string, region: RegionEntry | undefined): boolean {
  return row.region === undefined ? row.country === region?.country : row.region === code
}

function formatAbandonment(rule: AbandonmentRule): string {
  const { percent, connectSeconds, ringSeconds, days, monthIn } = rule
  const period = days === undefined ? `a calendar month (${monthIn})` : `${days} days`
  const ring = ringSeconds === undefined ? '' : `; unanswered calls ring for ${ringSeconds} s`
  return `at most ${percent} % of a campaign's answered calls in ${period} without a voice within ${connectSeconds} s${ring}`
}

function formatMonths(months: number): string {
  return months === 0 ? 'no exemption' : `${months} month${months === 1 ? '' : 's'}`
}

/** `every day 08:00-21:00`, or `Mon-Fri 09:00-19:00, Sat 09:00-12:00, Sun none`. */
function formatWeekText({ monFri, sat, sun }: WeekWindows): string {
  const [first, second, third] = [monFri, sat, sun].map(formatWindow)
  if (first === second && second === third) return `every day ${first}`
  return `Mon-Fri ${first}, Sat ${second}, Sun ${third}`
}

function formatWindow(window: DayWindow | undefined): string {
  return window ? formatDayWindow(window) : 'none'
}
