/**
 * Gets the rows out of a provider's reply, one per number asked and in their order, and reads each
 * for itself. What a row's values mean is left to the question.
 */
import type { Question } from '../../domain/compliance.js'
import { type NotUnderstood, ReplyError, type Understood } from './batch-question.js'
import { oddJson, oddText, type ReplyText } from './odd-replies.js'

/** As much of a zod schema as reading a row needs. */
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

/** How the rows of one question are read. */
export interface RowReading<Asks extends Question, Row, Value> {
  readonly schema: RowSchema<Row>
  /** The number a row says it is about. */
  numberOf(row: Row): string
  /** Called with rows of the question's own number only. */
  understand(row: Row, question: Asks): Understood<Value> | NotUnderstood
}

/**
 * Answers in the order of the questions. A row that is malformed or of another number is not
 * understood, and spoils no other. Throws a {@link ReplyError} when the body as a whole cannot be
 * relied on, as for one row too few.
 */
export function readEach<Asks extends Question, Row, Value>(
  reply: ReplyText,
  questions: readonly Asks[],
  reading: RowReading<Asks, Row, Value>,
): readonly (Understood<Value> | NotUnderstood)[] {
  const rows = rowsIn(reply)
  if (rows.length !== questions.length) {
    const counts = `${counted(rows.length, 'row')} to ${counted(questions.length, 'number')}`
    throw new ReplyError('not-understood', `answered with ${counts}`)
  }
  return questions.map((question, index) => readOne(rows[index], question, reading))
}

/**
 * Answers of a call whose reply may leave numbers out, so that rows are matched by number alone:
 * `absent` is the answer of those. Throws a {@link ReplyError} for a row of no number that was asked.
 */
export function readByNumber<Asks extends Question, Row, Value>(
  reply: ReplyText,
  questions: readonly Asks[],
  reading: RowReading<Asks, Row, Value> & {
    readonly absent: Understood<Value> | NotUnderstood
  },
): readonly (Understood<Value> | NotUnderstood)[] {
  const rows = new Map<unknown, readonly unknown[]>(questions.map(({ number }) => [number, []]))
  for (const row of rowsIn(reply)) {
    const number = phoneIn(row)
    const known = rows.get(number)
    if (!known) throw new ReplyError('not-understood', 'answered with a row of another number')
    rows.set(number, [...known, row])
  }
  return questions.map((question) => {
    const [row, ...more] = rows.get(question.number) ?? []
    if (more.length > 0) return { notUnderstood: 'there are several rows for the number' }
    return row === undefined ? reading.absent : readOne(row, question, reading)
  })
}

function phoneIn(row: unknown): unknown {
  return typeof row === 'object' && row !== null ? Reflect.get(row, 'Phone') : undefined
}

/**
 * The answer of a call that is about one number and answers one object, in the place of a list.
 * Throws a {@link ReplyError} when the body is no such object.
 */
export function readOnly<Asks extends Question, Row, Value>(
  reply: ReplyText,
  questions: readonly Asks[],
  reading: RowReading<Asks, Row, Value>,
): readonly (Understood<Value> | NotUnderstood)[] {
  const value = parse(reply)
  const isRow = typeof value === 'object' && value !== null && Object.hasOwn(value, 'Phone')
  if (!isRow) throw oddJson(value)
  return questions.map((question) => readOne(value, question, reading))
}

function readOne<Asks extends Question, Row, Value>(
  value: unknown,
  question: Asks,
  { schema, numberOf, understand }: RowReading<Asks, Row, Value>,
): Understood<Value> | NotUnderstood {
  const read = schema.safeParse(value)
  if (!read.success) return { notUnderstood: problemOf(value, read.error.issues) }
  if (numberOf(read.data) !== question.number) {
    return { notUnderstood: 'the row in its place is of another number' }
  }
  return understand(read.data, question)
}

/**
 * The spec shows rows as a flat list; its published schema wraps them as an array of objects each
 * holding a `Response` array ("Calling hours"), and an object at the top is a form of the litigator
 * call. All are understood everywhere.
 */
function rowsIn(reply: ReplyText): readonly unknown[] {
  const value = parse(reply)
  const wrapped = responseOf(value)
  if (wrapped !== undefined) return wrapped
  if (!Array.isArray(value)) throw oddJson(value)
  const lists = value.map(responseOf)
  if (lists.every((list) => list === undefined)) return value
  return lists.flatMap((list) => {
    if (list !== undefined) return list
    throw new ReplyError('not-understood', 'answered with wrapped and bare rows in one list')
  })
}

function responseOf(value: unknown): readonly unknown[] | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'Response')) return
  const { Response: rows } = value as { readonly Response: unknown }
  return Array.isArray(rows) ? rows : undefined
}

function parse(reply: ReplyText): unknown {
  const body = reply.body.replace(/^\uFEFF/, '')
  try {
    return JSON.parse(body)
  } catch {
    throw oddText({ ...reply, body })
  }
}

/** Names the first field that breaks a rule; its value only where that is too short for a number. */
function problemOf(row: unknown, issues: readonly RowIssue[]): string {
  const [issue] = issues
  const field = issue?.path[0]
  if (field === undefined) return 'the row is no object of fields'
  const value = (row as Readonly<Record<PropertyKey, unknown>>)[field]
  return `${String(field)} ${shown(value)}: ${issue?.message ?? 'breaks a rule'}`
}

const longestShown = 3

function shown(value: unknown): string {
  if (value === undefined) return 'is missing'
  if (Array.isArray(value)) return 'is a list'
  if (typeof value === 'object' && value !== null) return 'is an object'
  const text = String(value)
  if (text.length > longestShown && typeof value !== 'boolean' && value !== null) {
    return `is a ${typeof value} of ${text.length} characters`
  }
  return typeof value === 'string' ? `is '${text}'` : `is ${text}`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
