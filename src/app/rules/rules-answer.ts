/** Answers what the calling rules say of a region by day, as far as an account may know what the operator has entered. */
import type { RegionRulesBody, RulesBody, RulesRequest } from '../../api/calling-hours/rules.js'
import type { Settings } from '../../config/settings.js'
import { type Caller, canUseScope } from '../../domain/caller.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { formatDay, getWeekday, toUtcDay } from '../../domain/time/dates.js'
import { formatDayWindow } from '../../domain/time/week-windows.js'
import { describeSaid } from '../../domain/words/words.js'
import { invalidRequest } from '../../errors.js'
import type { CallingRules } from '../../law/calling-rules.js'
import { findDayRule } from '../../law/hours/legal-window.js'
import type { ViewOf } from '../../service/account-view.js'
import { prepareClosures } from '../../service/calling-hours/prepare-closures.js'
import { compareRegions, describeRegion, type RuleSources } from './rules-on-day.js'

export interface RulesAnswerDeps {
  /** A reload replaces them. */
  readonly getSettings: () => Pick<Settings, 'callingHours' | 'gate' | 'optOuts'>
  readonly viewOf: ViewOf<'clock' | 'law'>
}

interface Question {
  readonly sources: RuleSources
  readonly isRecordedVoice: boolean
  readonly day: LocalDay
  readonly compareDay: LocalDay | undefined
}

/** Takes tens of milliseconds for some regions. Throws `invalid-request` for an unknown region. */
export function answerRules(
  { getSettings, viewOf }: RulesAnswerDeps,
  caller: Caller,
  { region, kind, date, compareDate }: RulesRequest,
): RulesBody {
  const settings = getSettings()
  const { clock, law: rules } = viewOf(caller.accountId)
  const question: Question = {
    sources: createSources(settings, rules, caller),
    // As the gate asks.
    isRecordedVoice: settings.gate.recordedVoiceWindows && kind !== 'manual',
    day: date ?? toUtcDay(clock.now()),
    compareDay: compareDate,
  }
  return {
    date: formatDay(question.day),
    kind,
    asOf: formatDay(rules.asOf),
    regions: rules.regions.map(({ code, name, country }) => {
      const { window, restrictedDay = null } = findRule(question, code, question.day)
      const hours = window ? formatDayWindow(window) : 'none'
      return { region: code, name, country, hours, closedBy: restrictedDay }
    }),
    chosen: region === undefined ? null : describe(question, region),
  }
}

function createSources(
  { callingHours, gate, optOuts }: Pick<Settings, 'callingHours' | 'gate' | 'optOuts'>,
  rules: CallingRules,
  caller: Caller,
): RuleSources {
  return {
    rules,
    closures: prepareClosures(rules, callingHours),
    ruleDates: optOuts.ruleDates,
    exceptions: gate.exceptions.filter(
      ({ account = caller.accountId, project }) =>
        account === caller.accountId &&
        (project === undefined || canUseScope(caller, { projectId: project })),
    ),
  }
}

function findRule({ sources, isRecordedVoice }: Question, region: string, day: LocalDay) {
  const options = {
    overrides: [],
    recordedVoice: isRecordedVoice,
    requireStatutoryWindow: false,
  }
  return findDayRule({ ...sources, place: { region }, day, options })
}

function describe(question: Question, region: string): RegionRulesBody {
  const { sources, day, compareDay } = question
  const found = describeRegion(sources, region, day)
  if (found === undefined) {
    const rule = 'must be the postal code of a state, territory or province of the calling rules'
    throw invalidRequest([{ field: 'region', value: region, rule }])
  }
  const { name, country, day: ofDay, rules, closedDays, next } = found
  return {
    region,
    ...{ name, country, rules, closedDays, next },
    week: listWeek(question, region),
    emergencies: ofDay.emergencies,
    compared:
      compareDay === undefined
        ? null
        : {
            date: formatDay(compareDay),
            changes: compareRegions(found, describeRegion(sources, region, compareDay)),
          },
  }
}

function listWeek(question: Question, region: string): RegionRulesBody['week'] {
  const monday = question.day - ((getWeekday(question.day) + 6) % 7)
  return Array.from({ length: 7 }, (_, index) => {
    const day = monday + index
    const { window, restrictedDay = null, says } = findRule(question, region, day)
    const rule = describeSaid(says)
    const [opensAt = null, closesAt = null] = window ? formatDayWindow(window).split('-') : []
    return { date: formatDay(day), opensAt, closesAt, rule, closedBy: restrictedDay }
  })
}
