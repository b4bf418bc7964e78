/** Files of published versions on their way between servers: bad sources, two at once, and places that do not answer. */
import { mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { writeCheckedFile } from '../../../src/data/files/checked-file.js'
import { FolderFiles } from '../../../src/data/number-list/exchange/folder-files.js'
import {
  type ListFile,
  type ListFiles,
  pieceBytes,
} from '../../../src/data/number-list/exchange/list-files.js'
import { obtainList } from '../../../src/data/number-list/exchange/obtain-list.js'
import { S3Files } from '../../../src/data/number-list/exchange/s3-files.js'
import { ServerFiles } from '../../../src/data/number-list/exchange/server-files.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { s3Keys, startS3Server } from '../../support/s3-server.js'

const temp = useTempFolder()
let published: ListFile
let source: string
const servers: Server[] = []
const { signal } = new AbortController()

beforeEach(async () => {
  source = join(temp.path, 'source')
  const body = Buffer.alloc(pieceBytes * 2 + 1_000, 'number')
  const sha256 = await writeCheckedFile(source, { kind: 'test', formatVersion: 1 }, {}, [body])
  const bytes = readFileSync(source).length
  published = { name: 'litigators', version: sha256.slice(0, 16), sha256, bytes }
})

afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** Of a server with its own or a shared folder. */
function openLocal(folder: string) {
  const inUse = join(temp.path, folder, 'in-use')
  const kept = join(temp.path, folder, 'versions', 'kept')
  mkdirSync(join(temp.path, folder), { recursive: true })
  return { inUse, kept, use: async () => renameSync(kept, inUse), findSameContent: () => [] }
}

async function startServer(file: Buffer): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    const from = Number(new URL(url, 'http://localhost').searchParams.get('from'))
    response.end(file.subarray(from, from + pieceBytes))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('after a damaged file, another server is asked', async () => {
  const good = readFileSync(source)
  const bad = Buffer.from(good)
  bad[100] = 1
  const urls = [await startServer(bad), await startServer(good)]
  const files = new ServerFiles({ urls, readKey: () => 'key' })
  const local = openLocal('one')
  await expect(obtainList(published, { local, files, signal })).rejects.toThrow('damaged file')
  await obtainList(published, { local, files, signal })
  expect(readFileSync(local.inUse).equals(good)).toBe(true)
})

it('two servers that fetch into one folder do not spoil the file of the other', async () => {
  const folder = new FolderFiles(join(temp.path, 'place'))
  await folder.put(published, source)
  const waiting: (() => void)[] = []
  // Each piece of both is read before either is written.
  const files: ListFiles = {
    place: folder.place,
    put: (...file) => folder.put(...file),
    avoidSource: () => undefined,
    remove: (file) => folder.remove(file),
    readPiece: async (file, from) => {
      const piece = await folder.readPiece(file, from)
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        if (waiting.length === 2) for (const go of waiting.splice(0)) go()
      })
      return piece
    },
  }
  const local = openLocal('shared')
  const fetching = { local, files, signal }
  await Promise.all([obtainList(published, fetching), obtainList(published, fetching)])
  expect(readFileSync(local.inUse).equals(readFileSync(source))).toBe(true)
  expect(readdirSync(join(temp.path, 'shared', 'versions'))).toEqual([])
})

it('storage that takes a request and stops fails it', async () => {
  const s3 = await startS3Server()
  try {
    s3.hold = () => new Promise(() => undefined)
    const files = new S3Files({ url: s3.url, region: 'us-east-1', ...s3Keys, timeoutMs: 50 })
    await expect(files.put(published, source)).rejects.toThrow('timeout')
    await expect(files.remove(published)).rejects.toThrow('timeout')
    await expect(files.readPiece(published, 0, signal)).rejects.toThrow('timeout')
  } finally {
    s3.close()
  }
})
