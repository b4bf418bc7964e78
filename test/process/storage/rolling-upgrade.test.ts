/** Servers of several versions over one database, which differ by migrations that are added for the test. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { knownMigrations } from '../../../src/storage/migrate.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import {
  type Callers,
  type Cluster,
  type ClusterNode,
  callersOf,
  database,
  openCluster,
} from '../../support/cluster.js'
import { type PlantedProgram, plantProgram } from '../../support/planted-program.js'

const newest = knownMigrations.at(-1) ?? ''

function plantMigrations(...added: readonly (readonly [name: string, change: string])[]) {
  const built = readFileSync(join(import.meta.dirname, '../../../dist/storage/migrate.js'), 'utf8')
  const [place = ''] = new RegExp(`'${newest}': \\w+,`).exec(built) ?? []
  const rows = added.map(
    ([name, change]) =>
      `'${name}': { up: async (db) => void (await db.schema.alterTable('accounts').${change}.execute()) },`,
  )
  return plantProgram('storage/migrate.js', place, `${place} ${rows.join(' ')}`)
}

/** Later ones know what earlier ones did. */
const expand = ['0901-note-expand', `addColumn('note', 'text')`] as const
const contract = ['0902-note-contract', `dropColumn('note')`] as const
const other = ['0901-other', `addColumn('other', 'text')`] as const

let expanding: PlantedProgram
let contracting: PlantedProgram
let changing: PlantedProgram
let cluster: Cluster
let first: ClusterNode
let second: ClusterNode
let decide: Callers['decide']
let pdnc: Callers['pdnc']
let readyz: Callers['readyz']

beforeAll(async () => {
  expanding = plantMigrations(expand)
  contracting = plantMigrations(expand, contract)
  changing = plantMigrations(other)
  const settings = { CALLGATE_GATE_DEADLINE_MS: '5000', CALLGATE_CLUSTER_MAX_STALENESS_MS: '1000' }
  cluster = await openCluster({ count: 2, settings })
  const [one, two] = cluster.nodes
  if (!one || !two) throw new Error('there are not two servers')
  first = one
  second = two
  ;({ decide, pdnc, readyz } = callersOf(cluster))
})

afterAll(async () => {
  for (const planted of [expanding, contracting, changing]) planted.remove()
  await cluster.close()
})

/** Ends the servers, and takes back what the added migrations did. */
async function takeBack(): Promise<void> {
  await Promise.all([first, second].map(({ serving }) => serving.end('SIGTERM')))
  await cluster.query(
    `alter table accounts drop column if exists note, drop column if exists other;
      delete from kysely_migration where name > '${newest}'`,
  )
}

async function restart(on: ClusterNode, program?: string): Promise<void> {
  await on.serving.end('SIGTERM')
  await on.restart(program)
}

async function listRun(): Promise<readonly unknown[]> {
  const rows = await cluster.query(
    `select name from kysely_migration where name > '${newest}' order by name`,
  )
  return rows.map(({ name }) => name)
}

async function expectThatTheyShare(number: string): Promise<void> {
  expect(await pdnc(first, number)).toBe(200)
  await until(
    'the other blocks',
    async () => (await decide(second, number)) === 'block internal-dnc',
  )
  expect(await pdnc(second, number, 'remove')).toBe(200)
  await until('the first allows', async () => (await decide(first, number)) === 'allow permitted')
}

it('a migration of neither kind is refused while an older server is connected', async () => {
  await first.serving.end('SIGTERM')
  await expect(first.restart(changing.program)).rejects.toThrow(
    `cannot be updated to ${other[0]} while servers of an older version are connected`,
  )
  expect(await listRun()).toEqual([])
})

it('an older server that was cut off during such a migration does nothing afterwards', async () => {
  await expect.poll(() => decide(second, '2125550100')).toBe('allow permitted')
  second.line.pause()
  await until('PostgreSQL has ended its connection', async () => {
    const [row] = await cluster.query(
      `select count(*)::int as count from pg_stat_activity where application_name = 'callgate changes'`,
    )
    return row?.count === 0
  })
  await first.restart(changing.program)
  second.line.resume()
  await until('it says why', async () =>
    /^503 .*newer schema than this program knows \(0901-other\)/.test(await readyz(second)),
  )
  expect(await decide(second, '2125550100')).toMatch(/^block|^status 503/)
  expect(await pdnc(second, '2125550100')).toBe(503)
  await expect.poll(() => decide(first, '2125550100')).toBe('allow permitted')
  expect(await listRun()).toEqual([other[0]])
})

it('servers that start together run a migration once, since no older one is connected', async () => {
  await takeBack()
  expect(await listRun()).toEqual([])
  await Promise.all([first, second].map((on) => on.restart(changing.program)))
  expect(await listRun()).toEqual([other[0]])
  await expectThatTheyShare('2125550100')
})

it('a migration that has to wait for a long read gives up, and holds nobody up', async () => {
  await takeBack()
  await second.restart()
  const reader = new pg.Client(`${cluster.postgres.address}/${database}`)
  await reader.connect()
  await reader.query('begin')
  await reader.query('select count(*) from accounts')
  const start = first.restart(expanding.program)
  await expect(start).rejects.toThrow('lock timeout')
  await until('the second is ready', async () => (await readyz(second)).startsWith('200'))
  expect(await listRun()).toEqual([])
  await reader.end()
  await first.restart(expanding.program)
  expect(await listRun()).toEqual([expand[0]])
})

it('an older server goes on, and starts again, beside one with an expanded schema', async () => {
  expect(await listRun()).toEqual([expand[0]])
  await expectThatTheyShare('2125550100')
  await restart(second)
  await expectThatTheyShare('7185550100')
})

it('what only older servers need stays until none of them is connected, and then they are refused', async () => {
  await takeBack()
  await second.restart()
  await first.restart(contracting.program)
  expect(await listRun()).toEqual([expand[0]])
  expect(first.serving.output()).toContain('what only they need stays until a later start')
  await expectThatTheyShare('2125550100')
  await restart(second, expanding.program)
  await restart(first, contracting.program)
  expect(await listRun()).toEqual([expand[0]])
  await second.serving.end('SIGTERM')
  await restart(first, contracting.program)
  expect(await listRun()).toEqual([expand[0], contract[0]])
  await expect(second.restart(expanding.program)).rejects.toThrow(
    `newer schema than this program knows (${contract[0]})`,
  )
})
