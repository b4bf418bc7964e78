/** Preloaded into a program: each of its threads appends the files that it loads to a file in `LOADED_FILES`. */
import { appendFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'

const list = join(process.env.LOADED_FILES, String(threadId))
const session = new Session()
session.connect()
session.on('Debugger.scriptParsed', ({ params: { url } }) => {
  if (url.includes('/dist/') || url.includes('/node_modules/')) appendFileSync(list, `${url}\n`)
})
session.post('Debugger.enable')
