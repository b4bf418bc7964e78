/** Questions that share a query: which of them do, and what each is answered. */
import type { CompiledQuery } from 'kysely'
import { expect, test } from 'vitest'
import { batchReads } from '../../src/storage/postgres/batched-read.js'

type Row = { readonly number: string; readonly question_number: number }

interface Sent {
  readonly sql: string
  /** A list for each parameter of the query. */
  readonly parameters: readonly unknown[]
  readonly answer: (rows: readonly Row[]) => void
  readonly fail: (cause: unknown) => void
}

/** A reader, and the queries that it has sent, which the test answers. */
function openReader() {
  const sent: Sent[] = []
  const query = {
    sql: 'select number from lists where account = $1 and number in ($2)',
    parameters: ['', ''],
  } as unknown as CompiledQuery<Row>
  const read = batchReads<Row>(query, ({ sql, parameters }) => {
    return new Promise((resolve, reject) => {
      sent.push({ sql, parameters, answer: (rows) => resolve({ rows }), fail: reject })
    })
  })
  const ask = async (number: string, account = 'main') => await read(account, number)
  return { ask, sent }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

test('those of a turn share one, and each gets the row of its own', async () => {
  const { ask, sent } = openReader()
  const answers = Promise.all([ask('1'), ask('2'), ask('2', 'other'), ask('1')])
  await turn()
  expect(sent).toHaveLength(1)
  expect(sent[0]?.parameters).toEqual([
    ['main', 'main', 'other'],
    ['1', '2', '2'],
  ])
  const first = { number: '1', question_number: 1 }
  const third = { number: '2', question_number: 3 }
  sent[0]?.answer([third, first])
  expect(await answers).toEqual([first, undefined, third, first])
})

test('a question is not answered by a query that was sent before it', async () => {
  const { ask, sent } = openReader()
  const before = ask('1')
  await turn()
  const after = ask('1')
  await turn()
  expect(sent).toHaveLength(2)
  const row = { number: '1', question_number: 1 }
  sent[1]?.answer([row])
  expect(await after).toEqual(row)
  sent[0]?.answer([])
  expect(await before).toBeUndefined()
})

test('all fail with their query, and no others', async () => {
  const { ask, sent } = openReader()
  const failing = Promise.allSettled([ask('1'), ask('2')])
  await turn()
  const others = ask('1')
  await turn()
  sent[0]?.fail(new Error('away'))
  sent[1]?.answer([])
  expect(await failing).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
  expect(await others).toBeUndefined()
})
