/** Opt-outs as they are reported one by one, with what the person said. */

import { type Caller, parseProjectCode, type ScopeChoice } from '../../domain/caller.js'
import type {
  OptOutReport,
  OptOutTerms,
  RecordedOptOut,
} from '../../domain/consent/consent-records.js'
import type { OptOutReader } from '../../domain/consent/opt-out-words.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatDay } from '../../domain/time/dates.js'
import type { OperatorDates, RevocationRules } from '../../law/revocation-rules.js'
import type { ViewOf } from '../account-view.js'
import type { ProjectScope, ScopeResolver } from '../projects/project-scope.js'
import type { InternalDnc } from './internal-dnc.js'

/** What an operator has decided; read for each opt-out, since a reload replaces it. */
export interface OptOutSettings {
  /** Projects that call for a legal entity of their own. */
  readonly sellers: readonly { readonly account: string; readonly project: string }[]
  readonly ruleDates: OperatorDates
}

export interface OptOutsDeps {
  readonly internalDnc: Pick<InternalDnc, 'add'>
  readonly projects: ScopeResolver
  readonly viewOf: ViewOf<'clock'>
  readonly readWords: OptOutReader
  readonly getSettings: () => OptOutSettings
  readonly getRules: () => RevocationRules
  /** With the seconds from its receipt until no decision can miss it. */
  readonly onInForce: (seconds: number) => void
}

const maxStoredWords = 500

/** Words are the whole of such an opt-out, or there are none to understand. */
const alwaysUnderstood: ReadonlySet<string> = new Set(['call-key', 'web', 'import'])

export class OptOuts {
  readonly #deps: OptOutsDeps

  constructor(deps: OptOutsDeps) {
    this.#deps = deps
  }

  /**
   * Resolves when the opt-out is on disk and in force. Words that are not understood are still an opt-out. It applies to
   * everything if the project is unknown, or does not call for a separate legal entity.
   */
  async record(
    caller: Caller,
    { number, projectId, campaignId, ...report }: OptOutReport,
  ): Promise<RecordedOptOut & OptOutTerms> {
    const { internalDnc, viewOf, onInForce, projects, readWords } = this.#deps
    const { said, channel } = report
    const isUnderstood =
      said === undefined || alwaysUnderstood.has(channel) || readWords(said).reading === 'stop'
    const choice: ScopeChoice = { projectId, campaignId }
    const project = await projects.resolve(caller.accountId, choice)
    const scope = project && this.#hasOwnSeller(caller, project) ? report.scope : 'everything'
    const recorded = await internalDnc.add(caller, {
      numbers: [number],
      ...(project && choice),
      ignoreInvalid: false,
      statement: { ...report, said: said?.slice(0, maxStoredWords), scope, isUnderstood },
      onAllLists: scope === 'everything',
    })
    if (!recorded) throw new Error('an opt-out was added without its statement')
    const now = viewOf(caller.accountId).clock.now()
    if (!recorded.isRepeated) onInForce((now - recorded.receivedAt) / 1_000)
    const isProjectKnown = project !== undefined
    return { ...recorded, isProjectKnown, ...this.#findTerms(recorded, now) }
  }

  #hasOwnSeller({ accountId }: Caller, { projectCode }: ProjectScope): boolean {
    const { sellers } = this.#deps.getSettings()
    const isNamed = sellers.some(
      ({ account, project }) =>
        account === accountId && parseProjectCode(accountId, project) === projectCode,
    )
    return isNamed && projectCode !== accountId
  }

  #findTerms(
    { receivedAt, isRepeated }: RecordedOptOut,
    now: Instant,
  ): Omit<OptOutTerms, 'isProjectKnown'> {
    const { getRules, getSettings } = this.#deps
    const terms = getRules().find(receivedAt, getSettings().ruleDates)
    if (!terms) return { lastDay: null, confirmBefore: null, rules: [] }
    const { lastDay, confirmBefore, rules } = terms
    const mayConfirm = !isRepeated && now < confirmBefore
    return { lastDay: formatDay(lastDay), confirmBefore: mayConfirm ? confirmBefore : null, rules }
  }
}
