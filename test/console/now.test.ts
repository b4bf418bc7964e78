/** The decisions as they are recorded, the figures of the server, and the page that shows both. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { estimateQuantileMs } from '../../src/observability/live-figures.js'
import { openConsoleClient, sameOrigin } from '../support/console-client.js'
import { openStreamReader, type StreamReader } from '../support/stream-reader.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

async function decide(number: string, more: object = {}, key = running.keys.sandbox) {
  const answer = await running.postJson('/v1/decisions', { number, callKind: 'ai', ...more }, key)
  const { id, decision } = (await answer.json()) as { id: string; decision: string }
  await running.callgate.journal.drain()
  return { id, decision }
}

let opened: StreamReader[] = []
/** What a failed test leaves open would take the places of the readers of the next ones. */
afterEach(() => {
  for (const reader of opened) reader.leave()
  opened = []
})

async function openReader(
  path: string,
  headers: Readonly<Record<string, string>> = { loginId: running.keys.sandbox },
  { url }: Pick<TestCallgate, 'url'> = running,
): Promise<StreamReader> {
  const reader = await openStreamReader(`${url}${path}`, headers)
  opened.push(reader)
  return reader
}

const stream = '/v1/decisions/stream'

/** Of one that goes away, the server hears a moment later. */
async function untilTaken(open: () => Promise<StreamReader>): Promise<StreamReader> {
  for (;;) {
    const reader = await open()
    if (reader.status === 200) return reader
    await reader.readAll()
  }
}

describe('the stream of decisions', () => {
  it('tells a reader what is recorded after it began, in its account alone', async () => {
    const own = await openReader(stream)
    const other = await openReader(`${stream}?seconds=3`, { loginId: running.keys.main })
    expect(own.headers.get('content-type')).toBe('text/event-stream')
    expect(own.headers.get('cache-control')).toBe('no-store')
    expect(own.headers.get('x-accel-buffering')).toBe('no')
    expect(await own.waitFor('retry: 3000\n\n')).not.toContain('event:')
    const { id, decision } = await decide('2125550106')
    const text = await own.waitFor(`id: ${id}\n`)
    const data = JSON.parse(/^data: (.*)$/m.exec(await own.waitFor('\n\n'))?.[1] ?? '')
    expect(data).toMatchObject({ id, decision, number: '2125550106', callKind: 'ai' })
    expect(text.match(/^event: decision$/gm)).toHaveLength(1)
    expect(await other.readAll()).not.toContain('event:')
  })

  it('is filtered as the search is, and refuses what it does not know', async () => {
    const blocked = await openReader(`${stream}?decision=block&kind=manual&seconds=3`)
    await decide('2125550100', { callKind: 'ai' })
    const { id, decision } = await decide('2125550100', { callKind: 'manual' })
    const text = await blocked.readAll()
    expect(text.match(/^id: .*$/gm) ?? []).toEqual(decision === 'block' ? [`id: ${id}`] : [])
    for (const query of ['decision=maybe', 'after=x', 'seconds=0', 'number=2125550100']) {
      const refused = await openReader(`${stream}?${query}`)
      expect([refused.status, await refused.readAll()], query).toEqual([400, expect.any(String)])
    }
  })

  it('goes on after the last event that a reader has seen', async () => {
    const made = [await decide('2125550106'), await decide('2125550105')].map(({ id }) => id)
    const [first = '', second = ''] = made.sort()
    const again = await openReader(`${stream}?seconds=2`, {
      ...{ loginId: running.keys.sandbox, 'Last-Event-ID': first },
    })
    const text = await again.readAll()
    expect(text).toContain(`"id":"${second}"`)
    expect(text).not.toContain(`"id":"${first}"`)
  })

  it('tells of 20 decisions at once, and how many more there were', async () => {
    const reader = await openReader(stream)
    await reader.waitFor('retry')
    await Promise.all(Array.from({ length: 60 }, () => decide('2125550106')))
    const countAll = (text: string) => {
      const skipped = [...text.matchAll(/"count":(\d+)/g)].map(([, count]) => Number(count))
      const told = text.match(/^event: decision$/gm)?.length ?? 0
      return told + skipped.reduce((sum, count) => sum + count, 0)
    }
    const text = await reader.waitFor((read) => countAll(read) >= 60)
    expect(countAll(text)).toBe(60)
    expect(text).toContain('event: skipped')
  })

  it('has five readers of a key at most, and takes another one when one has gone', async () => {
    const readers: StreamReader[] = []
    for (let count = 0; count < 5; count += 1)
      readers.push(await untilTaken(() => openReader(stream)))
    const refused = await openReader(stream)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused.readAll()).toContain('5 readers')
    const other = await openReader(stream, { loginId: running.keys.main })
    expect(other.status).toBe(200)
    // Others are answered.
    expect((await running.get('/v1/decisions')).status).toBe(200)
    readers.pop()?.leave()
    await untilTaken(() => openReader(stream))
  })

  it('ends with the key', async () => {
    const { keys } = running.callgate
    const { id, key } = await keys.create({ accountId: 'sandbox', role: 'Agent', label: 'reader' })
    const reader = await untilTaken(() => openReader(stream, { loginId: key }))
    await reader.waitFor('retry')
    await keys.revoke(id)
    await reader.readAll()
    expect((await openReader(stream, { loginId: key })).status).toBe(401)
  })

  it('ends when the key may do less, or more', async () => {
    const { keys } = running.callgate
    const { id, key } = await keys.create({
      accountId: 'sandbox',
      role: 'Agent',
      label: 'narrowed',
    })
    const reader = await untilTaken(() => openReader(stream, { loginId: key }))
    await reader.waitFor('retry')
    await keys.change(id, { callKinds: ['ai'], by: 'key:x' })
    await reader.readAll()
  })

  it('needs the right to decide, and adds a row when it begins', async () => {
    const { key } = await running.callgate.keys.create({
      ...{ accountId: 'sandbox', role: 'Agent', label: 'records', rights: ['records'] },
    })
    expect((await openReader(stream, { loginId: key })).status).toBe(403)
    const rows = await running.get('/v1/audit?action=decisions.streamed')
    expect(await rows.text()).toContain('"door":"api /v1/decisions/stream"')
  })

  it('ends when the server stops', async () => {
    const other = await openTestCallgate()
    const reader = await openReader(stream, { loginId: other.keys.sandbox }, other)
    await reader.waitFor('retry')
    const stopped = other.end()
    await reader.readAll()
    await stopped
  })
})

describe('the figures of the server', () => {
  it('are for administrators of account main', async () => {
    const answer = await running.get('/v1/live', running.keys.main)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ ungatedLegs: 0 })
    expect((await running.get('/v1/live', running.keys.sandbox)).status).toBe(403)
    const { key } = await running.callgate.keys.create({
      ...{ accountId: 'main', role: 'Supervisor', label: 'supervisor' },
    })
    expect((await running.get('/v1/live', key)).status).toBe(403)
  })

  it('estimate quantiles evenly within a bucket', () => {
    expect(estimateQuantileMs(0.5, [0.001, 0.002], [0, 4, 0])).toBeCloseTo(1.5)
    expect(estimateQuantileMs(0.99, [0.001, 0.002], [1, 0, 9])).toBe(2)
    expect(estimateQuantileMs(0.5, [0.001], [0, 0])).toBeNull()
  })
})

describe('the page', () => {
  it('is the first one, and shows the last decisions and the checks', async () => {
    await decide('2125550100')
    const client = await openConsoleClient(running, running.keys.sandbox)
    const page = await client.get('/console')
    expect(page.path).toBe('/console/now')
    expect(page.text).toContain('(212) 555-0100')
    expect(page.text).not.toContain('What is wrong')
    const main = await openConsoleClient(running, running.keys.main)
    const own = await main.get('/console/now')
    expect(own.text).toContain('What is wrong')
    expect(own.text).toContain('Show as table')
    expect(own.text).not.toContain('(212) 555-0100')
    const allowed = await client.get('/console/now?decision=allow')
    expect(allowed.text).not.toContain('Blocked</span>')
    expect((await client.get('/console/now?decision="><script>')).text).not.toContain('"><script>')
    expect((await client.get('/console/now/figures')).status).toBe(403)
    expect(JSON.parse((await main.get('/console/now/figures')).text)).toHaveProperty('steps')
  })

  it('says what is wrong, and what to do, as callgate doctor does', async () => {
    const main = await openConsoleClient(running, running.keys.main)
    expect((await main.get('/console/now')).text).toContain('Nothing: all')
    const failing = vi
      .spyOn(running.callgate.journal, 'findProblem')
      .mockReturnValue('2 records could not be written: "><img src=x onerror=alert(1)>')
    try {
      const { text } = await main.get('/console/now')
      expect(text).toMatch(/<th scope="row">records<\/th>.*check the disk of the data folder/)
      expect(text).toContain('2 records could not be written: &quot;&gt;&lt;img')
      expect(text).not.toContain('<img')
    } finally {
      failing.mockRestore()
    }
  })

  it('answers HEAD without a stream', async () => {
    const { cookie } = await openConsoleClient(running, running.keys.sandbox)
    const asked = { method: 'HEAD', headers: { ...sameOrigin, cookie } }
    const ask = () => fetch(`${running.url}/console/now/stream`, asked)
    // The readers of the test before may still be counted.
    await expect.poll(async () => (await ask()).status).toBe(200)
    const answer = await ask()
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
  })

  it('has a stream that ends with the session', async () => {
    const { cookie, post } = await openConsoleClient(running, running.keys.sandbox)
    const reader = await untilTaken(() => openReader('/console/now/stream', { cookie }))
    await reader.waitFor('retry')
    const { id } = await decide('2125550106')
    await reader.waitFor(id)
    await post('/console/sign-out', {})
    await reader.readAll()
    expect((await openReader('/console/now/stream', { cookie })).status).toBe(303)
  })
})
