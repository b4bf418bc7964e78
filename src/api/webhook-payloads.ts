/** The bodies of the events that are sent to customers' addresses, for the description (spec, "Events"). */
import { z } from 'zod'
import { ftcValidation, projectStatus, stateRegistration } from './accounts/projects.js'
import { approvalRequest } from './gate/approvals.js'
import { scanResult } from './reputation/scans.js'

interface WebhookDescription {
  readonly summary: string
  readonly payload: z.ZodType
}

const scanPayload = z
  .discriminatedUnion('Status', [
    z.object({
      JobId: z.string(),
      Status: z.literal('Complete'),
      Results: z.array(scanResult).describe('In the order of the request'),
    }),
    z.object({ JobId: z.string(), Status: z.literal('Failed') }),
  ])
  .meta({ id: 'ScanEvent' })

const delivery = {
  EventId: z.string().describe('The same at each attempt'),
  Attempt: z.int().positive(),
  SentOn: z.string().meta({ format: 'date-time' }),
  ProjectCode: z.string(),
  AcctId: z.string(),
}

function projectEvent<const Name extends string, Data extends z.ZodType>(name: Name, data: Data) {
  return z.object({ ...delivery, Event: z.literal(name), Data: data })
}

const projectPayload = z
  .discriminatedUnion('Event', [
    projectEvent('project.status', z.object({ Status: projectStatus, Previous: projectStatus })),
    projectEvent(
      'project.ftcValidation',
      z.object({ FtcValidation: ftcValidation, Previous: z.string().nullable() }),
    ),
    projectEvent(
      'project.stateRegistration',
      z.object({
        StateRegistrations: z.record(z.string(), stateRegistration).describe('By two-letter state'),
        Previous: z.string().nullable(),
      }),
    ),
    projectEvent('approval.requested', z.object(approvalRequest)),
  ])
  .meta({ id: 'ProjectEvent' })

/** By name. */
export const webhookDescriptions = {
  scanEnded: {
    summary: 'A one-time scan has ended. Sent to the NotificationURL of its request.',
    payload: scanPayload,
  },
  projectChanged: {
    summary:
      'A status of a project has changed, or one of its calls waits for a person. Sent to the WebhookUrl ' +
      'of the project.',
    payload: projectPayload,
  },
} satisfies Readonly<Record<string, WebhookDescription>>
