/**
 * Long requests to the built program are answered by service threads: with the same answers as in the
 * main thread, and with the data of this moment. A thread that ends takes only its requests with it.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { environmentOf, serve } from '../../support/program.js'

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

interface Failure {
  readonly failed: Answer
  readonly decision: number
  readonly next: number
  readonly log: readonly object[]
}

/** What `service-threads.mjs` prints. */
interface Results {
  readonly work: Readonly<Record<'inThread' | 'short' | 'alone', { readonly evaluateRow?: number }>>
  readonly sameAnswers: Readonly<Record<string, readonly [threaded: Answer, alone: Answer]>>
  readonly lists: Readonly<Record<'before' | 'after' | 'replaced', readonly string[]>>
  readonly projects: Readonly<Record<'before' | 'after', number>>
  readonly optOut: Readonly<Record<'before' | 'after' | 'removed', string>>
  readonly decisions: readonly string[]
  readonly failures: Readonly<Record<'error' | 'memory', Failure>> & {
    readonly counted: string
    readonly forgotten: number
  }
  readonly stop: { readonly status: number }
}

let results: Results

beforeAll(async () => {
  const script = join(import.meta.dirname, '../../support/service-threads.mjs')
  const options = { env: environmentOf({}), timeout: 110_000, maxBuffer: 1 << 26 }
  const { stdout } = await promisify(execFile)(process.execPath, [script], options)
  results = JSON.parse(stdout)
})

describe('service threads', () => {
  it('evaluate the numbers of a long scrub, of which the main thread evaluates none', () => {
    const { inThread, short, alone } = results.work
    expect(inThread.evaluateRow).toBeUndefined()
    // The count counts.
    expect([short.evaluateRow, alone.evaluateRow]).toEqual([1, 1_000])
  })

  it('give the same answers and refusals as the main thread', () => {
    for (const [name, [threaded, alone]] of Object.entries(results.sameAnswers)) {
      expect(threaded, name).toEqual(alone)
    }
    const statuses = Object.values(results.sameAnswers).map(([{ status }]) => status)
    expect([...new Set(statuses)].sort()).toEqual([200, 400, 401, 413, 415])
  })

  it('use lists, projects and opt-outs as soon as the main thread does', () => {
    expect(results.lists).toEqual({
      before: ['D', 'W'],
      after: ['D', 'D'],
      replaced: ['W', 'D'],
    })
    expect(results.projects).toEqual({ before: 400, after: 200 })
    expect(results.optOut).toEqual({ before: 'C', after: 'P', removed: 'C' })
  })

  it('acknowledge a change only when the next decision uses it', () => {
    expect(results.decisions).toEqual([
      'no-consent',
      // After a consent, for an AI and for a person; after an opt-out; after it is taken back.
      'permitted',
      'permitted',
      'consent-revoked',
      'permitted',
    ])
  })

  it('fail with their requests only, and are started anew', () => {
    const { error, memory, counted, forgotten } = results.failures
    for (const { failed, decision, next } of [error, memory]) {
      expect(failed.status).toBe(500)
      expect(failed.text).toBe('The request failed; the cause has been logged')
      expect([decision, next]).toEqual([200, 200])
    }
    expect(error.log).toEqual([
      {
        message: 'a service thread has ended; its requests fail',
        requests: 1,
        err: 'thrown for the test',
      },
      { message: 'request failed', endpoint: 'scrub-post', err: 'thrown for the test' },
    ])
    expect(JSON.stringify(memory.log)).toMatch(/memory limit/)
    expect(counted).toBe('2')
    // A thread may end between a commit and its announcement.
    expect(forgotten).toBe(2)
  })

  it('finish what is in progress when the server stops', () => {
    expect(results.stop.status).toBe(200)
  })

  it('answer when the server has a low priority, which its user may not raise', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'callgate-low-priority-'))
    const preload = join(import.meta.dirname, '../../support/low-priority.mjs')
    const { url, keys, end } = await serve({ CALLGATE_DATA_DIR: dataDir }, [], { preload })
    const phoneList = Array.from({ length: 1_000 }, (_, index) => 2_122_000_000 + index).join(',')
    const { status } = await fetch(`${url}/app/main/rpc/scrub`, {
      method: 'POST',
      headers: { loginId: keys.sandbox, 'content-type': 'application/json' },
      body: JSON.stringify({ phoneList }),
    })
    await end('SIGTERM')
    rmSync(dataDir, { recursive: true })
    expect(status).toBe(200)
  })
})
