/** Compiles when `dist` is missing or older than a source file, so that `npm start` always works. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const built = join(root, 'dist/main.js')
const sources = join(root, 'src')

function newestIn(folder) {
  const times = readdirSync(folder, { withFileTypes: true }).map((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? newestIn(path) : statSync(path).mtimeMs
  })
  return Math.max(0, ...times)
}

/** An installed package ships `dist` and no sources. */
const upToDate =
  existsSync(built) && (!existsSync(sources) || newestIn(sources) <= statSync(built).mtimeMs)

if (!upToDate) {
  console.error('callgate: compiling')
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: ['ignore', 2, 2] })
}
