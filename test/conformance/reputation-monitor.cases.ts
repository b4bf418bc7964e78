import { expect } from 'vitest'
import { wrongKey } from './support/calls.js'
import { ask } from './support/client.js'
import { monitor, monitored, recordsOf } from './support/monitored.js'
import { listNumber } from './support/numbers.js'
import { section, sentence, sentences } from './support/sentence.js'

const addPath = '/v1.4/reputation/add'

section('reputation-monitor', () => {
  sentence('header loginId is required', async () => {
    const json = [{ Phone: '2125550199' }]
    for (const key of [null, wrongKey]) {
      expect((await ask({ at: 'monitor', path: addPath, json, key })).status).toBe(401)
    }
  })

  sentence('header Content-Type: application/json is required', async () => {
    const body = JSON.stringify([{ Phone: listNumber() }])
    const headers = { 'content-type': 'text/plain' }
    const { status } = await ask({ at: 'monitor', path: addPath, body, headers })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
  })

  sentence('add answers an array of records, one per number', async () => {
    const { phones, added } = await monitored()
    expect(added.map((row) => row.Phone)).toEqual(phones)
  })

  sentence('add: Response is "Phone number added to monitor"', async () => {
    const { added } = await monitored()
    expect(new Set(added.map((row) => row.Response))).toEqual(
      new Set(['Phone number added to monitor']),
    )
  })

  sentence('add: Phone is required', async () => {
    expectRefused(await monitor.add([{ Label: 'no number' }]))
  })

  sentences(
    ['12125550100', '212-555-010'],
    (phone) => `add: Phone must be 10 digits, and '${phone}' is not`,
    async (Phone) => expectNotAdded(Phone),
  )

  sentence('add: Label is optional', async () => {
    const { phones, added } = await monitored()
    expect(added[0]).toMatchObject({ Phone: phones[0], Response: 'Phone number added to monitor' })
  })

  sentence('add: LegalEntityId is an integer', async () => {
    expectRefused(await monitor.add([{ Phone: listNumber(), LegalEntityId: 'first' }]))
  })

  sentence('get by GET answers an array of records in the order of phoneList', async () => {
    const { phones, got } = await monitored()
    expect(got.map((row) => row.Phone)).toEqual(phones)
  })

  sentence('get by GET: Response is "Phone number current score"', async () => {
    const { got } = await monitored()
    expect(new Set(got.map((row) => row.Response))).toEqual(new Set(['Phone number current score']))
  })

  sentence('get by POST takes a JSON array of number strings and answers the same', async () => {
    const { got, posted } = await monitored()
    expect(posted).toEqual(got)
  })

  sentence('getAll answers records for all numbers of the account', async () => {
    const { phones, all } = await monitored()
    expect(recordsOf(all, phones)).toHaveLength(phones.length)
  })

  sentence('remove answers an array of Phone and Response', async () => {
    const { phones, removed } = await monitored()
    expect(removed.map((row) => row.Phone)).toEqual(phones)
  })

  sentence('remove: Response is "Phone number removed from monitor"', async () => {
    const { removed } = await monitored()
    expect(new Set(removed.map((row) => row.Response))).toEqual(
      new Set(['Phone number removed from monitor']),
    )
  })
})

function expectRefused({ status, text }: { status: number; text: string }): void {
  expect(`${status} ${text}`).toMatch(/^4\d\d /)
}

/** Refused as a whole, or answered with a record that does not claim the number was added. */
async function expectNotAdded(Phone: string): Promise<void> {
  const reply = await monitor.add([{ Phone }])
  if (reply.status === 200) expect(reply.text).not.toContain('Phone number added to monitor')
  else expectRefused(reply)
}
