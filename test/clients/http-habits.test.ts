/** What clients do beside the fields: bodies on GET, old HTTP, `Expect`, connections that go on. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openRaw } from '../fake-vendor/raw-client.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { exchange } from './wire.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

const scrubPath = '/app/main/rpc/scrub'
const query = () => `?version=2&loginId=${running.keys.sandbox}&phoneList=2125550103`
const formType = 'Content-Type: application/x-www-form-urlencoded'

it('a GET whose form repeats the query is read once, and the connection goes on', async () => {
  const request = [
    `GET ${scrubPath}${query()}& HTTP/1.1`,
    `Host: ${new URL(running.url).host}`,
    formType,
    'Content-Length: 20',
    '',
    'phoneList=2125550103',
  ].join('\r\n')
  const connection = await openRaw(running.url)
  for (const _turn of [1, 2]) {
    connection.send(request)
    const { status, body } = await connection.reply()
    expect([status, body.toString().split(',', 2)]).toEqual([200, ['2125550103', 'D']])
  }
  connection.close()
})

it('HTTP/1.0 without keep-alive is answered and ended', async () => {
  const connection = await openRaw(running.url)
  connection.send(`GET ${scrubPath}${query()} HTTP/1.0\r\n\r\n`)
  const { status, body } = await connection.reply()
  expect([status, body.toString().split(',', 2)]).toEqual([200, ['2125550103', 'D']])
  expect(await connection.ended()).toBe('fin')
})

it('an empty part of multipart/form-data is not given', async () => {
  const part = (name: string, value: string) =>
    `--x1\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const body = [
    part('loginId', running.keys.sandbox),
    part('version', '3'),
    part('projId', ''),
    ...[
      part('campaignId', ''),
      part('phoneList', '2125550103,2125550100,2125550103'),
      '--x1--\r\n',
    ],
  ].join('')
  const head = [`POST ${scrubPath} HTTP/1.1`, 'Content-Type: multipart/form-data; boundary=x1']
  const reply = await exchange(running.url, head, body)
  const lines = reply.body.toString().trimEnd().split('\n')
  expect(lines.map((line) => line.split(',')[0])).toEqual([
    '2125550103',
    '2125550100',
    '2125550103',
  ])
})

it('Expect: 100-continue is told to go on', async () => {
  const body = `loginId=${running.keys.sandbox}&version=5&phoneList=2125550103|lead-7,2125550100|lead-8`
  const connection = await openRaw(running.url)
  const head = [`POST ${scrubPath} HTTP/1.1`, `Host: ${new URL(running.url).host}`, formType]
  const length = `Content-Length: ${body.length}`
  connection.send([...head, length, 'Expect: 100-continue', '', ''].join('\r\n'))
  expect((await connection.reply()).status).toBe(100)
  connection.send(body)
  const reply = await connection.reply()
  expect(reply.body.toString().split('\n')[1]).toMatch(/^2125550100,C,lead-8,/)
  connection.close()
})

it('takes a request line of more than 16 KB', async () => {
  const phones = Array.from({ length: 1_500 }, () => '2125550100').join(',')
  const address = `/app/main/rpc/pdnc?version=5&actionType=status&phoneList=${phones}`
  const reply = await exchange(running.url, [
    `GET ${address} HTTP/1.1`,
    `loginId: ${running.keys.sandbox}`,
  ])
  expect(reply.status).toBe(200)
})
