/**
 * Serves the sandbox's fixed facts as a source of lookups, labels and complaints. Ages are relative to
 * the sandbox's clock. Facts that the file does not give are unknown.
 */

import type {
  LineIdentity,
  LineStatusAnswer,
  LookupSource,
  ReassignedAnswer,
  ReassignedReport,
  ReassignedReporter,
  ResOrBusiness,
} from '../../domain/lookups.js'
import { areaCodeOf, type PhoneNumber } from '../../domain/phone-number.js'
import type {
  Complaint,
  ComplaintSource,
  LabelIssuer,
  LabelSource,
  NumberLabels,
} from '../../domain/spam-labels.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { formatDay, toUtcDay } from '../../domain/time/dates.js'
import {
  createReassignedAnswer,
  type DisconnectRecord,
  deriveReassigned,
  noReassignedData,
} from '../lookups/reassigned-answer.js'
import type { Sandbox } from './sandbox.js'
import type { SandboxDisconnect, SandboxLookups } from './sandbox-file.js'

type ReassignedQuestions = Parameters<LookupSource['reassigned']>[0]
type SandboxComplaint = SandboxLookups['complaints'][number]

export class SandboxFacts
  implements LookupSource, LabelSource, ComplaintSource, ReassignedReporter
{
  readonly #data: { readonly sandbox: Sandbox }

  /** A reload replaces `data.sandbox`. */
  constructor(data: { readonly sandbox: Sandbox }) {
    this.#data = data
  }

  async identity(number: PhoneNumber): Promise<LineIdentity | undefined> {
    const found = this.#factsOf(number)?.identity
    if (!found) return undefined
    const { phoneType, ocn, telcoName, daysAgo } = found
    return { phoneType, ocn, telcoName, on: this.#dayBefore(daysAgo) }
  }

  async lineStatus(number: PhoneNumber): Promise<LineStatusAnswer | undefined> {
    const status = this.#factsOf(number)?.lineStatus
    return status === undefined ? undefined : { status, errorText: '' }
  }

  async resOrBusiness(number: PhoneNumber): Promise<ResOrBusiness | undefined> {
    return this.#factsOf(number)?.resOrBusiness
  }

  async reassigned(asked: ReassignedQuestions): Promise<readonly (ReassignedAnswer | undefined)[]> {
    return asked.map(({ number, consentOn }) => this.#answer(number, consentOn))
  }

  report(number: PhoneNumber, since: LocalDay): ReassignedReport | undefined {
    const answer = this.#answer(number, since)
    const isDisconnected = this.#factsOf(number)?.lineStatus === 'disconnected'
    if (!answer && !isDisconnected) return undefined
    const askedAt = this.#data.sandbox.clock.now()
    return { ...(answer ?? noReassignedData), isDisconnected, since, askedAt }
  }

  async labels(
    numbers: readonly PhoneNumber[],
    wanted: readonly LabelIssuer[],
  ): Promise<ReadonlyMap<PhoneNumber, NumberLabels>> {
    return new Map(
      numbers.flatMap((number) => {
        const labelling = this.#factsOf(number)?.labels
        if (!labelling) return []
        const said = wanted.map((source) => [source, labelling.includes(source)])
        return [[number, Object.fromEntries(said) as NumberLabels]]
      }),
    )
  }

  async complaints(
    numbers: readonly PhoneNumber[],
  ): Promise<ReadonlyMap<PhoneNumber, readonly Complaint[]>> {
    return new Map(
      numbers.flatMap((number) => {
        const filed = this.#factsOf(number)?.complaints ?? []
        if (filed.length === 0) return []
        return [[number, filed.map((one, index) => this.#complaint(number, one, index))]]
      }),
    )
  }

  #factsOf(number: PhoneNumber): SandboxLookups | undefined {
    return this.#data.sandbox.line(number)?.lookups
  }

  #answer(number: PhoneNumber, since: LocalDay): ReassignedAnswer | undefined {
    const disconnects = this.#factsOf(number)?.disconnects
    if (!disconnects) return undefined
    const says = (disconnect: SandboxDisconnect | undefined) =>
      deriveReassigned(this.#recordOf(disconnect), since)
    return createReassignedAnswer(says(disconnects.national), says(disconnects.own))
  }

  #dayBefore(days: number): LocalDay {
    return toUtcDay(this.#data.sandbox.clock.now()) - days
  }

  #recordOf(disconnect: SandboxDisconnect | undefined): DisconnectRecord | undefined {
    if (disconnect === undefined) return undefined
    return {
      latestOn: disconnect === 'never' ? undefined : this.#dayBefore(disconnect.daysAgo),
    }
  }

  /** A complaint filed on the evening of the call, by a consumer in the same area code. */
  #complaint(number: PhoneNumber, filed: SandboxComplaint, index: number): Complaint {
    const day = formatUsDate(this.#dayBefore(filed.daysAgo))
    return {
      id: `sandbox-${number}-${index + 1}`,
      phone: number,
      createdDate: `${day} 19:30:00`,
      violationDate: `${day} 18:05:00`,
      city: filed.city,
      state: filed.state,
      areaCode: areaCodeOf(number),
      subject: filed.subject,
      recordedMessageOrRobocall: filed.robocall ? 'Y' : 'N',
    }
  }
}

/** `MM/DD/YYYY` */
function formatUsDate(day: LocalDay): string {
  const [year, month, dayOfMonth] = formatDay(day).split('-')
  return `${month}/${dayOfMonth}/${year}`
}
