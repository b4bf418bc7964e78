/**
 * A project as its readers see it (spec, "Project"): the answer of the calls for projects, and what
 * notifications show of it. An object is always there; what is not known in it is null.
 */
import type { Selectable } from 'kysely'
import { formatInstant } from '../../domain/clock.js'
import type { FtcStatus, RegistrationStatus, StateRegistrationRow } from '../../storage/tables.js'
import type { LastDelivery } from '../webhooks/webhook-queue.js'
import type { StoredProject } from './project-rows.js'

export interface FtcValidationDocument {
  /** `pending` as well as long as the project has neither `OrgId` nor `San`. */
  readonly Status: FtcStatus
  readonly OrgId: string | null
  readonly San: string | null
  readonly CheckedOn: string | null
  readonly Message: string | null
  /** `YYYY-MM-DD`, the last day of the registration. */
  readonly Expiration: string | null
  readonly HasEntireUs: boolean
  readonly AreaCodes: readonly string[]
}

export interface StateRegistrationDocument {
  readonly Status: RegistrationStatus
  readonly Confirmation: string | null
  readonly SubmittedOn: string | null
}

export interface DeliveryDocument {
  readonly EventId: string
  readonly Event: string
  readonly Attempt: number
  readonly HttpStatus: number | null
  readonly SentOn: string
}

export interface ProjectDocument {
  readonly ProjectCode: string
  readonly ProjectName: string
  readonly AcctId: string
  readonly Status: 'active' | 'inactive'
  readonly DefaultCampaignId: number
  readonly FtcValidation: FtcValidationDocument
  /** By two-letter state, in their order. */
  readonly StateRegistrations: Readonly<Record<string, StateRegistrationDocument>>
  readonly Webhook: { readonly Url: string | null; readonly LastDelivery: DeliveryDocument | null }
  readonly CreatedOn: string
  readonly LastModifiedOn: string
}

export interface ProjectParts {
  readonly project: StoredProject
  readonly defaultCampaignId: number
  readonly registrations: readonly Selectable<StateRegistrationRow>[]
  readonly lastDelivery: LastDelivery | undefined
}

export function projectDocument(parts: ProjectParts): ProjectDocument {
  const { project, defaultCampaignId, registrations, lastDelivery } = parts
  const states = registrations.map((row) => [row.state, registrationDocument(row)] as const)
  return {
    ProjectCode: project.code,
    ProjectName: project.name,
    AcctId: project.account_id,
    Status: project.status,
    DefaultCampaignId: defaultCampaignId,
    FtcValidation: ftcDocument(project),
    StateRegistrations: Object.fromEntries(states),
    Webhook: {
      Url: project.webhook_url,
      LastDelivery: lastDelivery ? deliveryDocument(lastDelivery) : null,
    },
    CreatedOn: formatInstant(project.created_at),
    LastModifiedOn: formatInstant(project.modified_at),
  }
}

export function ftcDocument(project: StoredProject): FtcValidationDocument {
  return {
    // Always text, as published; without an id nothing has been validated either.
    Status: project.ftc_status ?? 'pending',
    OrgId: project.org_id,
    San: project.san,
    CheckedOn: instantOrNull(project.ftc_checked_at),
    Message: project.ftc_message,
    Expiration: project.ftc_expires_on,
    HasEntireUs: project.ftc_entire_us === 1,
    AreaCodes: project.ftc_area_codes === '' ? [] : project.ftc_area_codes.split(','),
  }
}

export function registrationDocument(
  row: Selectable<StateRegistrationRow>,
): StateRegistrationDocument {
  return {
    Status: row.status,
    Confirmation: row.confirmation,
    SubmittedOn: instantOrNull(row.submitted_at),
  }
}

function deliveryDocument(last: LastDelivery): DeliveryDocument {
  return {
    EventId: last.eventId,
    Event: last.event,
    Attempt: last.attempt,
    HttpStatus: last.httpStatus,
    SentOn: formatInstant(last.sentAt),
  }
}

function instantOrNull(at: number | null): string | null {
  return at === null ? null : formatInstant(at)
}
