/**
 * SQLite's check of all pages in a separate process: it reads every page, which takes seconds on a large
 * database and would block the event loop. Not in a thread, since a thread inside SQLite cannot be
 * stopped when the server stops.
 */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'

/** The second one also compares indexes with their tables, which takes several times as long. */
export type PageCheckKind = 'quick_check' | 'integrity_check'

export interface PageCheck {
  /** What is damaged, `undefined` if nothing is. Rejects if the check failed to run. */
  readonly damage: Promise<string | undefined>
  stop(): void
}

/**
 * At the lowest priority, since calls are more urgent. SQLite takes a page that the disk fails to read for a damaged one, so damage
 * counts only if the files can be read and a second check finds it too.
 */
const script = `
  require('node:os').setPriority(19)
  const { closeSync, existsSync, openSync, readSync } = require('node:fs')
  const [library, path, kind] = process.argv.slice(1)
  const Sqlite = require(library)
  const isDamage = ({ code }) => /^SQLITE_(CORRUPT|NOTADB)/.test(code ?? '')
  const check = () => {
    let connection
    try {
      connection = new Sqlite(path, { readonly: true, fileMustExist: true })
      return connection.pragma(kind + '(1)', { simple: true })
    } catch (cause) {
      if (!isDamage(cause)) throw cause
      return cause.message
    } finally {
      connection?.close()
    }
  }
  const readWhole = (file) => {
    const descriptor = openSync(file)
    while (readSync(descriptor, chunk) > 0);
    closeSync(descriptor)
  }
  const chunk = Buffer.alloc(1048576)
  let verdict = check()
  if (verdict !== 'ok') {
    [path, path + '-wal'].filter((file) => existsSync(file)).forEach(readWhole)
    verdict = check()
  }
  process.stdout.write(verdict)
`

export function startPageCheck(path: string, kind: PageCheckKind): PageCheck {
  const library = createRequire(import.meta.url).resolve('better-sqlite3')
  const child = spawn(process.execPath, ['-e', script, library, path, kind], {
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let verdict = ''
  let problem = ''
  child.stdout.on('data', (bytes: Buffer) => {
    verdict += bytes.toString()
  })
  child.stderr.on('data', (bytes: Buffer) => {
    problem += bytes.toString()
  })
  const damage = new Promise<string | undefined>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve(verdict === 'ok' ? undefined : verdict)
      else reject(new Error(`${kind} of ${path} failed: ${problem || `exit code ${code}`}`))
    })
  })
  return { damage, stop: () => void child.kill('SIGKILL') }
}
