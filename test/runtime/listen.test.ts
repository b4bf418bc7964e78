/** A port that is full: whoever waits for nothing makes room. */
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { listenOn } from '../../src/runtime/listen.js'

const most = 1_000

test('of connections that send nothing, or a body slowly, the oldest give way to new ones', async () => {
  const answers: (() => void)[] = []
  const server = createServer((request, response) => {
    if (request.url === '/slow') return void request.resume()
    answers.push(() => response.end('answer'))
  })
  const { url, close } = await listenOn(server, { host: '127.0.0.1', port: 0 })
  const { hostname, port } = new URL(url)
  const closed: Socket[] = []
  const open = async (text: string) => {
    const socket = connect(Number(port), hostname).on('error', () => undefined)
    socket.on('close', () => closed.push(socket)).resume()
    await new Promise((resolve) => socket.once('connect', resolve))
    socket.write(text)
    return socket
  }
  const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
  const busy = await open(get)
  await expect.poll(() => answers.length).toBe(1)
  const slow = await open('POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1')
  const silent: Socket[] = []
  while (silent.length < most - 2) silent.push(await open(''))
  const late = [await open(get), await open(get)]
  await expect.poll(() => answers.length).toBe(3)
  expect(new Set(closed)).toEqual(new Set([slow, silent[0]]))
  for (const end of answers) end()
  for (const socket of [busy, slow, ...silent, ...late]) socket.destroy()
  await close()
})
