/** The settings of the Asterisk servers, their trunks and the facts of their calls. */

import { z } from 'zod'
import { callKinds, maxIdLength } from '../domain/decision.js'
import { parseUrl } from '../runtime/parse-url.js'
import { addProblem, milliseconds, shortName, text } from './values.js'

/** Name of the server at `asterisk.url` in metrics, logs and readiness. */
export const defaultServerName = 'asterisk'

const ariUrl = z
  .string()
  .regex(
    /^https?:\/\/(?:[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d{1,5})?\/?$/,
    'must be http://host:port or https://host:port, without a path',
  )
  .refine((text) => parseUrl(text) !== undefined, 'must have a valid host and port')

/** Call facts used when the arguments of Stasis() do not give them. */
const callFacts = {
  project: text.optional().describe('Project of calls that do not give one'),
  campaign: text.optional().describe('Campaign of calls that do not give one'),
  subject: text
    .max(maxIdLength)
    .optional()
    .describe('Subject of calls that do not give one, of those in gate.subjects'),
  postal: text.optional().describe('Postal code of calls that do not give one'),
  callerid: text.optional().describe('Caller id of calls that do not give one'),
}

const asteriskServer = z.strictObject({
  name: shortName,
  url: ariUrl,
  username: text.optional(),
  password: text.optional(),
  passwordFile: text.optional(),
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
      `Channel variable that holds the ${fact} when the Stasis() arguments do not give it. Anyone ` +
        'who originates a call can set it',
    )

export const asteriskSchema = z
  .strictObject({
    url: ariUrl
      .optional()
      .describe(
        "Address of Asterisk's HTTP server, such as http://127.0.0.1:8088. When unset, callgate " +
          'does not connect to Asterisk here',
      ),
    username: text.default('callgate').describe('User name from ari.conf'),
    password: text.optional().describe('Password of that user'),
    passwordFile: text.optional().describe('File with the password on its first line'),
    app: shortName
      .default('callgate')
      .describe('Name of the Stasis application; each sidecar of the same Asterisk needs its own'),
    servers: z
      .array(asteriskServer)
      .default([])
      .describe(
        'More Asterisk servers: name, url, and (where they differ) username, password, passwordFile, app',
      ),
    connectTimeoutMs: milliseconds(100, 60_000)
      .default(5_000)
      .describe('How long to wait for a connection before trying again'),
    actionTimeoutMs: milliseconds(50, 60_000)
      .default(1_000)
      .describe('How long to wait for Asterisk to answer a request before it is treated as failed'),
    pongTimeoutMs: milliseconds(500, 60_000)
      .default(3_000)
      .describe(
        'An Asterisk that is silent for this long is reported as not ready, and the connection is reopened',
      ),
    permitKeyFile: text
      .optional()
      .describe(
        'File with the secret that signs permits, at least 32 characters, the same for all sidecars ' +
          'of one Asterisk. When unset, one is created in the data folder',
      ),
    defaults: z
      .strictObject({
        kind: z
          .enum(callKinds)
          .default('ai')
          .describe('Kind of calls that do not give one; ai has the strictest rules'),
        ...callFacts,
      })
      .prefault({}),
    variables: z
      .strictObject({
        kind: variableName('call kind'),
        purpose: variableName('purpose'),
        project: variableName('project'),
        campaign: variableName('campaign'),
        postal: variableName('postal code'),
        callerid: variableName('caller id'),
        subject: variableName('subject'),
        person: variableName('name of the person called'),
        ref: variableName('reference'),
      })
      .prefault({}),
    announcement: z
      .strictObject({
        context: text
          .optional()
          .describe(
            'Dialplan context where blocked calls continue. When unset, they continue after Stasis()',
          ),
        extension: text.default('s').describe('Extension in that context'),
        priority: z.number().int().min(1).default(1).describe('Priority of that extension'),
      })
      .prefault({}),
    trunks: z
      .array(trunk)
      .default([])
      .describe(
        'Trunks: name, channel (such as PJSIP/carrier-a), dialPrefix (put before the number), watch, ' +
          'enforce, defaults (kind, project, campaign, postal, callerid, subject)',
      ),
    enforce: z
      .boolean()
      .default(false)
      .describe('Immediately hang up a leg on a watched trunk that has no decision'),
  })
  .superRefine((settings, context) => {
    const { url, app, servers, trunks } = settings
    reportLoginProblems(settings, context)
    for (const [index, { watch, enforce }] of trunks.entries()) {
      if (watch || enforce !== true) continue
      addProblem(context, ['trunks', index, 'enforce'], 'has no effect while watch is false')
    }
    // Two connections with one application name on the same Asterisk would keep displacing each other.
    const applications = servers.map((server) => `${originOf(server.url)} as ${server.app ?? app}`)
    const first = url === undefined ? [] : [`${originOf(url)} as ${app}`]
    const names = servers.map(({ name }) => name)
    reportDuplicates(context, ['servers', 'name'], names, [defaultServerName])
    reportDuplicates(context, ['servers', 'url'], applications, first)
    for (const field of ['name', 'channel'] as const) {
      const values = trunks.map((one) => one[field])
      reportDuplicates(context, ['trunks', field], values)
    }
  })

interface Login {
  readonly password?: string | undefined
  readonly passwordFile?: string | undefined
}

/** Servers without a password of their own use the shared one. */
function reportLoginProblems(
  settings: Login & { readonly url?: string | undefined; readonly servers: readonly Login[] },
  context: z.core.$RefinementCtx,
): void {
  const shared = countPasswords(settings)
  const logins = [
    { login: settings, path: [], isUsed: settings.url !== undefined },
    ...settings.servers.map((login, index) => ({ login, path: ['servers', index], isUsed: true })),
  ]
  for (const { login, path, isUsed } of logins) {
    const own = countPasswords(login)
    const problem = (message: string) => addProblem(context, [...path, 'password'], message)
    if (isUsed && own + shared === 0) problem('is required; set it or passwordFile')
    if (own > 1) problem('is set here and in passwordFile; keep one of them')
  }
}

const countPasswords = ({ password, passwordFile }: Login): number =>
  [password, passwordFile].filter((value) => value !== undefined).length

/** An invalid address is reported by the schema of the field itself. */
const originOf = (url: string): string => parseUrl(url)?.origin ?? url

/** Reports values that equal an earlier one, or one of `reserved`. */
function reportDuplicates(
  context: z.core.$RefinementCtx,
  [list, field]: readonly [string, string],
  values: readonly string[],
  reserved: readonly string[] = [],
): void {
  for (const [index, value] of values.entries()) {
    if (!reserved.includes(value) && values.indexOf(value) === index) continue
    addProblem(context, [list, index, field], `is a duplicate: ${value}`)
  }
}
