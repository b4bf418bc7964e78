/** Gates that a site makes for itself, and what callgate makes of the arguments they give it. */
import { expect } from 'vitest'

interface OwnGate {
  readonly name: string
  /** Arguments of Stasis() after the number. */
  readonly arguments: readonly string[]
  readonly trunk: string
  /** Assignment of a channel variable that goes before. */
  readonly variable?: string | undefined
}

/** A gate of the site's own, made of the shipped steps as config/asterisk/README.md tells. */
export function ownGate({ name, arguments: given, trunk, variable }: OwnGate): string {
  const set = variable === undefined ? '' : ` same => n,Set(${variable})\n`
  const facts = given.map((fact) => `,${fact}`).join('')
  const steps = ['number', 'start', `ask-${name}`, 'verdict', 'late']
  return (
    `[callgate-ask-${name}](!)\n${set} same => n,Stasis(callgate,$\{EXTEN}${facts})\n` +
    ` same => n,Set(CALLGATE_VIA=${trunk})\n` +
    `[gate-${name}](${steps.map((step) => `callgate-${step}`).join(',')})\n`
  )
}

export interface Asking extends Omit<OwnGate, 'name' | 'trunk'> {
  /** Status, cause and reason of the refusal; allowed when absent. */
  readonly refused?: readonly [status: number, cause: number, reason: string]
  /** What the record holds of it. */
  readonly record: Readonly<Record<string, unknown>>
}

const invalid = (text: string, problem: string): Asking => ({
  arguments: text.split(','),
  refused: [503, 42, 'invalid-request'],
  record: { message: expect.stringContaining(problem) as unknown },
})
const noConsent = [403, 21, 'no-consent'] as const
const siteKind = 'SITE_KIND'

/**
 * With the settings of {@link siteSettings}, about a landline that people may call and an AI may not.
 */
export const askings: readonly Asking[] = [
  {
    arguments: [
      'kind=manual',
      'project=sandbox',
      'postal=10001',
      'ref=lead-7',
      'callerid=3025550151',
    ],
    record: {
      callKind: 'manual',
      projectId: 'sandbox',
      postalCode: '10001',
      reference: 'lead-7',
      callerId: '3025550151',
    },
  },
  { arguments: [' KIND = Manual ', 'project='], record: { callKind: 'manual' } },
  { arguments: [], refused: noConsent, record: { callKind: 'ai' } },
  {
    arguments: ['kind=manual', 'project=NOPE'],
    refused: [403, 21, 'unknown-project'],
    record: { projectId: 'NOPE' },
  },
  invalid('kind=robot', "kind 'robot': must be one of manual, autodialed, ai"),
  invalid('kind=manual,kind=manual', "kind 'manual': is given twice"),
  invalid('kind=manual,colour=red', "argument 'colour=red': must be one of"),
  invalid('kind=manual,postal=1', "postal '1': must be a US ZIP code or a Canadian postal code"),
  invalid('kind=manual,trunk=nowhere', "trunk 'nowhere': must be a trunk of the settings"),
  {
    arguments: ['trunk=trunk-manual'],
    record: {
      callKind: 'manual',
      projectId: 'sandbox',
      postalCode: '10002',
      callerId: '3025550152',
    },
  },
  {
    arguments: ['trunk=trunk-manual', 'kind=ai'],
    refused: noConsent,
    record: { callKind: 'ai', postalCode: '10002' },
  },
  { arguments: [], variable: `${siteKind}=manual`, record: { callKind: 'manual' } },
  {
    arguments: ['kind=ai'],
    variable: `${siteKind}=manual`,
    refused: noConsent,
    record: { callKind: 'ai' },
  },
  { ...invalid('', `variable ${siteKind}`), arguments: [], variable: `${siteKind}=robot` },
]

export const siteSettings: Readonly<Record<string, string>> = {
  CALLGATE_ASTERISK_ANNOUNCEMENT_CONTEXT: 'callgate-refused',
  CALLGATE_ASTERISK_VARIABLES_KIND: siteKind,
  CALLGATE_GATE_SHADOW_TRUNKS: '[trunk-ai]',
  CALLGATE_ASTERISK_TRUNKS:
    '[{ name: trunk, channel: PJSIP/trunk }, { name: trunk-ai, channel: PJSIP/trunk-ai }, ' +
    '{ name: trunk-manual, channel: PJSIP/trunk-manual, ' +
    'defaults: { kind: manual, project: sandbox, postal: "10002", callerid: "3025550152" } }]',
}
