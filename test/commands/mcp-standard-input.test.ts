/** What clients of `callgate mcp` write to its standard input. */
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { readMessages } from '../../src/commands/mcp/standard-input.js'

async function read(written: string) {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const messages = text(readMessages(input, output))
  input.end(written)
  const toObjects = (lines: string) =>
    lines.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as object]))
  const passed = toObjects(await messages)
  output.end()
  return { passed, answered: toObjects(await text(output)) }
}

const message = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list' })
const line = (content: unknown) => `${JSON.stringify(content)}\n`

test.each([
  ['a message', line(message(1)), [1]],
  ['a byte order mark', `\uFEFF${line(message(1))}`, [1]],
  ['a byte order mark in every line', `\uFEFF${line(message(1))}\uFEFF${line(message(2))}`, [1, 2]],
  ['a batch', line([message(1), message(2)]), [1, 2]],
  [
    'line ends of Windows and empty lines',
    `${JSON.stringify(message(1))}\r\n\r\n\n${line(message(2))}`,
    [1, 2],
  ],
  ['a last line without an end', JSON.stringify(message(1)), [1]],
])('%s is read', async (_, written, ids) => {
  expect(await read(written)).toEqual({ passed: ids.map(message), answered: [] })
})

test.each<[string, string, number, unknown]>([
  ['a text', 'hello\n', -32_700, null],
  ['JSON that is cut off', '{"jsonrpc":"2.0"\n', -32_700, null],
  ['a number', '5\n', -32_600, null],
  ['null', 'null\n', -32_600, null],
  ['an empty batch', '[]\n', -32_600, null],
  ['a message without a version', line({ id: 7, method: 'ping' }), -32_600, 7],
])('%s is answered with an error, and the next message is read', async (_, written, code, id) => {
  const { passed, answered } = await read(written + line(message(2)))
  expect(answered).toMatchObject([{ jsonrpc: '2.0', id, error: { code } }])
  expect(passed).toEqual([message(2)])
})
