/**
 * SQLite's quick_check in a separate process: it reads every page, which takes seconds on a large
 * database and would block the event loop. Not in a thread, since a thread inside SQLite cannot be
 * stopped when the server stops.
 */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'

export interface QuickCheck {
  /** What is damaged, `undefined` if nothing is. Rejects if the check failed to run. */
  readonly damage: Promise<string | undefined>
  stop(): void
}

/** At the lowest priority, since calls are more urgent. */
const script = `
  require('node:os').setPriority(19)
  const [library, path] = process.argv.slice(1)
  const Sqlite = require(library)
  const isDamage = ({ code }) => /^SQLITE_(CORRUPT|NOTADB)/.test(code ?? '')
  try {
    const connection = new Sqlite(path, { readonly: true, fileMustExist: true })
    process.stdout.write(connection.pragma('quick_check(1)', { simple: true }))
  } catch (cause) {
    if (!isDamage(cause)) throw cause
    process.stdout.write(cause.message)
  }
`

export function startQuickCheck(path: string): QuickCheck {
  const library = createRequire(import.meta.url).resolve('better-sqlite3')
  const child = spawn(process.execPath, ['-e', script, library, path], {
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
      else reject(new Error(`quick_check of ${path} failed: ${problem || `exit code ${code}`}`))
    })
  })
  return { damage, stop: () => void child.kill('SIGKILL') }
}
