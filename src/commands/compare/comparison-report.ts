/**
 * Collects the differences between two services by question, field and kind, with the number of rows.
 * Differences that permit a call on one side only are marked.
 */
import type { QuestionName } from '../../domain/compliance.js'
import { toPlainText } from '../../sources/remote/client/reply-diagnostics.js'
import { possiblyPermittingLetters } from '../../sources/remote/questions/scrub-question.js'
import type { RawRow } from '../../sources/remote/raw-row-client.js'
import { formatCount, formatNumber } from '../format.js'

/** One field of one number with different values on the two sides. */
export interface Difference {
  readonly field: string
  /** As text; `undefined` when the row has no such field. */
  readonly theirs: string | undefined
  readonly ours: string | undefined
  /** The side that permits the call, when only one does. */
  readonly permits: 'here' | 'there' | undefined
}

const equals = (expected: string) => (value: string | undefined) => value === expected

/** The fields that decide whether a call is placed, and the values that permit it. */
const permitting: Readonly<
  Record<QuestionName, Readonly<Record<string, (value: string | undefined) => boolean>>>
> = {
  scrub: {
    ResultCode: (letter) => [...possiblyPermittingLetters].some(equals(letter ?? '')),
    IsCallAllowedNonATDS: equals('1'),
    IsCallAllowedATDS: equals('1'),
    IsCallAllowedAI: equals('1'),
  },
  'internal-dnc': { onList: equals('false') },
  litigator: { IsLitigator: equals('false') },
  'legal-time': { IsCallPermitted: equals('true') },
}

/** Values are compared as text, since clients treat a number and its text the same. */
export function findDifferences(
  name: QuestionName,
  theirs: RawRow,
  ours: RawRow,
): readonly Difference[] {
  const fields = new Set([...Object.keys(ours), ...Object.keys(theirs)])
  return [...fields].flatMap((field) => {
    const [there, here] = [fieldOf(theirs, field), fieldOf(ours, field)]
    if (there === here) return []
    const permits = findPermittingSide(name, field, there, here)
    return [{ field, theirs: there, ours: here, permits }]
  })
}

function findPermittingSide(
  name: QuestionName,
  field: string,
  theirs: string | undefined,
  ours: string | undefined,
): Difference['permits'] {
  const known = permitting[name]
  const permits = Object.hasOwn(known, field) ? known[field] : undefined
  if (!permits || permits(theirs) === permits(ours)) return undefined
  return permits(ours) ? 'here' : 'there'
}

/** Uses own properties only, since a provider may name a field `constructor`. */
function fieldOf(row: RawRow, field: string): string | undefined {
  const value = Object.hasOwn(row, field) ? row[field] : undefined
  if (value === undefined || typeof value === 'string') return value
  return JSON.stringify(value)
}

/** An example of one kind of difference, with the facts behind our answer. */
export interface Example {
  readonly number: string
  readonly facts: string
}

interface DifferenceKind {
  readonly text: string
  readonly permits: Difference['permits']
  readonly example: Example
  rows: number
}

interface QuestionTally {
  compared: number
  /** Reason for a missing answer to count of rows. */
  readonly missing: Map<string, number>
  /** Field to kind of difference. */
  readonly fields: Map<string, Map<string, DifferenceKind>>
}

const maxKindsPerField = 200
const otherKindsText = 'other values'

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

  get hasDifferences(): boolean {
    return [...this.#tallies.values()].some(({ fields }) => fields.size > 0)
  }

  /** Answers that were missing on either side. */
  get missing(): number {
    return [...this.#tallies.values()].reduce((sum, { missing }) => sum + sumCounts(missing), 0)
  }

  /** Called once for each number, with all its differences. */
  addNumber(differences: readonly Difference[]): void {
    this.#numbers += 1
    if (differences.some(({ permits }) => permits === 'here')) this.#permittedHere += 1
    if (differences.some(({ permits }) => permits === 'there')) this.#permittedThere += 1
  }

  addMissing(name: QuestionName, side: string, why: string): void {
    const { missing } = this.#tally(name)
    const text = `${side}: ${toPlainText(why, 200)}`
    const key = missing.has(text) || missing.size < maxKindsPerField ? text : 'other failures'
    missing.set(key, (missing.get(key) ?? 0) + 1)
  }

  /** `example` is called when a kind of difference is seen for the first time. */
  async addRow(
    name: QuestionName,
    differences: readonly Difference[],
    example: () => Promise<Example>,
  ): Promise<void> {
    const tally = this.#tally(name)
    tally.compared += 1
    for (const difference of differences) {
      const kinds = tally.fields.get(difference.field) ?? new Map<string, DifferenceKind>()
      tally.fields.set(difference.field, kinds)
      const text = this.#describeKind(difference)
      const key = kinds.has(text) || kinds.size < maxKindsPerField ? text : otherKindsText
      const known = kinds.get(key)
      if (known) known.rows += 1
      else {
        const { permits } = difference
        kinds.set(key, { text: key, permits, example: await example(), rows: 1 })
      }
    }
  }

  /** The report as text for a terminal. */
  text(): string {
    const lines = [
      formatCount(this.#numbers, 'number'),
      `permitted here but not by ${this.#provider}: ${formatNumber(this.#permittedHere)}`,
      `permitted by ${this.#provider} but not here: ${formatNumber(this.#permittedThere)}`,
    ]
    for (const [name, tally] of this.#tallies) lines.push('', ...formatQuestion(name, tally))
    return `${lines.join('\n')}\n`
  }

  #describeKind({ theirs, ours, permits }: Difference): string {
    const mark = permits === 'here' ? ' (permitted only here)' : ''
    return `${formatValue(theirs)} at ${this.#provider}, ${formatValue(ours)} here${mark}`
  }

  #tally(name: QuestionName): QuestionTally {
    const tally = this.#tallies.get(name)
    if (!tally) throw new TypeError(`'${name}' is not compared`)
    return tally
  }
}

const maxShownLength = 24
const maxFieldLength = 60

function formatValue(value: string | undefined): string {
  if (value === undefined) return 'no such field'
  if (value === '') return 'empty'
  const text = visible(value, maxShownLength + 1)
  return text.length > maxShownLength ? 'other text' : `'${text}'`
}

/** A provider's text on one line with invisible characters escaped, since they may be the only difference. */
export function visible(text: string, maxLength: number): string {
  return text
    .slice(0, maxLength)
    .replace(
      /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu,
      (hidden) => `\\u{${hidden.codePointAt(0)?.toString(16)}}`,
    )
}

const maxKindsShown = 8

function formatQuestion(name: QuestionName, { compared, missing, fields }: QuestionTally) {
  const gaps = [...missing].map(([why, rows]) => `  ${formatNumber(rows)} not compared, ${why}`)
  const same = compared > 0 && fields.size === 0 ? ', all the same' : ''
  const lines = [`${name}: ${formatCount(compared, 'row')} compared${same}`, ...gaps]
  const examples = new Map<string, string>()
  for (const [field, kinds] of fields) {
    const all = [...kinds.values()].sort(compareKinds)
    lines.push(`  ${visible(field, maxFieldLength)}: ${formatCount(sumRows(all), 'different row')}`)
    for (const { text, rows, example } of all.slice(0, maxKindsShown)) {
      lines.push(`    ${formatNumber(rows)}  ${text}, such as ${example.number}`)
      examples.set(example.number, example.facts)
    }
    const rest = all.slice(maxKindsShown)
    if (rest.length > 0) {
      lines.push(`    ${formatNumber(sumRows(rest))}  in ${formatCount(rest.length, 'more way')}`)
    }
  }
  if (examples.size > 0) lines.push('  facts here:')
  for (const [number, facts] of examples) lines.push(`    ${number}: ${facts}`)
  return lines
}

/** Differences that permit a call here come first, then the most frequent. */
function compareKinds(a: DifferenceKind, b: DifferenceKind): number {
  const byPermission = Number(b.permits === 'here') - Number(a.permits === 'here')
  return byPermission === 0 ? b.rows - a.rows : byPermission
}

function sumRows(kinds: readonly DifferenceKind[]): number {
  return kinds.reduce((sum, { rows }) => sum + rows, 0)
}

function sumCounts(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, rows) => sum + rows, 0)
}
