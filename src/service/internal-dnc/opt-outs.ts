/** Opt-outs as they are reported one by one, with what the person said. */

import type { OperatorDates, RevocationRules } from '../../data/calling-rules/revocation-rules.js'
import { type Caller, parseProjectCode, type ScopeChoice } from '../../domain/caller.js'
import type { OptOutReport, OptOutTerms, RecordedOptOut } from '../../domain/consent-records.js'
import type { OptOutReader } from '../../domain/opt-out-words.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatDay } from '../../domain/time/dates.js'
import { invalidRequest } from '../../errors.js'
import type { ViewOf } from '../account-view.js'
import { requireScope, type ScopeResolver } from '../projects/project-scope.js'
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
  readonly getRules: () => RevocationRules | undefined
  /** With the seconds from its receipt until no decision can miss it. */
  readonly onInForce: (seconds: number) => void
}

/** Words are the whole of such an opt-out, or there are none to understand. */
const alwaysUnderstood: ReadonlySet<string> = new Set(['call-key', 'web', 'import'])

export class OptOuts {
  readonly #deps: OptOutsDeps

  constructor(deps: OptOutsDeps) {
    this.#deps = deps
  }

  /**
   * Resolves when the opt-out is on disk and in force. Words that are not understood are an opt-out all the same. Throws
   * `invalid-request` for scope `project`, unless the project calls for a legal entity of its own.
   */
  async record(
    caller: Caller,
    { number, projectId, campaignId, ...statement }: OptOutReport,
  ): Promise<RecordedOptOut & OptOutTerms> {
    const { internalDnc, viewOf, onInForce, readWords } = this.#deps
    const { said, channel, scope } = statement
    if (scope === 'project') await this.#requireOwnSeller(caller, { projectId, campaignId })
    const isUnderstood =
      said === undefined || alwaysUnderstood.has(channel) || readWords(said).reading === 'stop'
    const choice = await this.#findProject(caller, { ...statement, projectId, campaignId })
    const recorded = await internalDnc.add(caller, {
      numbers: [number],
      ...choice,
      ignoreInvalid: false,
      statement: { ...statement, isUnderstood },
      onAllLists: scope === 'everything',
    })
    if (!recorded) throw new Error('an opt-out was added without its statement')
    const now = viewOf(caller.accountId).clock.now()
    if (!recorded.isRepeated) onInForce((now - recorded.receivedAt) / 1_000)
    return { ...recorded, ...this.#findTerms(recorded, now) }
  }

  /** A project that is not active any more, whose call it was, must not keep an opt-out of everything from being recorded. */
  async #findProject(
    { accountId }: Caller,
    { decisionId, scope, projectId, campaignId }: Omit<OptOutReport, 'number'>,
  ): Promise<ScopeChoice> {
    const choice = { projectId, campaignId }
    if (scope === 'project' || decisionId === undefined) return choice
    return (await this.#deps.projects.resolve(accountId, choice)) ? choice : {}
  }

  async #requireOwnSeller(
    { accountId }: Caller,
    choice: Pick<OptOutReport, 'projectId' | 'campaignId'>,
  ): Promise<void> {
    const { projects } = this.#deps
    const { projectCode } = await requireScope(projects, accountId, choice, 'projectId')
    const isOwn = this.#deps
      .getSettings()
      .sellers.some(
        ({ account, project }) =>
          account === accountId && parseProjectCode(accountId, project) === projectCode,
      )
    if (isOwn && projectCode !== accountId) return
    const rule =
      `is only for a project that calls for a legal entity of its own, and optOuts.sellers does not name '${projectCode}'; ` +
      'nothing was recorded: send the opt-out again without scope'
    throw invalidRequest([{ field: 'scope', value: 'project', rule }])
  }

  #findTerms({ receivedAt, isRepeated }: RecordedOptOut, now: Instant): OptOutTerms {
    const { getRules, getSettings } = this.#deps
    const terms = getRules()?.find(receivedAt, getSettings().ruleDates)
    if (!terms) return { lastDay: null, confirmBefore: null, rules: [] }
    const { lastDay, confirmBefore, rules } = terms
    const mayConfirm = !isRepeated && now < confirmBefore
    return { lastDay: formatDay(lastDay), confirmBefore: mayConfirm ? confirmBefore : null, rules }
  }
}
