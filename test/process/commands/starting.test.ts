/** The program starts where people start it, or says at once why it cannot. */
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runChild, startChild } from '../../../scripts/children.mjs'
import { callgate, environmentOf, firstKeysIn, program } from '../../support/program.js'

let root: string
/** Takes connections and never answers. */
let silent: Server
let takenPort: string
const connections: Socket[] = []

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'callgate-starting-'))
  silent = createServer((socket) => void connections.push(socket.on('error', () => undefined)))
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  takenPort = String((silent.address() as AddressInfo).port)
})

afterAll(async () => {
  for (const socket of connections) socket.destroy()
  await new Promise((resolve) => silent.close(resolve))
  rmSync(root, { recursive: true, force: true })
})

const newFolder = () => mkdtempSync(join(root, 'var-'))

describe('a server that cannot listen ends, and says what to do', () => {
  const taken = { port: () => takenPort, host: '127.0.0.1', fix: /EADDRINUSE.*CALLGATE_HTTP_PORT/ }
  // The block is for documentation, so no machine has it.
  const down = { port: () => '0', host: '192.0.2.1', fix: /EADDRNOTAVAIL.*CALLGATE_HTTP_HOST/ }
  const nobodys = { port: () => '0', host: 'nowhere.invalid', fix: /cannot listen: getaddrinfo/ }

  it.concurrent.each([
    ['a taken port', taken, '0'],
    ['a taken port, with service threads', taken, '2'],
    ['an address that is not up', down, '1'],
    ['a name without address', nobodys, '0'],
  ])('%s', async (_name, { port, host, fix }, threads) => {
    const { code, err } = await callgate(['serve'], {
      CALLGATE_DATA_DIR: newFolder(),
      CALLGATE_HTTP_PORT: port(),
      CALLGATE_HTTP_HOST: host,
      CALLGATE_HTTP_SERVICE_THREADS: threads,
    })
    expect(err).toMatch(fix)
    expect(code).toBe(1)
  })
})

describe('a signal ends a start', () => {
  const start = (environment: Record<string, string>) =>
    startChild(process.execPath, [program, 'serve'], {
      env: environmentOf({ CALLGATE_DATA_DIR: newFolder(), ...environment }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })

  it('that waits for a database which never answers', async () => {
    const child = start({
      CALLGATE_STORAGE_ENGINE: 'postgres',
      CALLGATE_STORAGE_URL: `postgres://callgate@127.0.0.1:${takenPort}/callgate`,
      CALLGATE_STORAGE_TLS: 'false',
    })
    let output = ''
    child.stdout?.on('data', (bytes: Buffer) => {
      output += bytes.toString()
    })
    const ended = once(child, 'exit')
    await once(silent, 'connection')
    child.kill('SIGTERM')
    expect(await ended).toEqual([1, null])
    expect(output).toContain('stopped by a signal during the start')
  })

  it('that has written its first line', async () => {
    const child = start({ CALLGATE_HTTP_PORT: '0' })
    let output = ''
    child.stdout.on('data', (bytes: Buffer) => {
      output += bytes.toString()
    })
    const ended = once(child, 'close')
    await once(child.stdout, 'data')
    child.kill('SIGTERM')
    const [code, signal] = await ended
    // A busy machine may not end the start within the grace period.
    const [message, expected] = output.includes('"message":"stopped"')
      ? ['stopping', 0]
      : ['stopped by a signal during the start', 1]
    expect([output, code, signal]).toEqual([expect.stringContaining(message), expected, null])
  })

  it('that cannot listen', async () => {
    const child = start({ CALLGATE_HTTP_PORT: takenPort })
    const ended = once(child, 'exit')
    await once(child.stdout, 'data')
    child.kill('SIGTERM')
    expect(await ended).toEqual([1, null])
  })
})

describe('more connections than the system lets it open', () => {
  const startWithin = (maxFiles: number, maxConnections: string) =>
    runChild(
      'bash',
      ['-c', `ulimit -n ${maxFiles}; exec "$0" "$@"`, process.execPath, program, 'serve'],
      {
        env: environmentOf({
          CALLGATE_DATA_DIR: newFolder(),
          CALLGATE_HTTP_PORT: takenPort,
          CALLGATE_HTTP_MAX_CONNECTIONS: maxConnections,
        }),
        timeout: 60_000,
      },
    )

  it.concurrent.each([
    [1_024, '1000', 924],
    [1_099, '1000', 999],
  ])('within %i open files, %s connections are refused with both numbers', async (...row) => {
    const [maxFiles, maxConnections, possible] = row
    const { code, err } = await startWithin(maxFiles, maxConnections)
    expect(err).toContain(
      `http.maxConnections ${maxConnections}: this process can open only ${maxFiles} files`,
    )
    expect(err).toContain(`Set it to ${possible} or less`)
    expect(code).toBe(2)
  })

  it.concurrent('too few for the program itself are refused with the number it needs', async () => {
    const { code, err, out } = await startWithin(200, '10')
    expect([code, out, err]).toEqual([
      2,
      '',
      'callgate: this process can open only 200 files, and callgate needs 512; ' +
        'raise the limit (ulimit -n, LimitNOFILE= of systemd, --ulimit nofile= of Docker)\n',
    ])
  })

  it('are no more than they are', async () => {
    const { code, err } = await startWithin(1_100, '1000')
    expect(err).toContain('EADDRINUSE')
    expect(code).toBe(1)
  })
})

it('refuses a cache that would not fit into the memory of Node.js, with the number that does', async () => {
  const { code, err } = await runChild(
    process.execPath,
    ['--max-old-space-size=400', program, 'serve'],
    {
      env: environmentOf({
        CALLGATE_DATA_DIR: newFolder(),
        CALLGATE_GATE_CACHE_MAX_ENTRIES: '200000',
      }),
      timeout: 60_000,
    },
  )
  expect(err).toMatch(
    /gate\.cache\.maxEntries 200000: .* 1000 MB of memory, and Node\.js may use \d+ MB\. Set it to \d+ or less/,
  )
  expect(code).toBe(2)
})

/** Only root can change the user, the root folder and what is mounted. */
describe.runIf(process.getuid?.() === 0)('as root', () => {
  const listOfRoot = () => {
    const path = join(mkdtempSync(join(root, 'list-')), 'list.txt')
    writeFileSync(path, '2125550100\n')
    return path
  }

  it('what a command writes into the folder of another user belongs to that user', async () => {
    chmodSync(root, 0o755)
    const folder = newFolder()
    const user = { uid: 65_534, gid: 65_534 }
    chownSync(folder, user.uid, user.gid)
    const environment = { CALLGATE_DATA_DIR: folder, CALLGATE_HTTP_PORT: takenPort }
    const commands = [
      ['keys', 'list'],
      ['import', 'us-dnc', listOfRoot(), '--area-codes', 'all'],
      ['records', 'import', 'opt-outs', listOfRoot(), '--account', 'main', '--undated'],
    ]
    for (const command of commands) {
      const { code, err } = await callgate(command, environment)
      expect(code, err).toBe(0)
    }
    const owners = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => {
      const { uid, gid } = statSync(join(folder, name))
      return `${name} ${uid} ${gid}`
    })
    expect(owners.length).toBeGreaterThan(3)
    expect(owners.filter((one) => !one.endsWith(` ${user.uid} ${user.gid}`))).toEqual([])
    const { out, code } = await callgate(['lists'], environment, user)
    expect(out).toContain('us-dnc')
    expect(code).toBe(0)
  })

  it('serves with a file system that is read-only, without a folder for temporary files', async () => {
    const folder = newFolder()
    const script = [
      'mount --make-rprivate /',
      'mount --bind "$CALLGATE_DATA_DIR" "$CALLGATE_DATA_DIR"',
      'for at in / /tmp /dev/shm; do ! mountpoint -q "$at" || mount -o remount,bind,ro "$at"; done',
      'exec "$0" "$@"',
    ].join(' && ')
    const run = (args: readonly string[]) =>
      startChild('unshare', ['-m', 'bash', '-c', script, process.execPath, program, ...args], {
        env: environmentOf({ CALLGATE_DATA_DIR: folder, CALLGATE_HTTP_PORT: '0' }),
        stdio: ['ignore', 'pipe', 'pipe'],
      })
    const list = listOfRoot()
    for (const args of [
      ['import', 'us-dnc', list, '--area-codes', 'all'],
      ['records', 'import', 'opt-outs', list, '--account', 'main', '--undated'],
    ]) {
      const child = run(args)
      let output = ''
      child.stderr?.on('data', (bytes: Buffer) => {
        output += bytes.toString()
      })
      expect((await once(child, 'exit'))[0], output).toBe(0)
    }
    const server = run(['serve'])
    let output = ''
    const url = await new Promise<string>((resolve, reject) => {
      const read = (bytes: Buffer) => {
        output += bytes.toString()
        const found = /listens on (\S+)/.exec(output)?.[1]
        if (found !== undefined) resolve(found)
      }
      server.stdout?.on('data', read)
      server.stderr?.on('data', read)
      server.once('exit', () => reject(new Error(output)))
    })
    const { sandbox } = firstKeysIn(folder)
    const answer = await fetch(`${url}/v1/predial?number=2125550100&kind=manual`, {
      headers: { loginId: sandbox },
    })
    expect(await answer.text()).toMatch(/^(?:allow|block:)/)
    const ended = once(server, 'exit')
    server.kill('SIGTERM')
    expect((await ended)[0]).toBe(0)
  })
})
