import { expect } from 'vitest'
import { projectEvent } from './support/project-event.js'
import { type Delivery, receiver } from './support/receiver.js'
import { isInteger, isText, isUtcTimestamp } from './support/rules.js'
import { complete, scan, testedUrl } from './support/scans.js'
import { asRow, type Needs, type Row, section, sentence } from './support/sentence.js'

/** The notification of a finished scan. */
async function notification(needs: Needs): Promise<Delivery> {
  await complete(needs, 'carrierandapps')
  const { path } = await scan(needs, 'carrierandapps')
  const hooks = await receiver(needs)
  return needs(await hooks.delivery(path), 'a delivery in time (--slow waits longer)')
}

section('events', () => {
  sentence('when a scan completes an HTTP POST is sent to its NotificationURL', async (needs) => {
    expect((await notification(needs)).method).toBe('POST')
  })

  sentence('the body of a scan notification is JSON', async (needs) => {
    const { headers, body } = await notification(needs)
    expect(headers['content-type']).toMatch(/json/)
    expect(JSON.parse(body)).toBeTypeOf('object')
  })

  sentence('the body holds JobId of the scan', async (needs) => {
    const { JobId } = JSON.parse((await notification(needs)).body) as Row
    expect(JobId).toBe((await scan(needs, 'carrierandapps')).submitted.JobId)
  })

  sentence('the body holds Status Complete', async (needs) => {
    expect(JSON.parse((await notification(needs)).body)).toMatchObject({ Status: 'Complete' })
  })

  sentence('the body holds Results, the same as the status call', async (needs) => {
    const { Results } = JSON.parse((await notification(needs)).body) as Row
    expect(Results).toEqual((await complete(needs, 'carrierandapps')).Results)
  })

  sentence('the NotificationAPIKey is included in a header', async (needs) => {
    const { headers } = await notification(needs)
    const { key } = await scan(needs, 'carrierandapps')
    expect(Object.values(headers)).toContain(key)
  })

  sentence('the NotificationAPIKey is not in the body', async (needs) => {
    const { key } = await scan(needs, 'carrierandapps')
    expect((await notification(needs)).body).not.toContain(key)
  })

  sentence('with TestNotificationURL a test payload is sent', async (needs) => {
    expect((await testedUrl(needs)).delivery.method).toBe('POST')
  })

  sentence('the key is included in the test payload as well', async (needs) => {
    const { delivery, key } = await testedUrl(needs)
    expect(Object.values(delivery.headers)).toContain(key)
  })

  sentence('a project may have a Webhook.Url', async (needs) => {
    const hooks = await receiver(needs)
    const { before } = await projectEvent(needs)
    expect(asRow(before.Webhook).Url).toBe(hooks.url('/project'))
  })

  sentence('Webhook.LastDelivery is null until the first delivery attempt', async (needs) => {
    expect(asRow((await projectEvent(needs)).before.Webhook).LastDelivery).toBeNull()
  })

  sentence('the last delivery is recorded in Webhook.LastDelivery', async (needs) => {
    const last = asRow(asRow((await projectEvent(needs)).after.Webhook).LastDelivery)
    expect(isInteger(last.Attempt) && isUtcTimestamp(last.SentOn) && isText(last.EventId)).toBe(
      true,
    )
    expect(last.HttpStatus).toBe(200)
  })

  sentence('project.ftcValidation is linked to the FTC validation status', async (needs) => {
    const { after } = await projectEvent(needs)
    expect(asRow(asRow(after.Webhook).LastDelivery).Event).toBe('project.ftcValidation')
  })

  sentence('event ids look like evt_<id>', async (needs) => {
    const { after } = await projectEvent(needs)
    expect(asRow(asRow(after.Webhook).LastDelivery).EventId).toMatch(/^evt_\w+$/)
  })
})
