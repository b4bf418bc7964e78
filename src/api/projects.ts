/** Projects on the wire: read, make, change (spec, "Project" and "Projects"). */
import { z } from 'zod'
import { endpoint, type Reply } from './endpoint.js'
import { fields, optionalId } from './fields.js'

/** Of a request; whether a text may be what it is, is the subject's to say. */
export interface ProjectWireInput {
  /** Absent is unchanged; `null` and blank text clear. */
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

/** Ids made of digits alone may come as numbers. */
const id = z
  .union([z.string(textRule), z.int(textRule).nonnegative(textRule)], textRule)
  .nullish()
  .transform((value) => (typeof value === 'number' ? String(value) : value))

const flag = z
  .boolean('must be true or false')
  .nullish()
  .transform((value) => value ?? undefined)

const input = {
  ProjectName: text.describe('1 to 200 characters; needed for a new project'),
  Notes: text.describe('At most 2000 characters'),
  San: id.describe(
    'Subscription account number of the federal registry. Another one begins a new validation',
  ),
  OrgId: id.describe(
    'Id of the organization at the federal registry. Another one begins a new validation',
  ),
  WebhookUrl: text.describe('Is told of changed statuses; at most 1500 characters'),
  InheritInternalDnc: flag.describe("Use the Master Project's internal do-not-call list"),
  InheritEbr: flag.describe("Use the Master Project's relationship and consent records"),
}

function inputOf(wire: z.output<z.ZodObject<typeof input>>): ProjectWireInput {
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
  "Compared trimmed and in upper case; gets the account's prefix when the account asks for one",
)

const addressCode = z.string().describe('As the call that made the project returned it')

const instant = z.string().describe('UTC, ISO 8601')

const ftcValidation = z.object({
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

const stateRegistration = z.object({
  Status: z.enum(['draft', 'submitted', 'approved', 'rejected', 'expired'], 'must be a status'),
  Confirmation: z.string().nullable(),
  SubmittedOn: instant.nullable(),
})

const lastDelivery = z.object({
  EventId: z.string(),
  Event: z.string(),
  Attempt: z.int(),
  HttpStatus: z.int().nullable().describe('Null when no answer came'),
  SentOn: instant,
})

/** Reads a project (spec, "Project"). Its objects are always there; what is not known is null. */
export const projectSchema = z.object({
  ProjectCode: z.string().describe('Includes any account prefix'),
  ProjectName: z.string(),
  AcctId: z.string(),
  Status: z.enum(['active', 'inactive'], 'must be active or inactive'),
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
  /** Not known of an answer that was read, where the status of the answer says so. */
  readonly created: boolean | undefined
  readonly project: ProjectBody
}

const spec = 'Projects'

export const projectGet = endpoint<{ readonly code: string }, ProjectBody>({
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
  outcomes: { 404: 'The account has no project of that code' },
  errors: 'problem',
})

const saved = {
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

/** Extension to the spec, which refers to the call and does not show it. */
export const projectSave = endpoint<ProjectSaveWireRequest, SavedProjectBody>({
  ...saved,
  name: 'project-save',
  outcomes: { 201: 'The project was made', 403: 'The project is inactive' },
  summary: 'Makes a project (201), or changes what is given of the one of that code (200).',
  method: 'POST',
  rights: ['manage'],
  scopes: ({ code }) => [{ projectId: code }],
  paths: ['/v1.5/projects'],
  request: fields({ ProjectCode: bodyCode, ...input }).transform(({ ProjectCode, ...wire }) => ({
    code: ProjectCode,
    input: inputOf(wire),
  })),
  encode: ({ created, project }): Reply =>
    created === true
      ? { status: 201, headers: { Location: addressOf(project) }, json: project }
      : { json: project },
})

export interface ProjectUpdateWireRequest extends ProjectSaveWireRequest {
  readonly code: string
  /** In the body, where it may stand again. */
  readonly bodyCode: string | undefined
}

/** Extension to the spec, as {@link projectSave}. */
export const projectUpdate = endpoint<ProjectUpdateWireRequest, SavedProjectBody>({
  ...saved,
  name: 'project-update',
  outcomes: {
    403: 'The project is inactive',
    404: 'The account has no project of that code',
  },
  summary: 'Changes what is given of a project there is.',
  method: 'PUT',
  rights: ['manage'],
  scopes: ({ code }) => [{ projectId: code }],
  paths: ['/v1.5/projects/:code'],
  request: fields({ code: addressCode, ProjectCode: bodyCode, ...input }).transform(
    ({ code, ProjectCode, ...wire }) => ({ code, bodyCode: ProjectCode, input: inputOf(wire) }),
  ),
  encode: ({ project }): Reply => ({ json: project }),
})

function addressOf({ ProjectCode }: ProjectBody): string {
  return `/v1.5/projects/${encodeURIComponent(ProjectCode)}`
}
