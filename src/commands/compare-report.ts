/**
 * What two services answered differently: every field, by kind of difference and number of rows. Which
 * differences let a call through is told apart from the rest.
 */
import type { QuestionName } from '../domain/compliance.js'
import { plainText } from '../sources/remote/odd-replies.js'
import type { WireRow } from '../sources/remote/provider-rows.js'
import { permittingLetters } from '../sources/remote/scrub-question.js'

/** One field of one number that the two do not answer alike. */
export interface Difference {
  readonly field: string
  /** As text; `undefined` where the row has no such field. */
  readonly theirs: string | undefined
  readonly ours: string | undefined
  /** Whether the field permits a call on one side alone. */
  readonly permits: 'here' | 'there' | undefined
}

const is = (wanted: string) => (value: string | undefined) => value === wanted

/** The fields that decide whether a call is placed, and when they permit one. */
const permitting: Readonly<
  Record<QuestionName, Readonly<Record<string, (value: string | undefined) => boolean>>>
> = {
  scrub: {
    ResultCode: (letter) => [...permittingLetters].some(is(letter ?? '')),
    IsCallAllowedNonATDS: is('1'),
    IsCallAllowedATDS: is('1'),
    IsCallAllowedAI: is('1'),
  },
  'internal-dnc': { onList: is('false') },
  litigator: { IsLitigator: is('false') },
  'legal-time': { IsCallPermitted: is('true') },
}

/** Values are compared as text, since clients read a number and its text alike. */
export function differencesOf(
  name: QuestionName,
  theirs: WireRow,
  ours: WireRow,
): readonly Difference[] {
  const fields = new Set([...Object.keys(ours), ...Object.keys(theirs)])
  return [...fields].flatMap((field) => {
    const [there, here] = [textOf(theirs[field]), textOf(ours[field])]
    if (there === here) return []
    return [{ field, theirs: there, ours: here, permits: permitsOn(name, field, there, here) }]
  })
}

function permitsOn(
  name: QuestionName,
  field: string,
  theirs: string | undefined,
  ours: string | undefined,
): Difference['permits'] {
  const permits = permitting[name][field]
  if (!permits || permits(theirs) === permits(ours)) return undefined
  return permits(ours) ? 'here' : 'there'
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  return JSON.stringify(value)
}

/** An example of one kind of difference, with the facts behind our answer. */
export interface Example {
  readonly number: string
  readonly facts: string
}

interface Kind {
  readonly text: string
  readonly permits: Difference['permits']
  readonly example: Example
  rows: number
}

interface QuestionTally {
  compared: number
  /** Why there was nothing to compare, and how often. */
  readonly missing: Map<string, number>
  /** Field -> kind of difference. */
  readonly fields: Map<string, Map<string, Kind>>
}

const maxKindsPerField = 200
const otherKinds = 'other values'

export class ComparisonReport {
  readonly #provider: string
  readonly #tallies: ReadonlyMap<QuestionName, QuestionTally>
  #numbers = 0
  #permittedHere = 0
  #permittedThere = 0

  constructor(provider: string, names: readonly QuestionName[]) {
    this.#provider = provider
    this.#tallies = new Map(
      names.map((name) => [name, { compared: 0, missing: new Map(), fields: new Map() }]),
    )
  }

  get differs(): boolean {
    return [...this.#tallies.values()].some(({ fields }) => fields.size > 0)
  }

  /** Answers that were missing on either side. */
  get missing(): number {
    return [...this.#tallies.values()].reduce((sum, { missing }) => sum + total(missing), 0)
  }

  /** Called once for each number, with all its differences. */
  addNumber(differences: readonly Difference[]): void {
    this.#numbers += 1
    if (differences.some(({ permits }) => permits === 'here')) this.#permittedHere += 1
    if (differences.some(({ permits }) => permits === 'there')) this.#permittedThere += 1
  }

  addMissing(name: QuestionName, who: string, why: string): void {
    const { missing } = this.#tally(name)
    const text = `${who}: ${plainText(why, 200)}`
    const key = missing.has(text) || missing.size < maxKindsPerField ? text : 'other failures'
    missing.set(key, (missing.get(key) ?? 0) + 1)
  }

  /** `example` is asked for when a kind of difference is seen for the first time. */
  async addRow(
    name: QuestionName,
    differences: readonly Difference[],
    example: () => Promise<Example>,
  ): Promise<void> {
    const tally = this.#tally(name)
    tally.compared += 1
    for (const difference of differences) {
      const kinds = tally.fields.get(difference.field) ?? new Map<string, Kind>()
      tally.fields.set(difference.field, kinds)
      const text = this.#kindOf(difference)
      const key = kinds.has(text) || kinds.size < maxKindsPerField ? text : otherKinds
      const known = kinds.get(key)
      if (known) known.rows += 1
      else {
        const { permits } = difference
        kinds.set(key, { text: key, permits, example: await example(), rows: 1 })
      }
    }
  }

  /** For a terminal. */
  text(): string {
    const lines = [
      counted(this.#numbers, 'number'),
      `permitted here and not by ${this.#provider}: ${counted(this.#permittedHere)}`,
      `permitted by ${this.#provider} and not here: ${counted(this.#permittedThere)}`,
    ]
    for (const [name, tally] of this.#tallies) lines.push('', ...questionLines(name, tally))
    return `${lines.join('\n')}\n`
  }

  #kindOf({ theirs, ours, permits }: Difference): string {
    const mark = permits === 'here' ? ' (permitted here alone)' : ''
    return `${shown(theirs)} at ${this.#provider}, ${shown(ours)} here${mark}`
  }

  #tally(name: QuestionName): QuestionTally {
    const tally = this.#tallies.get(name)
    if (!tally) throw new TypeError(`'${name}' is not compared`)
    return tally
  }
}

const longestShown = 24

function shown(value: string | undefined): string {
  if (value === undefined) return 'no such field'
  if (value === '') return 'empty'
  const text = plainText(value, longestShown + 1)
  return text.length > longestShown ? 'other text' : `'${text}'`
}

const maxKindsShown = 8

function questionLines(name: QuestionName, { compared, missing, fields }: QuestionTally) {
  const gaps = [...missing].map(([why, rows]) => `  ${counted(rows)} not compared, ${why}`)
  const same = compared > 0 && fields.size === 0 ? ', all alike' : ''
  const lines = [`${name}: ${counted(compared, 'row')} compared${same}`, ...gaps]
  const examples = new Map<string, string>()
  for (const [field, kinds] of fields) {
    const all = [...kinds.values()].sort(byWeight)
    lines.push(`  ${field}: ${counted(sumOf(all), 'different row')}`)
    for (const { text, rows, example } of all.slice(0, maxKindsShown)) {
      lines.push(`    ${counted(rows)}  ${text}, such as ${example.number}`)
      examples.set(example.number, example.facts)
    }
    const rest = all.slice(maxKindsShown)
    if (rest.length > 0) {
      lines.push(`    ${counted(sumOf(rest))}  in ${counted(rest.length, 'more way')}`)
    }
  }
  if (examples.size > 0) lines.push('  facts here:')
  for (const [number, facts] of examples) lines.push(`    ${number}: ${facts}`)
  return lines
}

/** What lets calls through first, then what there is most of. */
function byWeight(one: Kind, other: Kind): number {
  const first = Number(other.permits === 'here') - Number(one.permits === 'here')
  return first === 0 ? other.rows - one.rows : first
}

function sumOf(kinds: readonly Kind[]): number {
  return kinds.reduce((sum, { rows }) => sum + rows, 0)
}

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, rows) => sum + rows, 0)
}

/** `1 row`, `12,000 rows`; the figure alone without a noun. */
export function counted(value: number, noun?: string): string {
  const figure = value.toLocaleString('en-US')
  return noun === undefined ? figure : `${figure} ${noun}${value === 1 ? '' : 's'}`
}
