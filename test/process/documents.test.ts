/**
 * The commands in the documents work as printed: every `sh` block of the README, then every block of
 * a page in docs that begins with "```sh run". fifteen-minutes.md begins anew, and has a test of its own.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readDocumentCommands, testDocumentCommands } from '../support/document-commands.js'

const pages = readdirSync(join(import.meta.dirname, '../../docs'))
  .filter((name) => name.endsWith('.md') && name !== 'fifteen-minutes.md')
  .sort()
const commands = [
  ...readDocumentCommands('README.md', /^```sh\b/),
  ...pages.flatMap((name) => readDocumentCommands(join('docs', name), /^```sh run$/)),
]

testDocumentCommands('the commands in the documents', commands)

const readme = readDocumentCommands('README.md', /^```sh\b/)
const firstBlock = readme.slice(
  0,
  readme.findIndex(({ text }) => text.startsWith('opt_out()')),
)
/** It never answers, so a command that asks it does not end. */
const otherProgram =
  "coproc node -e \"require('net').createServer().listen(8480, '127.0.0.1', () => console.log())\""

testDocumentCommands('the first block of the README, while another program has the port', [
  {
    place: 'at first',
    text: [
      `${otherProgram} && read -r <&"\${COPROC[0]}"`,
      ...firstBlock.map(({ text }) => text),
      'test -z "$URL"',
    ].join('\n'),
    expected:
      'http.port ...: cannot listen: ...EADDRINUSE...set CALLGATE_HTTP_PORT to another port',
  },
  { place: 'then', text: 'export CALLGATE_HTTP_PORT=8481', expected: undefined },
  ...firstBlock,
])

it('are many', () => {
  expect(commands.length).toBeGreaterThan(30)
})
