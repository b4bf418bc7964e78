/** Events that a command stores in the database of a running server. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callgate, type Serving, serve } from '../../support/program.js'

interface Notification {
  readonly Event: string
  readonly Data: object
}

const folder = mkdtempSync(join(tmpdir(), 'callgate-webhooks-'))
const environment = { CALLGATE_DATA_DIR: folder, CALLGATE_WEBHOOKS_ALLOW: '127.0.0.1' }
const receiver = createServer(async (request, response) => {
  const notification = (await json(request)) as Notification
  response.end()
  receiver.emit('notification', notification)
})
let server: Serving

beforeAll(async () => {
  await once(receiver.listen(0, '127.0.0.1'), 'listening')
  server = await serve(environment)
  const { port } = receiver.address() as AddressInfo
  const WebhookUrl = `http://127.0.0.1:${port}/`
  const body = { ProjectCode: 'P', ProjectName: 'P', San: '1122-334455-26', WebhookUrl }
  const made = await fetch(`${server.url}/v1.5/projects`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', loginId: server.keys.main },
    body: JSON.stringify(body),
  })
  expect(made.status).toBe(201)
})
afterAll(async () => {
  await server.end('SIGTERM')
  receiver.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Less than the minute after which the server looks for events by itself. */
const timeout = 25_000

test.each([
  ['deactivate P', 'project.status', { Status: 'inactive' }],
  ['reactivate P', 'project.status', { Status: 'active' }],
  ['ftc-validation P --status failed', 'project.ftcValidation', { Previous: 'pending' }],
  ['registration P TX --status approved', 'project.stateRegistration', { Previous: null }],
])(
  'are sent soon after: %s',
  async (command, Event, data) => {
    const came = once(receiver, 'notification')
    const { code, err } = await callgate(['projects', ...command.split(' ')], environment)
    expect([code, err]).toEqual([0, expect.stringContaining('P: ')])
    expect(await came).toMatchObject([{ Event, Data: data }])
  },
  timeout,
)
