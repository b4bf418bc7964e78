/** Examines the columns of a table that are not read, for numbers and for words that may decide which rows count. */
import { truncate } from '../../errors.js'
import { normalizeColumnName } from './cells.js'
import { hasNumberInText, hasOnlyNumbers, isTelephone } from './number-cells.js'

/** A row counts if its column has one of the values. */
export interface RowCondition {
  readonly column: string
  readonly values: readonly string[]
}

const toKey = (text: string) => text.trim().toLowerCase()

export class RowFilter {
  readonly #conditions: readonly (RowCondition & { readonly place: number })[]
  readonly #missing: string | undefined
  /** Other values of these columns, for messages. */
  readonly #seen = new Set<string>()
  leftOut = 0

  constructor(conditions: readonly RowCondition[], header: readonly string[], isRow: boolean) {
    this.#conditions = conditions.map((condition) => {
      const place = isRow
        ? Number(condition.column) - 1
        : header.map(normalizeColumnName).indexOf(normalizeColumnName(condition.column))
      return { column: condition.column, values: condition.values.map(toKey), place }
    })
    const missing = this.#conditions.find(({ place }) => !(place >= 0 && place < header.length))
    this.#missing = missing?.column
  }

  get places(): readonly number[] {
    return this.#conditions.map(({ place }) => place)
  }

  leavesOut(cells: readonly string[]): boolean {
    const other = this.#conditions.find(
      ({ place, values }) => !values.includes(toKey(cells[place] ?? '')),
    )
    if (!other) return false
    this.leftOut += 1
    if (this.#seen.size < maxValues) this.#seen.add(cells[other.place] ?? '')
    return true
  }

  /** A misspelled condition must not leave out every row. */
  findProblem(rows: number): string | undefined {
    if (this.#missing !== undefined) return `--where: has no column '${this.#missing}'`
    if (rows === 0 || this.leftOut < rows) return undefined
    const names = this.#conditions.map(({ column }) => `'${column}'`).join(', ')
    return `--where: no row has one of these values in ${names}; the values are ${listValues(this.#seen)}`
  }
}

/** Headers, as lower-case letters and digits, of columns that say which rows count, whatever they hold. */
const decidingNames: ReadonlySet<string> = new Set([
  ...['status', 'action', 'operation', 'changetype', 'disposition', 'calldisposition', 'outcome'],
  ...[
    'lastdisposition',
    'leaddisposition',
    'result',
    'callresult',
    'active',
    'isactive',
    'enabled',
  ],
  ...['inactive', 'deleted', 'isdeleted', 'removed', 'isremoved', 'onlist', 'dnd', 'consentstatus'],
  ...['subscriptionstatus', 'optoutstatus', 'optinstatus', 'dncstatus', 'phonestatus', 'valid'],
  ...['expires', 'expiry', 'expireson', 'expiresat', 'expirydate', 'expirationdate', 'expiration'],
  ...['validuntil', 'enddate', 'endson', 'endedon', 'removedon', 'removedat', 'deletedon', 'until'],
  ...['dateremoved', 'datedeleted', 'deletedat', 'mark', 'changecode', 'addordelete'],
])

/** Parts of the headers of flags, which decide unless they hold dates. */
const flagName =
  /donotcall|donotcontact|dnc|optout|optedout|optin|optedin|unsubscri|suppress|blocked|blacklist/
const flagDetail = /reason|source|notes?$|comments?$|by$|list|campaign|id$|name$/
const dayLike = /^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}/

interface ContentInput {
  /** Empty for a table without one. */
  readonly header: readonly string[]
  readonly numbersAt: readonly number[]
  /** Positions of the columns that are read. */
  readonly readAt: readonly number[]
  /** The operator has named the columns of numbers. */
  readonly isNamed: boolean
  readonly asksWhichRows: boolean
  /** Positions of the columns that the operator has decided about. */
  readonly decidedAt: readonly number[]
  /** Names a column of numbers. */
  readonly option: string
}

interface Content {
  filled: number
  numbers: number
  inText: number
  /** Whether the column may decide which rows count. */
  readonly mayDecide: 'always' | 'unless-days' | 'never'
  hasOther: boolean
  readonly values: Set<string>
}

const maxValues = 6
/** A column of ids may have a few that look like numbers. */
const maxNumberShare = 0.1

export class ColumnContents {
  readonly #input: ContentInput
  readonly #isRead: ReadonlySet<number>
  /** Columns that are read for numbers, but have none so far. */
  readonly #isWanted: Set<number>
  readonly #readNumbersAt: number[] = []
  readonly #columns: Content[] = []

  constructor(input: ContentInput) {
    this.#input = input
    this.#isRead = new Set(input.readAt)
    this.#isWanted = new Set(input.numbersAt)
  }

  add(cells: readonly string[]): void {
    for (let place = 0; place < cells.length; place += 1) {
      const cell = cells[place]
      if (!cell) continue
      if (this.#isRead.has(place)) {
        if (this.#isWanted.has(place) && hasOnlyNumbers(cell)) this.#noteRead(place)
        continue
      }
      const column = this.#columns[place] ?? this.#openColumn(place)
      this.#columns[place] = column
      addCell(column, cell)
    }
  }

  #noteRead(place: number): void {
    this.#isWanted.delete(place)
    this.#readNumbersAt.push(place)
  }

  #openColumn(place: number): Content {
    const mayDecide = this.#mayDecide(place)
    return { filled: 0, numbers: 0, inText: 0, mayDecide, hasOther: false, values: new Set() }
  }

  #mayDecide(place: number): Content['mayDecide'] {
    const { asksWhichRows, decidedAt, header } = this.#input
    if (!asksWhichRows || decidedAt.includes(place)) return 'never'
    const name = normalizeColumnName(header[place] ?? '')
    if (decidingNames.has(name)) return 'always'
    return flagName.test(name) && !flagDetail.test(name) ? 'unless-days' : 'never'
  }

  #nameOf(place: number): string {
    return this.#input.header[place] ? `'${this.#input.header[place]}'` : `column ${place + 1}`
  }

  #findNumberColumns(): readonly number[] {
    return this.#columns.flatMap((column, place) => {
      const { filled, numbers } = column
      // A column without a header may be anything.
      const limit = this.#input.header[place] ? filled * maxNumberShare : 0
      return numbers > limit ? [place] : []
    })
  }

  /** Returns the questions that the operator must answer before the table can be used. */
  findQuestions(): readonly string[] {
    const { header, isNamed } = this.#input
    // An operator who names columns by their headers may not have seen those without one.
    const isKnown = (place: number) => isNamed && (header.length === 0 || header[place])
    const unread = this.#findNumberColumns().filter((place) => !isKnown(place))
    const questions =
      unread.length > 0 ? [this.#askForNumbers([...this.#readNumbersAt, ...unread])] : []
    const deciding = this.#columns.flatMap((column, place) =>
      column.mayDecide === 'always' || (column.mayDecide === 'unless-days' && column.hasOther)
        ? [this.#askForRows(place, column)]
        : [],
    )
    return [...questions, ...deciding]
  }

  /** For a header that is refused: which columns hold numbers. */
  describeNumbers(): readonly string[] {
    const found = this.#findNumberColumns()
    return found.length === 0 ? [] : [this.#askForNumbers(found)]
  }

  #askForNumbers(places: readonly number[]): string {
    const { option } = this.#input
    const sorted = [...places].sort((one, other) => one - other)
    const names = sorted.map((place) => this.#nameOf(place))
    const first = this.#input.header[sorted[0] ?? 0] || String((sorted[0] ?? 0) + 1)
    const what = names.length === 1 ? 'the column with numbers is' : 'the columns with numbers are'
    return `${what} ${names.join(', ')}; name the columns to read, such as ${option}'${first}', which can be repeated`
  }

  #askForRows(place: number, { values }: Content): string {
    const name = this.#input.header[place] ?? ''
    const [value = ''] = values
    return (
      `column '${name}' may decide which rows count (its values: ${listValues(values)}); name the values to use, such as ` +
      `--where '${name}=${value}' (separate several with commas), or use all rows with --all-rows`
    )
  }

  findNotes(): readonly string[] {
    const isColumn = new Set(this.#findNumberColumns())
    const unread = [...isColumn].map((place) => this.#nameOf(place))
    const inText = this.#columns.reduce((sum, { inText, numbers }, place) => {
      return sum + inText + (isColumn.has(place) ? 0 : numbers)
    }, 0)
    const verb = unread.length === 1 ? 'holds' : 'hold'
    return [
      ...(unread.length > 0 ? [`not read: ${unread.join(', ')}, which also ${verb} numbers`] : []),
      ...(inText > 0 ? [`not read: numbers in the text of ${inText} cells of other columns`] : []),
    ]
  }
}

function addCell(column: Content, cell: string): void {
  column.filled += 1
  if (hasOnlyNumbers(cell)) column.numbers += 1
  else if (hasNumberInText(cell)) column.inText += 1
  if (column.mayDecide === 'never') return
  if (!column.hasOther && !dayLike.test(cell) && !isTelephone(cell)) column.hasOther = true
  if (column.values.size < maxValues) column.values.add(cell)
}

function listValues(values: ReadonlySet<string>): string {
  const shown = [...values].map((value) => `'${truncate(value)}'`).join(', ')
  return values.size < maxValues ? shown : `${shown} and more`
}
