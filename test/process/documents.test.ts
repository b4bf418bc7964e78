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

it('are many', () => {
  expect(commands.length).toBeGreaterThan(30)
})
