/**
 * Runs one tier of the tests and prints how long it took: `node scripts/test.mjs first|process|postgres|e2e`.
 * `--long` makes random searches and kill tests longer; other arguments are passed to vitest.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startChild } from './children.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const tiers = {
  first: ['--project', 'first'],
  process: ['process', 'heap', 'imports'].flatMap((name) => ['--project', name]),
  postgres: ['--project', 'postgres'],
  e2e: ['--config', join(root, 'vitest.e2e.config.ts')],
}

const [tier, ...given] = process.argv.slice(2)
if (!Object.hasOwn(tiers, tier)) {
  console.error(`tests: tier '${tier}': must be ${Object.keys(tiers).join(', ')}`)
  process.exit(2)
}
const long = given.includes('--long')
const rest = given.filter((one) => one !== '--long')
const temporary = makeTemporaryFolder()
const started = performance.now()
const child = startChild(
  process.execPath,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...tiers[tier], ...rest],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      TMPDIR: temporary,
      TEST_FOLDER: temporary,
      TEST_LONG: long ? '1' : '',
    },
  },
)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => child.kill(signal))
child.once('exit', (code) => {
  const seconds = ((performance.now() - started) / 1_000).toFixed(0)
  console.log(`tests: the ${tier} tier took ${seconds} s${long ? ', with its long forms' : ''}`)
  rmSync(temporary, { recursive: true, force: true })
  process.exit(code ?? 1)
})

/**
 * What the tests write goes here, into memory where there is room: no case cuts the power, waiting for a
 * disk to sync took half of the time, and a disk that stalls blocks calls that a test expects to be
 * allowed. Also removes the folders of runs that were killed.
 */
function makeTemporaryFolder() {
  const parent = hasRoom('/dev/shm') ? '/dev/shm' : tmpdir()
  for (const name of readdirSync(parent)) {
    const pid = /^callgate-tests-(\d+)-/.exec(name)?.[1]
    if (pid && !isRunning(Number(pid))) {
      rmSync(join(parent, name), { recursive: true, force: true })
    }
  }
  const folder = mkdtempSync(join(parent, `callgate-tests-${process.pid}-`))
  // As that of the machine: some tests run the program as another user.
  chmodSync(folder, 0o1777)
  return folder
}

function hasRoom(folder) {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > 2 * 2 ** 30
  } catch {
    return false
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return cause.code === 'EPERM'
  }
}
