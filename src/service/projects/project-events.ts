/**
 * What a project's address is told (spec, "Project webhook"): which statuses changed. Each event's
 * body is `{ProjectCode, AcctId, Data}`; `Data` is the changed part of the project as its readers
 * see it, and `Previous`, the status before.
 */
import type { Selectable } from 'kysely'
import type { StateRegistrationRow } from '../../storage/tables.js'
import { ftcDocument, registrationDocument } from './project-document.js'
import type { StoredProject } from './project-rows.js'

export interface ProjectEvent {
  readonly event: 'project.status' | 'project.ftcValidation' | 'project.stateRegistration'
  readonly data: Readonly<Record<string, unknown>>
}

/** The events of one change; a project that was just made has none, its maker is told in the answer. */
export function projectEvents(
  before: StoredProject,
  after: StoredProject,
): readonly ProjectEvent[] {
  const events: ProjectEvent[] = []
  if (before.status !== after.status) {
    const data = { Status: after.status, Previous: before.status }
    events.push({ event: 'project.status', data })
  }
  if (before.ftc_status !== after.ftc_status) {
    const data = { FtcValidation: ftcDocument(after), Previous: before.ftc_status }
    events.push({ event: 'project.ftcValidation', data })
  }
  return events
}

type Registration = Selectable<StateRegistrationRow>

export function registrationEvents(
  before: Registration | undefined,
  after: Registration,
): readonly ProjectEvent[] {
  if (before?.status === after.status) return []
  const data = {
    StateRegistrations: { [after.state]: registrationDocument(after) },
    Previous: before?.status ?? null,
  }
  return [{ event: 'project.stateRegistration', data }]
}
