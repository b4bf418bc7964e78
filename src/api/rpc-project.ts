/**
 * The older call for projects on the wire. It answers a success with a status and no body; with
 * `output=xml` with a list, whose elements and attributes are those its clients read:
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
 * Clients take the first project they find, so the one that is asked about or changed stands alone. The
 * first of an account's whole list is its Master Project, whose code is the account's id.
 */
import { z } from 'zod'
import { type Endpoint, endpoint, type NeededRight, type Reply } from './endpoint.js'
import { fields, optionalId, optionalText } from './fields.js'

const handlers = [
  ...(['insert_project', 'update_project'] as const),
  ...(['deactivate_project', 'reactivate_project'] as const),
] as const

/** Absent is not given: such a field of the project stays as it is. */
export interface RpcProjectRequest {
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
    const wanted = text?.trim().toLowerCase() ?? ''
    if (wanted === '') return undefined
    const known = handlers.find((one) => one === wanted)
    if (known !== undefined) return known
    context.addIssue(`must be one of ${handlers.join(', ')}`)
    return z.NEVER
  })

const output = z
  .string('must be text')
  .nullish()
  .transform((text, context) => {
    const wanted = text?.trim().toLowerCase() ?? ''
    if (wanted !== '' && wanted !== 'xml') context.addIssue('must be xml or left out')
    return wanted === 'xml'
  })

const flag = z
  .string('must be text')
  .nullish()
  .transform((text, context) => {
    const wanted = text?.trim().toLowerCase() ?? ''
    if (wanted === '') return undefined
    if (wanted === '1' || wanted === 'true') return true
    if (wanted !== '0' && wanted !== 'false') context.addIssue('must be 0, 1, true or false')
    return false
  })

const longestText = 2000

const request = fields({
  project_code: optionalId.describe('Needed to make a project; trimmed and in upper case'),
  projId: optionalId.describe(
    "Addresses a project there is; the account's id addresses the Master Project",
  ),
  project_name: optionalText(longestText).describe('Needed for a new project'),
  nat_dnc_org_id: optionalText(longestText).describe(
    'Organization id at the federal registry, or a subscription account number (1122-334455-08)',
  ),
  handler: handler.describe('Otherwise inferred from whether the code exists'),
  notes: optionalText(longestText),
  use_master_dnc_dnm_database: flag.describe("Use the Master Project's internal do-not-call list"),
  use_master_override_database: flag.describe(
    "Use the Master Project's relationship and consent records",
  ),
  output: output.describe('xml lists projects; with nothing to change, the call only reads'),
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
  /** When it was asked for: the project that was put, or all. */
  listing: listing.or(z.undefined()),
})

export type RpcProjectAnswer = z.output<typeof response>

const rpcRights: readonly NeededRight<RpcProjectRequest>[] = [
  {
    right: 'manage',
    when: 'the request makes or changes a project',
    applies: (request) => !onlyLists(request),
  },
  { right: 'look-up', when: 'it only lists (output=xml)', applies: onlyLists },
]

function onlyLists({ code, projectId, listing, ...changes }: RpcProjectRequest): boolean {
  return listing && Object.values(changes).every((value) => value === undefined)
}

type RpcProjectEndpoint = Endpoint<RpcProjectRequest, RpcProjectAnswer>

/** Extension to the spec, which refers to the call and does not show it. */
const common = {
  spec: 'Projects',
  paths: ['/app/main/rpc/project'],
  rights: rpcRights,
  // The list of all projects leaves out those the key may not name.
  scopes: ({ projectId, code }) =>
    [projectId, code].flatMap((named) => (named === undefined ? [] : [{ projectId: named }])),
  request,
  response,
  replyTypes: ['text/plain', 'application/xml'],
  outcomes: { 201: 'The project was made', 403: 'The project is inactive' },
  errors: 'reason-line',
  encode({ created, listing }): Reply {
    const status = created ? 201 : 200
    if (listing === undefined) return { status, text: '' }
    return { status, contentType: 'application/xml; charset=utf-8', text: xmlOf(listing) }
  },
} satisfies Partial<RpcProjectEndpoint>

export const rpcProject: RpcProjectEndpoint = endpoint({
  ...common,
  name: 'rpc-project',
  summary: 'Makes, changes, switches off and on, or lists projects; the older form of the call.',
  method: 'POST',
  accepts: ['query', 'form', 'multipart'],
  keyAlsoIn: ['query', 'form', 'multipart'],
})

/** By GET too, changes as well: so the older clients send all of it. */
export const rpcProjectGet: RpcProjectEndpoint = endpoint({
  ...common,
  name: 'rpc-project-get',
  summary: 'The same with its fields in the address.',
  method: 'GET',
  accepts: ['query'],
  keyAlsoIn: ['query'],
})

function xmlOf({ accountId, accountName, projects }: RpcProjectListing): string {
  const items = projects.flatMap(({ code, name, status, campaigns }) => [
    start('Project', {
      ...{ projId: code, name, status },
      ...{ parentAcctId: accountId, parentAcctName: accountName },
    }),
    '<Campaigns>',
    ...campaigns.map((campaign) =>
      start('Campaign', {
        campaignId: String(campaign.id),
        campaignName: campaign.name,
        campaignStatus: campaign.status,
        isDefault: campaign.isDefault ? '1' : '0',
      }).replace(/>$/, '/>'),
    ),
    ...['</Campaigns>', '</Project>'],
  ])
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<DncCompliance><DncScrub><Accounts>',
    start('Account', { acctId: accountId, name: accountName }),
    ...['<Projects>', ...items, '</Projects>', '</Account>'],
    ...['</Accounts></DncScrub></DncCompliance>', ''],
  ].join('\n')
}

function start(name: string, attributes: Readonly<Record<string, string>>): string {
  const texts = Object.entries(attributes).map(([key, text]) => ` ${key}="${escaped(text)}"`)
  return `<${name}${texts.join('')}>`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  // In an attribute a reader would make blanks of them.
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

/** XML 1.0, section 2.2, has no way to write some characters; they become U+FFFD. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
    .replace(/[&<>"'\t\n\r]/g, (character) => entities[character] ?? character)
}
