/**
 * The tests of a project with this global setup run over PostgreSQL: each data folder has a database of its own,
 * copied from one that has been migrated.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import pg from 'pg'
import { openDatabase } from '../../src/storage/engine.js'
import { migrateSchema } from '../../src/storage/migrate.js'
import { postgresServer, settingsOf } from './test-engine.js'

let server: ChildProcess | undefined

export async function setup(): Promise<void> {
  const script = join(import.meta.dirname, '../../scripts/postgres.mjs')
  server = spawn(process.execPath, [script, '--unsafe'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = (await Promise.race([
    once(server.stdout as NonNullable<typeof server.stdout>, 'data'),
    once(server, 'exit').then(() => {
      throw new Error('PostgreSQL has not started')
    }),
  ])) as [Buffer]
  process.env[postgresServer] = line.toString().trim()
  const template = settingsOf('migrated')
  const client = new pg.Client(`${process.env[postgresServer]}/postgres`)
  await client.connect()
  await client.query('create database migrated')
  await client.end()
  const storage = await openDatabase({
    dataDir: '',
    lockWaitMs: 100,
    blockForLockMs: 0,
    ...template,
  })
  await migrateSchema(storage)
  await storage.close()
}

export async function teardown(): Promise<void> {
  if (!server) return
  server.stdin?.end()
  await once(server, 'exit')
}
