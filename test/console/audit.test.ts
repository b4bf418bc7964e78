/** The page of the audit: filters, pages, differences, and who may look. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { recordAudit } from '../../src/storage/audit/audit-log.js'
import { type ConsoleClient, openConsoleClient } from '../support/console-client.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
let running: TestCallgate
let admin: ConsoleClient

beforeAll(async () => {
  running = await openTestCallgate()
  admin = await openConsoleClient(running, running.keys.main)
})
afterAll(() => running.end())

interface Row {
  readonly action: string
  readonly subject: string
  readonly who?: string
  readonly before?: object
  readonly after?: object
  readonly reason?: string
  readonly at?: number
}

const store = ({ subject, who = 'user:ann', at = mondayNoon, ...row }: Row) =>
  recordAudit(running.callgate.storage.db, {
    ...{ ...row, at, accountId: 'main', by: { who, door: 'command x' } },
    subject: { kind: 'thing', id: subject },
  })

it('shows who did what, and what differs', async () => {
  const before = { name: 'old', same: 1, gone: true, list: ['a'] }
  const after = {
    name: 'new',
    same: 1,
    more: { deep: 2 },
    list: ['a', 'b'],
    limits: '{"regions":["NY"]}',
    expires_at: mondayNoon,
  }
  await store({ action: 'thing.changed', subject: 'one', before, after, reason: 'because so' })
  const { text } = await admin.get('/console/audit')
  for (const shown of [
    'user:ann',
    'command x',
    'thing one',
    'because so',
    'name: <del>old</del> <ins>new</ins>',
    'gone: <del>true</del>',
    'more.deep: <ins>2</ins>',
    'list: <del>a</del> <ins>a, b</ins>',
    'limits.regions: <ins>NY</ins>',
    'expires_at: <ins>2026-11-23T17:00:00Z</ins>',
  ]) {
    expect(text).toContain(shown)
  }
  expect(text).not.toContain('same:')
})

it('filters, without the filter in the address', async () => {
  await store({ action: 'thing.one', subject: '2125550106', who: 'user:bea' })
  await store({ action: 'thing.two', subject: 'two', who: 'user:cid', at: mondayNoon + 86_400_000 })
  for (const [filter, has, lacks] of [
    [{ action: 'thing.one' }, 'user:bea', 'user:cid'],
    [{ who: 'user:cid' }, 'thing.two', 'thing.one'],
    [{ subject: '2125550106' }, 'user:bea', 'user:cid'],
    [{ from: '2026-11-24T00:00' }, 'user:cid', 'user:bea'],
    [{ to: '2026-11-24T00:00' }, 'user:bea', 'user:cid'],
  ] as const) {
    const { text, path } = await admin.post('/console/audit', filter)
    const [, table = ''] = text.split('<tbody>')
    expect(table, JSON.stringify(filter)).toContain(has)
    expect(table, JSON.stringify(filter)).not.toContain(lacks)
    expect(path).not.toContain('2125550106')
    expect(text).toContain(`value="${Object.values(filter)[0]}"`)
  }
  expect((await admin.post('/console/audit', { action: 'none' })).text).toContain(
    'No row was found',
  )
})

it('says what is wrong with a filter', async () => {
  for (const [field, value] of [
    ['from', 'yesterday'],
    ['action', 'x'.repeat(61)],
  ] as const) {
    const { text } = await admin.post('/console/audit', { [field]: value })
    expect(text).toContain(`id="${field}-problem"`)
    expect(text).toContain(`value="${value}"`)
  }
  expect((await admin.get('/console/audit/unknown')).status).toBe(404)
})

it('has pages', async () => {
  for (let row = 0; row < 205; row += 1) await store({ action: 'thing.paged', subject: `n${row}-` })
  const first = await admin.post('/console/audit', { action: 'thing.paged' })
  expect(first.text).toContain('n204-')
  expect(first.text).not.toContain('thing n4-')
  const older = /<a href="([^"]+)" rel="next">/.exec(first.text)?.[1] ?? ''
  const second = await admin.get(older)
  expect(second.text).toContain('thing n4-')
  expect(second.text).not.toContain('n204-')
  expect(second.text).not.toContain('rel="next"')
})

it('gives the search as CSV, with all of its pages and no cell that is a formula', async () => {
  for (let row = 0; row < 205; row += 1) await store({ action: 'thing.filed', subject: `f${row}-` })
  const formula = '=HYPERLINK("https://example.com")'
  const [before, after] = [{ a: 1 }, { b: '=2' }]
  await store({ action: 'thing.filed', subject: formula, reason: '@one,\n"two"', before, after })
  const { text, path } = await admin.post('/console/audit', { action: 'thing.filed' })
  expect(text).toContain(`href="${path}?output=csv"`)
  const file = await admin.get(`${path}?output=csv`)
  expect(file.headers.get('content-disposition')).toBe('attachment; filename="audit.csv"')
  expect(file.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  const [head, first, ...rest] = file.text.split('\r\n')
  expect(head).toBe('seq,at,who,door,action,subjectKind,subjectId,before,after,reason')
  expect(first).toMatch(/^\d+,2026-11-23T17:00:00Z,user:ann,command x,thing.filed,thing,/)
  expect(first).toContain(`,"'=HYPERLINK(""https://example.com"")",`)
  expect(first).toContain(`,"{""a"":1}","{""b"":""=2""}","'@one,\n""two"""`)
  expect(rest).toHaveLength(206)
  expect(rest[0]).toContain(',thing,f204-,,,')
  expect(rest[204]).toContain(',thing,f0-,,,')
})

it('is for Administrators of all projects, and of the own account', async () => {
  const { keys } = running.callgate
  await store({ action: 'thing.hidden', subject: 'hidden' })
  for (const limits of [
    { role: 'Agent' },
    { role: 'Supervisor' },
    { role: 'Administrator', rights: ['decide'] },
    { role: 'Administrator', projects: ['main'] },
  ] as const) {
    const { key } = await keys.create({ accountId: 'main', label: '', ...limits })
    const client = await openConsoleClient(running, key)
    expect((await client.get('/console/audit?output=csv')).status).toBe(403)
    const { status, text } = await client.get('/console/audit')
    expect(status, JSON.stringify(limits)).toBe(403)
    expect(text).not.toContain('thing.hidden')
  }
  const stranger = await openConsoleClient(running, running.keys.sandbox)
  const file = await stranger.get('/console/audit?output=csv')
  expect(file.text).toMatch(/^seq,at,who,/)
  expect(file.text).not.toContain('thing.hidden')
  const { status, text } = await stranger.get('/console/audit')
  expect(status).toBe(200)
  expect(text).not.toContain('thing.hidden')
})

it('hostile texts are shown as texts', async () => {
  const values = { [hostile]: hostile, list: [hostile] }
  const by = { action: hostile, subject: hostile, who: hostile }
  await store({ ...by, before: values, after: { x: hostile }, reason: hostile })
  for (const page of [
    await admin.get('/console/audit'),
    await admin.post('/console/audit', { who: hostile, subject: hostile }),
  ]) {
    expect(page.status).toBe(200)
    expect(page.text).toContain('&lt;script&gt;')
    expect(page.text).not.toMatch(/<img|<script>/)
  }
})
