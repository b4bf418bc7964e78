/** The vendor's own paths: faults and counts for whoever is in another process. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type FakeVendor, openFakeVendor } from '../../src/fake-vendor/fake-vendor.js'
import { ask } from './vendor-requests.js'

let vendor: FakeVendor
beforeAll(async () => {
  vendor = await openFakeVendor()
})
afterEach(() => vendor.reset())
afterAll(() => vendor.close())

const send = (method: string, path: string, body?: string) =>
  fetch(`${vendor.url}${path}`, { method, ...(body !== undefined && { body }) })
const put = (body: unknown) => send('PUT', '/fake-vendor/faults', JSON.stringify(body))

describe('PUT /fake-vendor/faults', () => {
  it('sets and ends faults, and leaves those that are not named', async () => {
    const slow = { kind: 'slow', ms: 1 }
    const first = await put({ scrub: { kind: 'server-error', times: 2 }, all: slow })
    expect(first.status).toBe(200)
    expect((await ask(vendor, 'scrub')).status).toBe(503)
    const then = (await (await put({ all: null })).json()) as Record<string, unknown>
    expect(then.faults).toEqual({ scrub: { kind: 'server-error', times: 1 } })
    expect((await ask(vendor, 'scrub')).status).toBe(503)
    expect((await ask(vendor, 'scrub')).status).toBe(200)
  })

  it.each([
    ['{"scrub": {"kind": "quiet"}}', "scrub.kind 'quiet': must be one of"],
    ['{"scrub": {"kind": "slow"}}', 'scrub.ms: is required'],
    ['{"litigator": null, "fax": null}', 'fax: unknown target'],
    ['[]', 'the body must be an object'],
    ['{', 'not well-formed JSON'],
    ['', 'not well-formed JSON'],
  ])('refuses %s', async (body, detail) => {
    const response = await send('PUT', '/fake-vendor/faults', body)
    expect(response.status).toBe(400)
    expect((await response.json()) as unknown).toMatchObject({
      detail: expect.stringContaining(detail) as string,
    })
  })

  it('sets none when one is refused', async () => {
    await put({ scrub: { kind: 'silent' }, token: { kind: 'wrapped' } })
    expect((await ask(vendor, 'scrub')).status).toBe(200)
  })
})

describe('GET /fake-vendor', () => {
  it('tells faults and counts, and is neither counted nor struck itself', async () => {
    await put({ all: { kind: 'unauthorized' } })
    await ask(vendor, 'litigator')
    expect(await (await send('GET', '/fake-vendor')).json()).toEqual({
      faults: { all: { kind: 'unauthorized' } },
      requests: {
        litigator: { requests: 1, numbers: 3, byStatus: { 401: 1 }, mostInAMinute: 1 },
      },
    })
  })
})

describe('POST /fake-vendor/reset', () => {
  it('ends faults and forgets counts', async () => {
    await put({ scrub: { kind: 'silent' } })
    await ask(vendor, 'litigator')
    const response = await send('POST', '/fake-vendor/reset')
    expect(await response.json()).toEqual({ faults: {}, requests: {} })
  })
})

it('says which paths there are', async () => {
  const response = await send('GET', '/fake-vendor/faults')
  expect(response.status).toBe(404)
  expect(await response.text()).toContain('PUT /fake-vendor/faults')
})
