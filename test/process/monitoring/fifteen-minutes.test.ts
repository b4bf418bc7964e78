/** docs/fifteen-minutes.md, from an empty folder, with a real Prometheus. */
import { dirname } from 'node:path'
import { providePrometheus } from '../../e2e/asterisk/lab/provided-asterisk.js'
import { readDocumentCommands, testDocumentCommands } from '../../support/document-commands.js'

testDocumentCommands(
  'the commands of the first fifteen minutes',
  readDocumentCommands('docs/fifteen-minutes.md', /^```sh run$/),
  { provide: async () => [dirname((await providePrometheus()).prometheus)] },
)
