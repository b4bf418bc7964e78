/** The connections of a pool that PostgreSQL keeps waiting. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { openPostgres } from '../../../src/storage/postgres/postgres.js'
import { startPostgres } from '../../support/postgres-server.js'
import { openTcpProxy } from '../../support/tcp-proxy.js'

it('gives no connection to a query that has given up while it was being prepared', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-pool-'))
  const postgres = await startPostgres()
  const line = await openTcpProxy(Number(new URL(postgres.address).port))
  const url = `postgres://callgate@127.0.0.1:${line.port}/postgres`
  const settings = { url, tls: false, maxConnections: 2 }
  const engine = await openPostgres(settings, { isCommand: false, dataDir })
  try {
    // It has the only connection for reading until its time is over.
    const long = sql`select pg_sleep(60)`.execute(engine.reads)
    const failed = Promise.allSettled([long])
    // So the next one gives up while its connection is being prepared.
    await sleep(300)
    line.pause('pg_is_in_recovery')
    await expect(sql`select 1`.execute(engine.reads)).rejects.toThrow('timeout')
    await failed
    line.resume()
    await expect
      .poll(() => sql`select 1`.execute(engine.reads).then(() => 'answered', String))
      .toBe('answered')
  } finally {
    await engine.close()
    line.close()
    await postgres.end()
    rmSync(dataDir, { recursive: true })
  }
})
