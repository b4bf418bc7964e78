/** Reads of decisions that are judged at the same time share a query, since each query is a round trip. */
import type { CompiledQuery } from 'kysely'
import type { ReadFirst } from '../open-database.js'

interface Question<Row> {
  readonly parameters: readonly string[]
  readonly answer: Promise<Row | undefined>
  readonly resolve: (row: Row | undefined) => void
  readonly reject: (cause: unknown) => void
}

type Execute<Row> = (query: CompiledQuery<Row>) => Promise<{ readonly rows: readonly Row[] }>

interface Numbered {
  /** Of its question, from 1. */
  readonly question_number: number
}

/**
 * Asks all questions of a turn of the event loop with one query, after all of them have come: an answer has what was
 * committed before its question. If the query fails, all of them are rejected.
 */
export function batchReads<Row>(
  query: CompiledQuery<Row>,
  execute: Execute<Row & Numbered>,
): ReadFirst<Row> {
  const sql = toBatchSql(query)
  let waiting = new Map<string, Question<Row>>()
  const ask = async () => {
    const questions = [...waiting.values()]
    waiting = new Map()
    const columns = query.parameters.map((_, index) =>
      questions.map(({ parameters }) => parameters[index]),
    )
    try {
      const { rows } = await execute({ ...query, sql, parameters: columns })
      const found = new Map(rows.map((row) => [row.question_number, row]))
      for (const [index, { resolve }] of questions.entries()) resolve(found.get(index + 1))
    } catch (cause) {
      for (const { reject } of questions) reject(cause)
    }
  }
  return (...parameters) => {
    const key = parameters.join('\0')
    const known = waiting.get(key)
    if (known) return known.answer
    if (waiting.size === 0) setImmediate(() => void ask())
    const question = { parameters, ...withResolvers<Row | undefined>() }
    waiting.set(key, question)
    return question.answer
  }
}

function withResolvers<Value>() {
  let resolve: (value: Value) => void = () => undefined
  let reject: (cause: unknown) => void = () => undefined
  const answer = new Promise<Value>((onResolve, onReject) => {
    resolve = onResolve
    reject = onReject
  })
  return { answer, resolve, reject }
}

/** Its parameters are one array for each of those of the query. */
function toBatchSql({ sql, parameters }: CompiledQuery): string {
  const names = parameters.map((_, index) => `p${index + 1}`)
  const arrays = parameters.map((_, index) => `$${index + 1}::text[]`).join(', ')
  const single = sql.replaceAll(/\$(\d+)/g, 'question.p$1')
  return (
    `select question.question_number, found.* from unnest(${arrays}) ` +
    `with ordinality as question(${names.join(', ')}, question_number) ` +
    `cross join lateral (${single} limit 1) as found`
  )
}
