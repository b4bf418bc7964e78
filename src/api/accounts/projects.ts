/** Projects in the API: read, create, change (spec, "Project" and "Projects"). */
import { z } from 'zod'
import { defineEndpoint, type Reply } from '../endpoint.js'
import { fields, optionalId } from '../fields.js'

/** The fields of a request; the service validates their content. */
export interface ProjectWireInput {
  /** Absent leaves the value unchanged; `null` and blank text clear it. */
  readonly name: string | null | undefined
  readonly notes: string | null | undefined
  readonly san: string | null | undefined
  readonly orgId: string | null | undefined
  readonly webhookUrl: string | null | undefined
  readonly inheritsInternalDnc: boolean | undefined
  readonly inheritsEbr: boolean | undefined
}

const textRule = 'must be text or null'
const text = z.string(textRule).nullish()

/** An id; one that consists of digits may also be sent as a number. */
const id = z
  .union([z.string(textRule), z.int(textRule).nonnegative(textRule)], textRule)
  .nullish()
  .transform((value) => (typeof value === 'number' ? String(value) : value))

const flag = z
  .boolean('must be true or false')
  .nullish()
  .transform((value) => value ?? undefined)

const projectFields = {
  ProjectName: text.describe('1 to 200 characters; required for a new project'),
  Notes: text.describe('At most 2000 characters'),
  San: id.describe(
    'Subscription account number of the federal registry. A new one starts a new validation',
  ),
  OrgId: id.describe(
    'Id of the organization at the federal registry. A new one starts a new validation',
  ),
  WebhookUrl: text.describe('Receives status changes; at most 1500 characters'),
  InheritInternalDnc: flag.describe("Use the Master Project's internal do-not-call list"),
  InheritEbr: flag.describe("Use the Master Project's relationship and permission records"),
}

function fromWireInput(wire: z.output<z.ZodObject<typeof projectFields>>): ProjectWireInput {
  return {
    name: wire.ProjectName,
    notes: wire.Notes,
    san: wire.San,
    orgId: wire.OrgId,
    webhookUrl: wire.WebhookUrl,
    inheritsInternalDnc: wire.InheritInternalDnc,
    inheritsEbr: wire.InheritEbr,
  }
}

const bodyCode = optionalId.describe(
  'Trimmed and in upper case; prefixed with the account id if the account has auto prefix',
)

const addressCode = z.string().describe('As returned when the project was created')

const instant = z.string().describe('UTC, ISO 8601')

export const ftcValidation = z.object({
  Status: z
    .enum(['pending', 'validated', 'failed', 'expired'], 'must be a status')
    .describe('Also pending without OrgId and San'),
  OrgId: z.string().nullable(),
  San: z.string().nullable(),
  CheckedOn: instant.nullable(),
  Message: z.string().nullable(),
  Expiration: z.iso.date().nullable().describe('Last day of the registration'),
  HasEntireUs: z.boolean(),
  AreaCodes: z.array(z.string()).readonly(),
})

export const stateRegistration = z.object({
  Status: z.enum(['draft', 'submitted', 'approved', 'rejected', 'expired'], 'must be a status'),
  Confirmation: z.string().nullable(),
  SubmittedOn: instant.nullable(),
})

const lastDelivery = z.object({
  EventId: z.string(),
  Event: z.string(),
  Attempt: z.int(),
  HttpStatus: z.int().nullable().describe('Null when there was no answer'),
  SentOn: instant,
})

export const projectStatus = z.enum(['active', 'inactive'], 'must be active or inactive')

/** Reads a project (spec, "Project"). Its objects are always present; unknown values are null. */
const projectSchema = z.object({
  ProjectCode: z.string().describe('Includes any account prefix'),
  ProjectName: z.string(),
  AcctId: z.string(),
  Status: projectStatus,
  DefaultCampaignId: z.int(),
  FtcValidation: ftcValidation,
  StateRegistrations: z.record(z.string(), stateRegistration).describe('By two-letter state'),
  Webhook: z.object({
    Url: z.string().nullable(),
    LastDelivery: lastDelivery.nullable().describe('Null until the first attempt'),
  }),
  CreatedOn: instant,
  LastModifiedOn: instant,
})

export type ProjectBody = z.output<typeof projectSchema>

export interface SavedProjectBody {
  /** `undefined` when parsed from an answer, whose body does not contain it. */
  readonly created: boolean | undefined
  readonly project: ProjectBody
}

const spec = 'Projects'

export const projectGet = defineEndpoint<{ readonly code: string }, ProjectBody>({
  name: 'project-get',
  summary: 'A project of the account, with its validation, registrations and last notification.',
  spec,
  method: 'GET',
  paths: ['/v1.5/projects/:code'],
  accepts: ['query'],
  keyAlsoIn: [],
  rights: ['look-up'],
  scopes: ({ code }) => [{ projectId: code }],
  request: fields({ code: addressCode }),
  response: projectSchema,
  otherStatuses: { 404: 'The account has no project with that code' },
  errors: 'problem',
})

const saveCommon = {
  spec,
  accepts: ['json'],
  keyAlsoIn: [],
  response: projectSchema.transform(
    (project): SavedProjectBody => ({ project, created: undefined }),
  ),
  errors: 'problem',
} as const

export interface ProjectSaveWireRequest {
  readonly code: string | undefined
  readonly input: ProjectWireInput
}

/** Of a change of a project. */
export const refusedChange = {
  403: 'The project is inactive',
  409: "To stop using the Master Project's opt-outs needs a second person (`twoPeople.for`): the text has the id of the change that waits",
}

/** Extension to the spec, which mentions this endpoint without describing it. */
export const projectSave = defineEndpoint<ProjectSaveWireRequest, SavedProjectBody>({
  ...saveCommon,
  name: 'project-save',
  otherStatuses: { 201: 'The project was created', ...refusedChange },
  summary: 'Creates a project (201), or changes the given fields of an existing one (200).',
  method: 'POST',
  rights: ['manage'],
  scopes: ({ code }) => [{ projectId: code }],
  paths: ['/v1.5/projects'],
  request: fields({ ProjectCode: bodyCode, ...projectFields }).transform(
    ({ ProjectCode, ...wire }) => ({
      code: ProjectCode,
      input: fromWireInput(wire),
    }),
  ),
  encode: ({ created, project }): Reply =>
    created === true
      ? { status: 201, headers: { Location: projectPathOf(project) }, json: project }
      : { json: project },
})

export interface ProjectUpdateWireRequest extends ProjectSaveWireRequest {
  readonly code: string
  /** The code, if the body repeats it. */
  readonly bodyCode: string | undefined
}

/** Extension to the spec, like {@link projectSave}. */
export const projectUpdate = defineEndpoint<ProjectUpdateWireRequest, SavedProjectBody>({
  ...saveCommon,
  name: 'project-update',
  otherStatuses: { ...refusedChange, 404: 'The account has no project with that code' },
  summary: 'Changes the given fields of an existing project.',
  method: 'PUT',
  rights: ['manage'],
  scopes: ({ code }) => [{ projectId: code }],
  paths: ['/v1.5/projects/:code'],
  request: fields({ code: addressCode, ProjectCode: bodyCode, ...projectFields }).transform(
    ({ code, ProjectCode, ...wire }) => ({
      code,
      bodyCode: ProjectCode,
      input: fromWireInput(wire),
    }),
  ),
  encode: ({ project }): Reply => ({ json: project }),
})

function projectPathOf({ ProjectCode }: ProjectBody): string {
  return `/v1.5/projects/${encodeURIComponent(ProjectCode)}`
}
