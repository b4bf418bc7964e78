/**
 * Reads the facts of a call from Asterisk: from its arguments, otherwise from channel variables, the
 * defaults of its trunk, or the general defaults. An invalid fact is a refusal; nothing is guessed.
 */
import type { AsteriskSettings } from '../../config/settings.js'
import type { CallRequest } from '../../domain/decision.js'
import { AppError, describeProblem, getErrorMessage } from '../../errors.js'
import type { AsteriskChannel } from '../asterisk-port.js'
import {
  addFact,
  type FactArguments,
  type FactName,
  type FactTexts,
  factNames,
  parseCallKind,
  parseFactArguments,
  parsePurpose,
} from './fact-arguments.js'

export type CallFacts = Pick<
  CallRequest,
  | 'callKind'
  | 'purpose'
  | 'projectId'
  | 'campaignId'
  | 'postalCode'
  | 'callerId'
  | 'subject'
  | 'personId'
  | 'reference'
  | 'trunk'
  | 'trace'
>

/** A refusal names the fact, its value and the violated rule. */
export type CallFactsResult =
  | { readonly facts: CallFacts; readonly refusal?: undefined }
  | { readonly refusal: string }

export interface CallFactsInput {
  /** The dialed number, then `key=value`, as split by Asterisk. */
  readonly args: readonly string[]
  readonly channel: AsteriskChannel
  /** Reads a channel variable; `undefined` when it is not set. */
  readonly getVariable: (name: string) => Promise<string | undefined>
}

export type CallFactsSettings = Pick<AsteriskSettings, 'defaults' | 'variables' | 'trunks'>

interface TrunkFacts {
  /** Absent if the dialplan did not name the trunk. */
  readonly name?: string
  /** The defaults of the trunk. */
  readonly texts: FactTexts
}

const noTrunk: TrunkFacts = { texts: {} }

/** A fact and the channel variable that may hold it. */
type FactVariable = readonly [FactName, string]

export class CallFactsReader {
  /** The facts of a call whose own facts cannot be read. */
  readonly defaults: CallFacts
  readonly #variables: readonly FactVariable[]
  readonly #defaults: FactTexts
  readonly #trunks: ReadonlyMap<string, TrunkFacts>

  /** Throws for an invalid default, naming the setting. */
  constructor({ defaults, variables, trunks }: CallFactsSettings) {
    this.#variables = factNames.flatMap((name) => {
      const variable = variables[name]
      return variable === undefined ? [] : [[name, variable] as const]
    })
    this.#defaults = checkDefaults('asterisk.defaults', defaults)
    this.#trunks = new Map(
      trunks.map(({ name, defaults: own }) => [
        name,
        { name, texts: checkDefaults(`asterisk.trunks ${name} defaults`, own) },
      ]),
    )
    this.defaults = this.#applyDefaults({}, noTrunk)
  }

  /** Synchronous unless a variable must be read from Asterisk. Never rejects. */
  read({ args, channel, getVariable }: CallFactsInput): CallFactsResult | Promise<CallFactsResult> {
    const parsed = parseFactArguments(args)
    if (typeof parsed === 'string') return { refusal: parsed }
    const trunk = parsed.trunk === undefined ? noTrunk : this.#trunks.get(parsed.trunk)
    if (!trunk) return { refusal: this.#unknownTrunk(parsed.trunk) }
    const { texts } = parsed
    const missing = this.#readPublished(texts, channel)
    if (typeof missing === 'string') return { refusal: missing }
    if (missing.length === 0) return this.#finish(parsed, trunk, channel)
    return fetchVariables(missing, texts, getVariable).then((problem) =>
      problem === undefined ? this.#finish(parsed, trunk, channel) : { refusal: problem },
    )
  }

  /** Fills `texts` from the variables in the event; returns the ones that were not included. */
  #readPublished(texts: FactTexts, { variables }: AsteriskChannel): FactVariable[] | string {
    const missing: FactVariable[] = []
    for (const [name, from] of this.#variables) {
      if (texts[name] !== undefined) continue
      const text = variables[from]
      if (text === undefined) missing.push([name, from])
      const problem = addFact(texts, name, toVariableFact(text ?? '', name, from))
      if (problem !== undefined) return problem
    }
    return missing
  }

  #unknownTrunk(value: string | undefined): string {
    const names = [...this.#trunks.keys()].join(', ')
    const rule = `must be a trunk of the settings (${names === '' ? 'there are none' : names})`
    return describeProblem({ field: 'trunk', value, rule })
  }

  /** Uses the caller id of the channel when no other is given. */
  #finish(
    { texts, trace }: FactArguments,
    trunk: TrunkFacts,
    { callerNumber }: AsteriskChannel,
  ): CallFactsResult {
    const known = texts.callerid ?? trunk.texts.callerid ?? this.#defaults.callerid
    const problem =
      known === undefined ? addFact(texts, 'callerid', { text: callerNumber }) : undefined
    return problem === undefined
      ? { facts: { ...this.#applyDefaults(texts, trunk), trace } }
      : { refusal: problem }
  }

  #applyDefaults(texts: FactTexts, { name, texts: trunk }: TrunkFacts): CallFacts {
    const defaults = this.#defaults
    return {
      callKind: parseCallKind(texts.kind ?? trunk.kind ?? defaults.kind) ?? 'ai',
      purpose: parsePurpose(texts.purpose),
      projectId: texts.project ?? trunk.project ?? defaults.project,
      campaignId: texts.campaign ?? trunk.campaign ?? defaults.campaign,
      postalCode: texts.postal ?? trunk.postal ?? defaults.postal,
      callerId: texts.callerid ?? trunk.callerid ?? defaults.callerid,
      subject: texts.subject ?? trunk.subject ?? defaults.subject,
      personId: texts.person,
      reference: texts.ref,
      trunk: name,
    }
  }
}

const toVariableFact = (text: string, name: FactName, variable: string) => ({
  text,
  field: `${name} (variable ${variable})`,
})

/** Reads all variables in parallel and fills `texts`; returns the first problem. */
async function fetchVariables(
  variables: readonly FactVariable[],
  texts: FactTexts,
  getVariable: CallFactsInput['getVariable'],
): Promise<string | undefined> {
  const problems = await Promise.all(
    variables.map(([name, from]) =>
      getVariable(from).then(
        (text = '') => addFact(texts, name, toVariableFact(text, name, from)),
        (cause: unknown) => {
          const why = getErrorMessage(cause)
          return `${name}: variable ${from} cannot be read: ${why}`
        },
      ),
    ),
  )
  return problems.find((problem) => problem !== undefined)
}

function checkDefaults(
  setting: string,
  defaults: CallFactsSettings['trunks'][number]['defaults'],
): FactTexts {
  const texts: FactTexts = {}
  const values = { ...defaults, purpose: undefined, person: undefined, ref: undefined }
  for (const name of factNames) {
    const field = `${setting}.${name}`
    const problem = addFact(texts, name, { text: values[name] ?? '', field })
    if (problem !== undefined) throw new AppError('invalid-request', problem)
  }
  return texts
}
