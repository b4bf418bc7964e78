/**
 * The facts of a call from Asterisk: from its arguments, else from channel variables, else from the
 * defaults of its trunk, else from those of all calls. What cannot be read is a refusal, no guess.
 */
import type { AsteriskSettings } from '../config.js'
import type { CallRequest } from '../domain/decision.js'
import { AppError, describeProblem } from '../errors.js'
import type { AsteriskChannel } from './asterisk-port.js'
import { readArguments } from './fact-arguments.js'
import { type FactName, type FactTexts, factNames, kindOf, takeFact } from './fact-texts.js'

export type CallFacts = Pick<
  CallRequest,
  'callKind' | 'projectId' | 'campaignId' | 'postalCode' | 'callerId' | 'reference'
>

/** A refusal names the fact, its value and the rule it breaks. */
export type FactsRead =
  | { readonly facts: CallFacts; readonly refusal?: undefined }
  | { readonly refusal: string }

export interface CallToRead {
  /** The dialled number, then `key=value`, as Asterisk has split them. */
  readonly args: readonly string[]
  readonly channel: AsteriskChannel
  /** Asks for a channel variable; `undefined` when it is not set. */
  readonly variable: (name: string) => Promise<string | undefined>
}

export type FactsSettings = Pick<AsteriskSettings, 'defaults' | 'variables' | 'trunks'>

/** A fact and the channel variable that may hold it. */
type FactVariable = readonly [FactName, string]

export class CallFactsReader {
  /** Of a call of which nothing can be read. */
  readonly defaults: CallFacts
  readonly #variables: readonly FactVariable[]
  readonly #defaults: FactTexts
  readonly #trunks: ReadonlyMap<string, FactTexts>

  /** Throws for a default that breaks the rule of its fact, naming the setting. */
  constructor({ defaults, variables, trunks }: FactsSettings) {
    this.#variables = factNames.flatMap((name) => {
      const variable = variables[name]
      return variable === undefined ? [] : [[name, variable] as const]
    })
    this.#defaults = checked('asterisk.defaults', defaults)
    this.#trunks = new Map(
      trunks.map(({ name, defaults: own }) => [
        name,
        checked(`asterisk.trunks ${name} defaults`, own),
      ]),
    )
    this.defaults = this.#complete({}, {})
  }

  /** At once, unless a variable must be asked for. Never rejects. */
  read({ args, channel, variable }: CallToRead): FactsRead | Promise<FactsRead> {
    const given = readArguments(args)
    if (typeof given === 'string') return { refusal: given }
    const trunk = given.trunk === undefined ? {} : this.#trunks.get(given.trunk)
    if (!trunk) return { refusal: this.#unknownTrunk(given.trunk) }
    const { texts } = given
    const toAsk = this.#takePublished(texts, channel)
    if (typeof toAsk === 'string') return { refusal: toAsk }
    if (toAsk.length === 0) return this.#finish(texts, trunk, channel)
    return askFor(toAsk, texts, variable).then((problem) =>
      problem === undefined ? this.#finish(texts, trunk, channel) : { refusal: problem },
    )
  }

  /** Fills `texts` from the variables that came with the event; gives those that did not. */
  #takePublished(texts: FactTexts, { variables }: AsteriskChannel): FactVariable[] | string {
    const toAsk: FactVariable[] = []
    for (const [name, from] of this.#variables) {
      if (texts[name] !== undefined) continue
      const text = variables[from]
      if (text === undefined) toAsk.push([name, from])
      const problem = takeFact(texts, name, held(text ?? '', name, from))
      if (problem !== undefined) return problem
    }
    return toAsk
  }

  #unknownTrunk(value: string | undefined): string {
    const names = [...this.#trunks.keys()].join(', ')
    const rule = `must be a trunk of the settings (${names === '' ? 'there are none' : names})`
    return describeProblem({ field: 'trunk', value, rule })
  }

  /** The caller id of the channel stands in for one that nobody gives. */
  #finish(texts: FactTexts, trunk: FactTexts, { callerNumber }: AsteriskChannel): FactsRead {
    const known = texts.callerid ?? trunk.callerid ?? this.#defaults.callerid
    const problem =
      known === undefined ? takeFact(texts, 'callerid', { text: callerNumber }) : undefined
    return problem === undefined ? { facts: this.#complete(texts, trunk) } : { refusal: problem }
  }

  #complete(texts: FactTexts, trunk: FactTexts): CallFacts {
    const others = this.#defaults
    return {
      callKind: kindOf(texts.kind ?? trunk.kind ?? others.kind) ?? 'ai',
      projectId: texts.project ?? trunk.project ?? others.project,
      campaignId: texts.campaign ?? trunk.campaign ?? others.campaign,
      postalCode: texts.postal ?? trunk.postal ?? others.postal,
      callerId: texts.callerid ?? trunk.callerid ?? others.callerid,
      reference: texts.ref,
    }
  }
}

const held = (text: string, name: FactName, variable: string) => ({
  text,
  field: `${name} (variable ${variable})`,
})

/** Asks for all side by side and fills `texts`; gives the first thing that is wrong. */
async function askFor(
  variables: readonly FactVariable[],
  texts: FactTexts,
  variable: CallToRead['variable'],
): Promise<string | undefined> {
  const problems = await Promise.all(
    variables.map(([name, from]) =>
      variable(from).then(
        (text = '') => takeFact(texts, name, held(text, name, from)),
        (cause: unknown) => `${name}: variable ${from} cannot be read: ${messageOf(cause)}`,
      ),
    ),
  )
  return problems.find((problem) => problem !== undefined)
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

function checked(
  setting: string,
  defaults: FactsSettings['trunks'][number]['defaults'],
): FactTexts {
  const texts: FactTexts = {}
  const given = { ...defaults, ref: undefined }
  for (const name of factNames) {
    const field = `${setting}.${name}`
    const problem = takeFact(texts, name, { text: given[name] ?? '', field })
    if (problem !== undefined) throw new AppError('invalid-request', problem)
  }
  return texts
}
