/**
 * The older endpoint for projects. Success is a status without a body or, with `output=xml`, a list
 * with the elements and attributes that its clients read:
 *
 *     <DncCompliance><DncScrub><Accounts>
 *       <Account acctId="main" name="Main account">
 *         <Projects>
 *           <Project projId="SPRING" name="Spring sale" status="active" parentAcctId="main"
 *             parentAcctName="Main account">
 *             <Campaigns>
 *               <Campaign campaignId="7" campaignName="Default Campaign" campaignStatus="active"
 *                 isDefault="1"/>
 *             </Campaigns>
 *           </Project>
 *         </Projects>
 *       </Account>
 *     </Accounts></DncScrub></DncCompliance>
 *
 * Clients use the first project they find, so a requested or changed project is listed alone. In the
 * list of all projects the Master Project, whose code is the account's id, comes first.
 */
import { z } from 'zod'
import { defineEndpoint, type Endpoint, type Reply, type RequiredRight } from '../endpoint.js'
import { fields, optionalId, optionalText } from '../fields.js'
import { refusedChange } from './projects.js'

const handlers = [
  'insert_project',
  'update_project',
  'deactivate_project',
  'reactivate_project',
] as const

/** Absent fields leave the project unchanged. */
interface RpcProjectRequest {
  readonly code: string | undefined
  readonly projectId: string | undefined
  readonly handler: (typeof handlers)[number] | undefined
  readonly name: string | undefined
  readonly notes: string | undefined
  readonly federalId: string | undefined
  readonly inheritsInternalDnc: boolean | undefined
  readonly inheritsEbr: boolean | undefined
  readonly listing: boolean
}

const handler = z
  .string('must be text')
  .meta({ enum: [...handlers] })
  .nullish()
  .transform((text, context) => {
    const value = text?.trim().toLowerCase() ?? ''
    if (value === '') return undefined
    const known = handlers.find((name) => name === value)
    if (known !== undefined) return known
    context.addIssue(`must be one of ${handlers.join(', ')}`)
    return z.NEVER
  })

const output = z
  .string('must be text')
  .nullish()
  .transform((text, context) => {
    const value = text?.trim().toLowerCase() ?? ''
    if (value !== '' && value !== 'xml') context.addIssue('must be xml or absent')
    return value === 'xml'
  })

const flag = z
  .string('must be text')
  .nullish()
  .transform((text, context) => {
    const value = text?.trim().toLowerCase() ?? ''
    if (value === '') return undefined
    if (value === '1' || value === 'true') return true
    if (value !== '0' && value !== 'false') context.addIssue('must be 0, 1, true or false')
    return false
  })

const maxTextLength = 2000

const request = fields({
  project_code: optionalId.describe('Required to create a project; trimmed and in upper case'),
  projId: optionalId.describe(
    "Code of an existing project; the account's id means the Master Project",
  ),
  project_name: optionalText(maxTextLength).describe('Required for a new project'),
  nat_dnc_org_id: optionalText(maxTextLength).describe(
    'Organization id at the federal registry, or a subscription account number (1122-334455-08)',
  ),
  handler: handler.describe('If absent, inferred from whether the code exists'),
  notes: optionalText(maxTextLength),
  use_master_dnc_dnm_database: flag.describe("Use the Master Project's internal do-not-call list"),
  use_master_override_database: flag.describe(
    "Use the Master Project's relationship and permission records",
  ),
  output: output.describe('xml lists projects; without changes the call only reads'),
}).transform(
  (wire): RpcProjectRequest => ({
    code: wire.project_code,
    projectId: wire.projId,
    handler: wire.handler,
    name: wire.project_name,
    notes: wire.notes,
    federalId: wire.nat_dnc_org_id,
    inheritsInternalDnc: wire.use_master_dnc_dnm_database,
    inheritsEbr: wire.use_master_override_database,
    listing: wire.output,
  }),
)

const status = z.enum(['active', 'inactive'])

const listing = z.object({
  accountId: z.string(),
  accountName: z.string(),
  projects: z
    .array(
      z.object({
        code: z.string(),
        name: z.string(),
        status,
        campaigns: z
          .array(z.object({ id: z.int(), name: z.string(), status, isDefault: z.boolean() }))
          .readonly(),
      }),
    )
    .readonly(),
})

type RpcProjectListing = z.output<typeof listing>

const response = z.object({
  created: z.boolean(),
  /** Present if requested: the saved project, or all projects. */
  listing: listing.or(z.undefined()),
})

type RpcProjectResponse = z.output<typeof response>

const rpcRights: readonly RequiredRight<RpcProjectRequest>[] = [
  {
    right: 'manage',
    condition: 'the request creates or changes a project',
    appliesTo: (request) => !isListOnly(request),
  },
  { right: 'look-up', condition: 'it only lists (output=xml)', appliesTo: isListOnly },
]

function isListOnly({ code, projectId, listing, ...changes }: RpcProjectRequest): boolean {
  return listing && Object.values(changes).every((value) => value === undefined)
}

type RpcProjectEndpoint = Endpoint<RpcProjectRequest, RpcProjectResponse>

/** Extension to the spec, which mentions this endpoint without describing it. */
const common = {
  spec: 'Projects',
  paths: ['/app/main/rpc/project'],
  rights: rpcRights,
  // The list of all projects omits those that the key may not use.
  scopes: ({ projectId, code }) =>
    [projectId, code].flatMap((named) => (named === undefined ? [] : [{ projectId: named }])),
  request,
  response,
  replyTypes: ['text/plain', 'application/xml'],
  otherStatuses: { 201: 'The project was created', ...refusedChange },
  errors: 'reason-line',
  encode({ created, listing }): Reply {
    const status = created ? 201 : 200
    if (listing === undefined) return { status, text: '' }
    return { status, contentType: 'application/xml; charset=utf-8', text: formatXml(listing) }
  },
} satisfies Partial<RpcProjectEndpoint>

export const rpcProject: RpcProjectEndpoint = defineEndpoint({
  ...common,
  name: 'rpc-project',
  summary:
    'Creates, changes, deactivates, reactivates or lists projects; the older form of the call.',
  method: 'POST',
  accepts: ['query', 'form', 'multipart'],
  keyAlsoIn: ['query', 'form', 'multipart'],
})

/** GET makes changes too, since older clients send everything this way. */
export const rpcProjectGet: RpcProjectEndpoint = defineEndpoint({
  ...common,
  name: 'rpc-project-get',
  summary:
    'Creates, changes or lists projects with fields in the query; the older form of the call.',
  method: 'GET',
  accepts: ['query'],
  keyAlsoIn: ['query'],
})

function formatXml({ accountId, accountName, projects }: RpcProjectListing): string {
  const items = projects.flatMap(({ code, name, status, campaigns }) => [
    formatStartTag('Project', {
      projId: code,
      name,
      status,
      parentAcctId: accountId,
      parentAcctName: accountName,
    }),
    '<Campaigns>',
    ...campaigns.map((campaign) =>
      formatStartTag('Campaign', {
        campaignId: String(campaign.id),
        campaignName: campaign.name,
        campaignStatus: campaign.status,
        isDefault: campaign.isDefault ? '1' : '0',
      }).replace(/>$/, '/>'),
    ),
    '</Campaigns>',
    '</Project>',
  ])
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<DncCompliance><DncScrub><Accounts>',
    formatStartTag('Account', { acctId: accountId, name: accountName }),
    '<Projects>',
    ...items,
    '</Projects>',
    '</Account>',
    '</Accounts></DncScrub></DncCompliance>',
    '',
  ].join('\n')
}

function formatStartTag(name: string, attributes: Readonly<Record<string, string>>): string {
  const texts = Object.entries(attributes).map(([key, text]) => ` ${key}="${escapeXml(text)}"`)
  return `<${name}${texts.join('')}>`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  // XML readers replace these with spaces in attributes.
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

/** Some characters cannot appear in XML 1.0 (section 2.2); they become U+FFFD. */
function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
    .replace(/[&<>"'\t\n\r]/g, (character) => entities[character] ?? character)
}
