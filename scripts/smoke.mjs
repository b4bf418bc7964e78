/**
 * The first steps of a new user: `npm start` on a machine that has never run callgate, then paste the
 * printed curl line into a shell. Exits with 0 when that line gets a decision.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runChild, startChild } from './children.mjs'

const limitMs = 120_000
const folder = mkdtempSync(join(tmpdir(), 'callgate-smoke-'))
const server = startChild('npm', ['start'], {
  env: { ...process.env, CALLGATE_DATA_DIR: join(folder, 'var'), CALLGATE_HTTP_PORT: '0' },
  stdio: ['ignore', 'pipe', 'inherit'],
})

/** The first line that a shell can run. */
function curlLine() {
  return new Promise((resolve, reject) => {
    let seen = ''
    const timer = setTimeout(
      () => reject(new Error(`no curl line within ${limitMs} ms:\n${seen}`)),
      limitMs,
    )
    server.stdout.on('data', (bytes) => {
      seen += bytes
      const line = seen
        .split('\n')
        .slice(0, -1)
        .find((text) => text.trim().startsWith('curl '))
      if (line === undefined) return
      clearTimeout(timer)
      resolve(line.trim())
    })
    server.once('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`npm start ended with ${code}:\n${seen}`))
    })
  })
}

let code = 1
try {
  const line = await curlLine()
  const { out } = await runChild('bash', ['-c', line], { timeout: 20_000 })
  const { decision, reason } = JSON.parse(out)
  if (decision !== 'allow' && decision !== 'block') throw new Error(`no decision in: ${out}`)
  console.log(`start check: the printed curl line answers ${decision}, ${reason}`)
  code = 0
} catch (error) {
  console.error(`start check failed: ${error.message}`)
} finally {
  server.removeAllListeners('exit')
  process.kill(-server.pid, 'SIGTERM')
  // npm ends before the server that it started, which holds the pipe until it has written its last file.
  await new Promise((resolve) => server.once('close', resolve))
  rmSync(folder, { recursive: true, force: true })
}
process.exit(code)
