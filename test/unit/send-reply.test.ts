import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { sendReplyInSlices, sendStreamedReply } from '../../src/http/send-reply.js'

const nextTurns = async () => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

test('a long answer is made no faster than it is read, and no further than it is wanted', async () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  let made = 0
  async function* parts() {
    for (; made < 50; ) {
      made += 1
      yield 'x'.repeat(65_536)
    }
  }
  const sent = sendStreamedReply(response, {
    parts: parts(),
    trailerNames: [],
    trailers: () => ({}),
  })
  await nextTurns()
  expect(made).toBe(1)
  response.emit('drain')
  await nextTurns()
  expect(made).toBe(2)
  response.destroy()
  response.emit('close')
  await sent
  expect(made).toBe(2)
})

test('long bytes leave in pieces of 64 KiB, each once the one before has left', async () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const lengths: number[] = []
  const write = response.write.bind(response)
  response.write = ((piece: Buffer) => {
    lengths.push(piece.length)
    return write(piece)
  }) as typeof response.write
  const sent = sendReplyInSlices(response, { bytes: Buffer.alloc(150_000) })
  await nextTurns()
  expect(lengths).toEqual([65_536])
  response.emit('drain')
  await nextTurns()
  expect(lengths).toEqual([65_536, 65_536])
  expect(response.writableEnded).toBe(false)
  response.emit('drain')
  await sent
  expect(response.writableEnded).toBe(true)
})
