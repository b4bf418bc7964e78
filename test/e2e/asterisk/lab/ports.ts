/**
 * Ports of the loopback address that nobody uses. They lie below those the kernel gives to whoever
 * asks for any, and below Asterisk's media: a port stays free until its program is up.
 */
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'

const firstPort = 10_000
const endOfPorts = 20_000
const triesAtMost = 1_000

const given = new Set<number>()

export async function freeTcpPort(): Promise<number> {
  return await freePort(async (port) => {
    const server = createServer().listen(port, '127.0.0.1')
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
  })
}

export async function freeUdpPort(): Promise<number> {
  return await freePort(async (port) => {
    const socket = createSocket('udp4')
    socket.bind(port, '127.0.0.1')
    await once(socket, 'listening')
    socket.close()
    await once(socket, 'close')
  })
}

/** `bindOnce` throws when somebody has the port. No port is given twice. */
async function freePort(bindOnce: (port: number) => Promise<void>): Promise<number> {
  for (let tries = 0; tries < triesAtMost; tries += 1) {
    const port = randomInt(firstPort, endOfPorts)
    if (given.has(port)) continue
    try {
      await bindOnce(port)
    } catch {
      continue
    }
    given.add(port)
    return port
  }
  throw new Error(`no free port between ${firstPort} and ${endOfPorts}`)
}

/** Whether that very process has bound the UDP port. */
export function hasBoundUdpPort(pid: number, port: number): boolean {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = readFileSync('/proc/net/udp', 'utf8').split('\n').slice(1)
  const inodes = rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, address = '']) => address.endsWith(local))
    .map((fields) => `socket:[${fields[9]}]`)
  return inodes.length > 0 && openFilesOf(pid).some((file) => inodes.includes(file))
}

function openFilesOf(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`
  const linkOf = (name: string) => {
    try {
      return readlinkSync(`${folder}/${name}`)
    } catch {
      return ''
    }
  }
  try {
    return readdirSync(folder).map(linkOf)
  } catch {
    return []
  }
}
