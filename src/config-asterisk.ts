/** The settings of the Asterisk servers, their trunks and the facts of their calls. */
import { z } from 'zod'
import { milliseconds } from './config-values.js'
import { callKinds } from './domain/decision.js'

/** How the one server of `asterisk.url` is called in metrics, logs and readiness. */
export const firstServerName = 'asterisk'

/** Names that also stand in metrics and arguments. */
const shortName = z.string().regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, . _ -')

const ariUrl = z
  .string()
  .regex(
    /^https?:\/\/(?:[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d{1,5})?\/?$/,
    'must be http://host:port or https://host:port, without a path',
  )
  .refine((text) => URL.canParse(text), 'must name a host and a port that can be')

/** Facts of a call that an argument of Stasis() may leave out. */
const callFacts = {
  project: z.string().min(1).optional().describe('Project of calls that name none'),
  campaign: z.string().min(1).optional().describe('Campaign of calls that name none'),
  postal: z.string().min(1).optional().describe('Postal code of calls that name none'),
  callerid: z.string().min(1).optional().describe('Caller id of calls that name none'),
}

const asteriskServer = z.strictObject({
  name: shortName,
  url: ariUrl,
  username: z.string().min(1).optional(),
  password: z.string().min(1).optional(),
  passwordFile: z.string().min(1).optional(),
  app: shortName.optional(),
})

const trunk = z.strictObject({
  name: shortName,
  channel: z.string().regex(/^\w+\/\S+$/, 'must be technology/endpoint such as PJSIP/carrier-a'),
  dialPrefix: z
    .string()
    .regex(/^[\d*#+]*$/, 'must be digits, *, # or +')
    .default(''),
  watch: z.boolean().default(true),
  enforce: z.boolean().optional(),
  defaults: z.strictObject({ kind: z.enum(callKinds).optional(), ...callFacts }).prefault({}),
})

const variableName = (fact: string) =>
  z
    .string()
    .regex(/^[A-Za-z]\w*$/, 'must be the name of a channel variable')
    .optional()
    .describe(
      `Channel variable that holds the ${fact}, when the arguments do not. Whoever originates a ` +
        'call can set variables',
    )

export const asterisk = z
  .strictObject({
    url: ariUrl
      .optional()
      .describe(
        "Address of Asterisk's HTTP server, such as http://127.0.0.1:8088; without it no Asterisk " +
          'is attached',
      ),
    username: z.string().min(1).default('callgate').describe('User of ari.conf'),
    password: z.string().min(1).optional().describe('Password of that user'),
    passwordFile: z.string().min(1).optional().describe('File with the password on its first line'),
    app: shortName
      .default('callgate')
      .describe('Name of the Stasis application; every sidecar of one Asterisk needs its own'),
    servers: z
      .array(asteriskServer)
      .default([])
      .describe(
        'More Asterisk servers: name, url, and username, password, passwordFile, app where they differ',
      ),
    connectTimeoutMs: milliseconds(100, 60_000)
      .default(5_000)
      .describe('A connection that is not up by then is tried again'),
    actionTimeoutMs: milliseconds(50, 60_000)
      .default(1_000)
      .describe('What Asterisk has not answered by then has failed'),
    pongTimeoutMs: milliseconds(500, 60_000)
      .default(3_000)
      .describe('An Asterisk that is silent for so long is not ready, and is connected to anew'),
    permitKeyFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File with the secret that signs permits, at least 32 characters, the same for all sidecars ' +
          'of one Asterisk; without it one is made in the data folder',
      ),
    defaults: z
      .strictObject({
        kind: z
          .enum(callKinds)
          .default('ai')
          .describe('Kind of calls that name none; ai is judged most strictly'),
        ...callFacts,
      })
      .prefault({}),
    variables: z
      .strictObject({
        kind: variableName('call kind'),
        project: variableName('project'),
        campaign: variableName('campaign'),
        postal: variableName('postal code'),
        callerid: variableName('caller id'),
        ref: variableName('reference'),
      })
      .prefault({}),
    announcement: z
      .strictObject({
        context: z
          .string()
          .min(1)
          .optional()
          .describe('Dialplan context where blocked calls go on; without it after Stasis()'),
        extension: z.string().min(1).default('s').describe('Extension in that context'),
        priority: z.number().int().min(1).default(1).describe('Priority of that extension'),
      })
      .prefault({}),
    trunks: z
      .array(trunk)
      .default([])
      .describe(
        'Trunks: name, channel (such as PJSIP/carrier-a), dialPrefix (put before the number), watch, ' +
          'enforce, defaults (kind, project, campaign, postal, callerid)',
      ),
    enforce: z
      .boolean()
      .default(false)
      .describe('Hang up at once a leg on a watched trunk that no decision covers'),
  })
  .superRefine((settings, context) => {
    for (const { path, message } of contradictions(settings)) {
      context.addIssue({ code: 'custom', path: [...path], message })
    }
  })

interface Contradiction {
  readonly path: readonly (string | number)[]
  readonly message: string
}

interface Given {
  readonly url?: string | undefined
  readonly app: string
  readonly password?: string | undefined
  readonly passwordFile?: string | undefined
  readonly servers: readonly z.output<typeof asteriskServer>[]
  readonly trunks: readonly z.output<typeof trunk>[]
}

/** What no single field can tell. */
function contradictions(settings: Given): readonly Contradiction[] {
  const { servers, trunks } = settings
  return [
    ...missingPasswords(settings),
    ...doublePasswords(settings),
    ...enforcedUnwatched(trunks),
    ...repeated('servers', 'name', [firstServerName, ...servers.map(({ name }) => name)], 1),
    ...repeated('servers', 'url', doorsOf(settings), settings.url === undefined ? 0 : 1),
    ...repeated(
      'trunks',
      'name',
      trunks.map(({ name }) => name),
    ),
    ...repeated(
      'trunks',
      'channel',
      trunks.map(({ channel }) => channel),
    ),
  ]
}

function missingPasswords({ url, servers, ...given }: Given): readonly Contradiction[] {
  const has = (one: Pick<Given, 'password' | 'passwordFile'>) =>
    one.password !== undefined || one.passwordFile !== undefined
  if (has(given)) return []
  const message = 'is required, here or in passwordFile beside it'
  const lacking = servers.flatMap((server, index) =>
    has(server) ? [] : [{ path: ['servers', index, 'password'], message }],
  )
  return url === undefined ? lacking : [{ path: ['password'], message }, ...lacking]
}

function doublePasswords({ servers, ...first }: Given): readonly Contradiction[] {
  const { password, passwordFile } = first
  const given = [
    { path: ['password'], password, passwordFile },
    ...servers.map((server, index) => ({ ...server, path: ['servers', index, 'password'] })),
  ]
  const message = 'is given twice, here and in passwordFile'
  return given.flatMap(({ path, ...one }) =>
    one.password !== undefined && one.passwordFile !== undefined ? [{ path, message }] : [],
  )
}

function enforcedUnwatched(trunks: Given['trunks']): readonly Contradiction[] {
  const message = 'does nothing while watch is false'
  return trunks.flatMap(({ watch, enforce }, index) =>
    !watch && enforce === true ? [{ path: ['trunks', index, 'enforce'], message }] : [],
  )
}

/** An application name on an Asterisk has one owner: two with the same would take it in turn. */
const doorsOf = ({ url, app, servers }: Given): readonly string[] => [
  ...(url === undefined ? [] : [`${originOf(url)} as ${app}`]),
  ...servers.map((server) => `${originOf(server.url)} as ${server.app ?? app}`),
]

/** An address that cannot be read is refused in its own place. */
const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url)

/** `before`: how many of the values stand before the list. */
function repeated(
  list: 'servers' | 'trunks',
  field: string,
  values: readonly string[],
  before = 0,
): readonly Contradiction[] {
  return values.flatMap((value, at) =>
    values.indexOf(value) < at
      ? [{ path: [list, at - before, field], message: `is there already: ${value}` }]
      : [],
  )
}
