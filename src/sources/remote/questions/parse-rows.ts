/**
 * Extracts the rows of a provider's reply, one per number in request order, and parses each separately.
 * The question interprets their values.
 */
import type { Question } from '../../../domain/compliance.js'
import { type InvalidRow, type ParsedRow, ReplyError } from '../batch-question.js'
import { diagnoseJson, diagnoseText, type ReplyText } from '../client/reply-diagnostics.js'

/** The part of a zod schema that parsing a row needs. */
interface RowSchema<Row> {
  safeParse(
    value: unknown,
  ):
    | { readonly success: true; readonly data: Row }
    | { readonly success: false; readonly error: { readonly issues: readonly RowIssue[] } }
}

interface RowIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** How the rows of one question are parsed. */
export interface RowParser<Asks extends Question, Row, Value> {
  readonly schema: RowSchema<Row>
  /** The number in the row. */
  getNumber(row: Row): string
  /** Called only with rows of the question's own number. */
  interpret(row: Row, question: Asks): ParsedRow<Value> | InvalidRow
}

/**
 * The answers in the order of the questions. A row that is malformed or of another number is an
 * {@link InvalidRow} and does not affect other rows. Throws a {@link ReplyError} if the whole body is
 * unusable, for example if a row is missing.
 */
export function parseRows<Asks extends Question, Row, Value>(
  reply: ReplyText,
  questions: readonly Asks[],
  parser: RowParser<Asks, Row, Value>,
): readonly (ParsedRow<Value> | InvalidRow)[] {
  const rows = extractRows(reply)
  if (rows.length !== questions.length) {
    const counts = `${formatCount(rows.length, 'row')} to ${formatCount(questions.length, 'number')}`
    throw new ReplyError('not-understood', `answered with ${counts}`)
  }
  return questions.map((question, index) => parseRow(rows[index], question, parser))
}

/**
 * For an endpoint whose reply may omit numbers: rows are matched by number, and `missing` is the answer
 * for omitted ones. Throws a {@link ReplyError} for a row of any other number.
 */
export function parseRowsByNumber<Asks extends Question, Row, Value>(
  reply: ReplyText,
  questions: readonly Asks[],
  parser: RowParser<Asks, Row, Value> & {
    readonly missing: ParsedRow<Value> | InvalidRow
  },
): readonly (ParsedRow<Value> | InvalidRow)[] {
  const rows = new Map<unknown, readonly unknown[]>(questions.map(({ number }) => [number, []]))
  for (const row of extractRows(reply)) {
    const number = getPhone(row)
    const known = rows.get(number)
    if (!known) throw new ReplyError('not-understood', 'answered with a row for another number')
    rows.set(number, [...known, row])
  }
  return questions.map((question) => {
    const [row, ...more] = rows.get(question.number) ?? []
    if (more.length > 0) return { problem: 'there are several rows for the number' }
    return row === undefined ? parser.missing : parseRow(row, question, parser)
  })
}

function getPhone(row: unknown): unknown {
  return typeof row === 'object' && row !== null ? Reflect.get(row, 'Phone') : undefined
}

/**
 * For an endpoint about one number that returns one object instead of a list. Throws a
 * {@link ReplyError} if the body is not such an object.
 */
export function parseSingleRow<Asks extends Question, Row, Value>(
  reply: ReplyText,
  questions: readonly Asks[],
  parser: RowParser<Asks, Row, Value>,
): readonly (ParsedRow<Value> | InvalidRow)[] {
  const value = parseJson(reply)
  const isRow = typeof value === 'object' && value !== null && Object.hasOwn(value, 'Phone')
  if (!isRow) throw diagnoseJson(value)
  return questions.map((question) => parseRow(value, question, parser))
}

function parseRow<Asks extends Question, Row, Value>(
  value: unknown,
  question: Asks,
  { schema, getNumber, interpret }: RowParser<Asks, Row, Value>,
): ParsedRow<Value> | InvalidRow {
  const parsed = schema.safeParse(value)
  if (!parsed.success) return { problem: describeRowProblem(value, parsed.error.issues) }
  if (getNumber(parsed.data) !== question.number) {
    return { problem: 'the row in its position is for another number' }
  }
  return interpret(parsed.data, question)
}

/**
 * The spec shows rows as a flat list; its published schema wraps them as an array of objects with a
 * `Response` array each ("Calling hours"), and the litigator endpoint may return a single such object.
 * All forms are accepted for every endpoint.
 */
function extractRows(reply: ReplyText): readonly unknown[] {
  const value = parseJson(reply)
  const wrapped = unwrapResponse(value)
  if (wrapped !== undefined) return wrapped
  if (!Array.isArray(value)) throw diagnoseJson(value)
  const lists = value.map(unwrapResponse)
  if (lists.every((list) => list === undefined)) return value
  return lists.flatMap((list) => {
    if (list !== undefined) return list
    throw new ReplyError('not-understood', 'answered with wrapped and bare rows in one list')
  })
}

function unwrapResponse(value: unknown): readonly unknown[] | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'Response')) return
  const { Response: rows } = value as { readonly Response: unknown }
  return Array.isArray(rows) ? rows : undefined
}

function parseJson(reply: ReplyText): unknown {
  const body = reply.body.replace(/^\uFEFF/, '')
  try {
    return JSON.parse(body)
  } catch {
    throw diagnoseText({ ...reply, body })
  }
}

/** Names the first invalid field; shows its value only if that is too short for a number. */
function describeRowProblem(row: unknown, issues: readonly RowIssue[]): string {
  const [issue] = issues
  const field = issue?.path[0]
  if (field === undefined) return 'the row is not an object'
  const value = (row as Readonly<Record<PropertyKey, unknown>>)[field]
  return `${String(field)} ${describeValue(value)}: ${issue?.message ?? 'breaks a rule'}`
}

const maxShownLength = 3

function describeValue(value: unknown): string {
  if (value === undefined) return 'is missing'
  if (Array.isArray(value)) return 'is a list'
  if (typeof value === 'object' && value !== null) return 'is an object'
  const text = String(value)
  if (text.length > maxShownLength && typeof value !== 'boolean' && value !== null) {
    return `is a ${typeof value} of ${text.length} characters`
  }
  return typeof value === 'string' ? `is '${text}'` : `is ${text}`
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
