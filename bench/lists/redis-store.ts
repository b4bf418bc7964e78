/** The numbers as members of one Redis set, queried with SISMEMBER over a Unix socket. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createConnection, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Missing, nsEach, type Store } from './store.js'

const server = '/usr/bin/redis-server'
const name = 'Redis, a set'
const membersPerCommand = 1_000
const startsWithinMs = 10_000

export async function redisStore(): Promise<Store | Missing> {
  if (!existsSync(server)) return { name, why: `no ${server} (apt-get install redis-server)` }
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-redis-'))
  const path = join(folder, 'socket')
  const options = ['--port', '0', '--unixsocket', path, '--save', '', '--appendonly', 'no']
  const child = spawn(server, [...options, '--dir', folder], { stdio: 'ignore' })
  const socket = await connected(path)
  const redis = new Redis(socket)
  return {
    name,
    async fill(numbers) {
      for (let at = 0; at < numbers.length; at += membersPerCommand) {
        const members = numbers.subarray(at, at + membersPerCommand)
        await redis.command(['SADD', 'numbers', ...Array.from(members, String)])
      }
    },
    async bytes() {
      const info = String(await redis.command(['INFO', 'memory']))
      return Number(/used_memory:(\d+)/.exec(info)?.[1])
    },
    lookUp: (numbers) =>
      nsEach(numbers, async (number) => {
        return (await redis.command(['SISMEMBER', 'numbers', String(number)])) === 1
      }),
    async close() {
      socket.destroy()
      child.kill('SIGKILL')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function connected(path: string): Promise<Socket> {
  for (let waitedMs = 0; waitedMs < startsWithinMs; waitedMs += 50) {
    const socket = await connect(path)
    if (socket) return socket
    await sleep(50)
  }
  throw new Error('redis-server did not start in time')
}

function connect(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection(path)
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })
}

/** Sends one command at a time; implements only what three commands need of the protocol. */
class Redis {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #answer: ((answer: string | number) => void) | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes) => this.#read(bytes))
  }

  command(words: readonly string[]): Promise<string | number> {
    const text = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')
    this.#socket.write(`*${words.length}\r\n${text}`)
    return new Promise((resolve) => {
      this.#answer = resolve
    })
  }

  #read(bytes: Buffer): void {
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes])
    const end = this.#received.indexOf('\r\n')
    if (end < 0) return
    const line = this.#received.toString('latin1', 0, end)
    if (line.startsWith('-')) throw new Error(`Redis: ${line}`)
    if (line.startsWith('$')) {
      const length = Number(line.slice(1))
      if (this.#received.length < end + 4 + length) return
      this.#give(this.#received.toString('utf8', end + 2, end + 2 + length))
      return
    }
    this.#give(Number(line.slice(1)))
  }

  #give(answer: string | number): void {
    this.#received = Buffer.alloc(0)
    this.#answer?.(answer)
  }
}
