/**
 * The project document (spec, "Project") in API answers and webhooks. Its objects are always present;
 * unknown values are null.
 */
import type { Selectable } from 'kysely'
import { formatInstant } from '../../domain/time/dates.js'
import type { FtcStatus, RegistrationStatus, StateRegistrationRow } from '../../storage/tables.js'
import type { LastDelivery } from '../webhooks/webhook-queue.js'
import type { StoredProject } from './project-rows.js'

export interface FtcValidationDocument {
  /** Also `pending` while the project has neither `OrgId` nor `San`. */
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

interface DeliveryDocument {
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
  /** By two-letter state, sorted. */
  readonly StateRegistrations: Readonly<Record<string, StateRegistrationDocument>>
  readonly Webhook: { readonly Url: string | null; readonly LastDelivery: DeliveryDocument | null }
  readonly CreatedOn: string
  readonly LastModifiedOn: string
}

export interface ProjectDocumentInput {
  readonly project: StoredProject
  readonly defaultCampaignId: number
  readonly registrations: readonly Selectable<StateRegistrationRow>[]
  readonly lastDelivery: LastDelivery | undefined
}

export function toProjectDocument(input: ProjectDocumentInput): ProjectDocument {
  const { project, defaultCampaignId, registrations, lastDelivery } = input
  const states = registrations.map((row) => [row.state, toRegistrationDocument(row)] as const)
  return {
    ProjectCode: project.code,
    ProjectName: project.name,
    AcctId: project.account_id,
    Status: project.status,
    DefaultCampaignId: defaultCampaignId,
    FtcValidation: toFtcDocument(project),
    StateRegistrations: Object.fromEntries(states),
    Webhook: {
      Url: project.webhook_url,
      LastDelivery: lastDelivery ? toDeliveryDocument(lastDelivery) : null,
    },
    CreatedOn: formatInstant(project.created_at),
    LastModifiedOn: formatInstant(project.modified_at),
  }
}

export function toFtcDocument(project: StoredProject): FtcValidationDocument {
  return {
    // Always text, as published; without an id it is reported as pending.
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

export function toRegistrationDocument(
  row: Selectable<StateRegistrationRow>,
): StateRegistrationDocument {
  return {
    Status: row.status,
    Confirmation: row.confirmation,
    SubmittedOn: instantOrNull(row.submitted_at),
  }
}

function toDeliveryDocument(last: LastDelivery): DeliveryDocument {
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
