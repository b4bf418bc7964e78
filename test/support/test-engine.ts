/** The engine that the tests run over: SQLite, or PostgreSQL in the project of that name. */
import { EventEmitter, once } from 'node:events'
import { basename } from 'node:path'
import pg from 'pg'
import type { StorageSettings } from '../../src/storage/open-database.js'

/** The environment variable with the address of the server, without a database. */
export const postgresServer = 'CALLGATE_TEST_POSTGRES'

export const isPostgres = (): boolean => process.env[postgresServer] !== undefined

export function settingsOf(database: string): Pick<StorageSettings, 'postgres'> {
  const url = `${process.env[postgresServer]}/${database}`
  return { postgres: { url, tls: false, maxConnections: 16 } }
}

const nameOf = (dataDir: string) => basename(dataDir).toLowerCase().replaceAll('-', '_')

/** Of the database that belongs to the folder. */
export function engineOf(dataDir: string): Pick<StorageSettings, 'postgres'> {
  return isPostgres() ? settingsOf(nameOf(dataDir)) : {}
}

/** The same as settings of the program. */
export function engineVariablesOf(dataDir: string): Readonly<Record<string, string>> {
  const { postgres } = engineOf(dataDir)
  if (!postgres) return {}
  return {
    CALLGATE_STORAGE_ENGINE: 'postgres',
    CALLGATE_STORAGE_URL: postgres.url,
    CALLGATE_STORAGE_TLS: 'false',
    CALLGATE_STORAGE_MAX_CONNECTIONS: String(postgres.maxConnections),
  }
}

/** Makes the database of a new folder, with all tables. */
export async function createPostgresDatabase(dataDir: string): Promise<void> {
  const client = new pg.Client(`${process.env[postgresServer]}/postgres`)
  await client.connect()
  try {
    await client.query(`create database ${nameOf(dataDir)} template migrated`)
  } finally {
    await client.end()
  }
}

let pending = 0
const answers = new EventEmitter()

/** Resolves when the next query of this process ends, to `true`; to `false` at once if none is under way. */
export async function untilPostgresAnswers(): Promise<boolean> {
  if (pending === 0) return false
  await once(answers, 'answer')
  return true
}

function counted<Work extends (...values: never[]) => unknown>(work: Work): Work {
  return function (this: unknown, ...values: never[]) {
    const result = work.apply(this, values)
    if (result instanceof Promise) {
      pending += 1
      const end = () => {
        pending -= 1
        answers.emit('answer')
      }
      result.then(end, end)
    }
    return result
  } as Work
}

if (isPostgres()) {
  pg.Client.prototype.query = counted(pg.Client.prototype.query)
  pg.Pool.prototype.connect = counted(pg.Pool.prototype.connect)
}
