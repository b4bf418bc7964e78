import { createHash } from 'node:crypto'
import { utimesSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { sha256OfFile } from '../../../src/data/files/source-bytes.js'
import {
  formatSourcePath,
  openSourceFile,
  openSourceFiles,
  type SourceFile,
} from '../../../src/data/files/source-file.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { zipBytes } from '../../data/zip-bytes.js'

const text = Array.from({ length: 60_000 }, (_, nth) => `212555${1000 + (nth % 9000)}\n`).join('')
const folder = useTempFolder()

async function contentOf(path: string, entryPattern?: RegExp): Promise<string> {
  return read(await openSourceFile(path, entryPattern ? { entryPattern } : {}))
}

async function read({ stream }: Pick<SourceFile, 'stream'>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('latin1')
}

const notes = { name: 'ReadMe.txt', content: 'about this file' }
const fork = { name: '__MACOSX/._list.txt', content: 'fork' }
const list = { name: 'data/list.txt', content: text }
const stored = { ...list, stored: true }

describe('openSourceFile gives the content of', () => {
  const table: [what: string, fileName: string, bytes: string | Buffer, name: string][] = [
    ['plain text', 'list.txt', text, 'list.txt'],
    ['an empty file', 'empty.txt', '', 'empty.txt'],
    ['gzip', 'list.txt.gz', gzipSync(text), 'list.txt.gz'],
    ['gzip in several parts', 'l.gz', Buffer.concat([gzipSync(text), gzipSync('x')]), 'l.gz'],
    ['gzip under another name', 'list.dat', gzipSync(text), 'list.dat'],
    ['a zip', 'list.zip', zipBytes([list]), 'list.zip/data/list.txt'],
    ['a zip with stored data', 'list.zip', zipBytes([stored]), 'list.zip/data/list.txt'],
    ['a zip with notes', 'l.zip', zipBytes([notes, fork, list]), 'l.zip/data/list.txt'],
    ['an empty file in a zip', 'e.zip', zipBytes([{ name: 'e', content: '' }]), 'e.zip/e'],
  ]
  it.each(table)('%s', async (_, fileName, bytes, name) => {
    const path = folder.write(fileName, bytes)
    const expected = /empty|^e\./.test(fileName) ? '' : fileName === 'l.gz' ? `${text}x` : text
    expect(await contentOf(path)).toBe(expected)
    expect((await openSourceFile(path)).name).toBe(name)
  })

  it('the file of a zip that was asked for', async () => {
    const path = folder.write('two.zip', zipBytes([list, { name: 'b.csv', content: 'b' }]))
    expect(await contentOf(path, /\.csv$/)).toBe('b')
  })
})

describe('openSourceFile refuses', () => {
  const zip = zipBytes([list])
  const nested = /is an archive inside an archive; unpack the outer one and name the files/
  const flippedStored = zipBytes([stored])
  flippedStored[5000] = 0x39 ^ (flippedStored[5000] ?? 0)
  const table: [what: string, fileName: string, bytes: string | Buffer, message: RegExp][] = [
    ['a web page named zip', 'list.zip', '<!DOCTYPE html>', /is not a zip file/],
    ['text named gz', 'list.gz', text, /is not a gz file/],
    ['a cut gzip', 'list.gz', gzipSync(text).subarray(0, 900), /unexpected end of file/],
    ['a cut zip', 'list.zip', zip.subarray(0, zip.length - 30), /cannot be read/],
    ['a flipped bit in stored data', 'list.zip', flippedStored, /wrong checksum/],
    ['an empty zip', 'list.zip', zipBytes([]), /has no readable file/],
    ['only notes', 'list.zip', zipBytes([notes, fork]), /has no readable file/],
    ['several files', 'l.zip', zipBytes([list, { name: 'b', content: '' }]), /data\/list.txt, b\)/],
    ['a zip in a zip', 'l.zip', zipBytes([{ name: 'a.zip', content: zip }]), nested],
    ['an empty zip in a zip', 'l.zip', zipBytes([{ name: 'a', content: zipBytes([]) }]), nested],
    ['a gz in a zip', 'l.zip', zipBytes([{ name: 'a.gz', content: gzipSync(text) }]), nested],
    ['a zip in a gz', 'l.gz', gzipSync(zip), nested],
    ['a gz in a gz', 'l.gz', gzipSync(gzipSync(text)), nested],
    [
      'encryption',
      'l.zip',
      zipBytes([{ ...list, encrypted: true }]),
      /list.txt in it is encrypted/,
    ],
  ]
  it.each(table)('%s', async (_, fileName, bytes, message) => {
    const path = folder.write(fileName, bytes)
    await expect(contentOf(path)).rejects.toThrow(message)
    await expect(contentOf(path)).rejects.toThrow(fileName)
    await expect(contentOf(path)).rejects.toMatchObject({
      name: 'DataFileError',
      path: expect.stringContaining(path) as string,
    })
  })

  it('a file that is not there and a folder', async () => {
    await expect(openSourceFile(folder.file('none.txt'))).rejects.toThrow(/ENOENT/)
    await expect(openSourceFile(folder.path)).rejects.toThrow(/EISDIR/)
  })
})

describe('openSourceFile tells', () => {
  const table: [fileName: string, bytes: string | Buffer][] = [
    ['list.txt', text],
    ['list.gz', gzipSync(text)],
    ['list.zip', zipBytes([list])],
  ]
  it.each(table)('how far it is in %s', async (fileName, bytes) => {
    const path = folder.write(fileName, bytes)
    const told: number[] = []
    const { stream, bytesTotal } = await openSourceFile(path, {
      onBytes: (done) => told.push(done),
    })
    for await (const chunk of stream) expect(chunk).toBeInstanceOf(Buffer)
    expect(bytesTotal).toBe(Buffer.from(bytes).length)
    expect(told.at(-1)).toBe(bytesTotal)
    expect(told).toEqual([...told].sort((a, b) => a - b))
  })

  it('when the file was written', async () => {
    const path = folder.write('list.txt', text)
    utimesSync(path, 1_790_000_000, 1_790_000_000)
    expect((await openSourceFile(path)).modifiedAt).toBe(1_790_000_000_000)
  })
})

it('sha256OfFile hashes the file as it is on disk', async () => {
  const bytes = gzipSync(text)
  const path = folder.write('list.gz', bytes)
  expect(await sha256OfFile(path)).toBe(createHash('sha256').update(bytes).digest('hex'))
})

describe('openSourceFiles', () => {
  const members = [notes, { name: '212.txt', content: text }, { name: 'b/646.txt', content: 'b' }]

  it('gives every data file of an archive, in its order', async () => {
    const path = folder.write('all.zip', zipBytes([...members, { name: '917.txt', content: '' }]))
    const told: number[] = []
    const opened = await openSourceFiles(path, { onBytes: (done) => told.push(done) })
    const contents: string[] = []
    for (const one of opened) contents.push(await read(one))
    expect(contents).toEqual([text, 'b', ''])
    expect(opened.map(({ name }) => name)).toEqual([
      'all.zip/212.txt',
      'all.zip/b/646.txt',
      'all.zip/917.txt',
    ])
    expect(opened.map(formatSourcePath)).toEqual(opened.map(({ name }) => folder.file(name)))
    expect(told.at(-1)).toBe(opened[0]?.bytesTotal)
    expect(told).toEqual([...told].sort((a, b) => a - b))
  })

  it('gives those that were asked for', async () => {
    const path = folder.write('all.zip', zipBytes(members))
    const opened = await openSourceFiles(path, { entryPattern: /646/ })
    expect(opened.map(({ name }) => name)).toEqual(['all.zip/b/646.txt'])
  })

  it.each([
    ['one that is encrypted', [...members, { name: 'x', content: 'x', encrypted: true }]],
    ['none', [notes]],
  ])('refuses an archive with %s', async (_, wrong) => {
    const path = folder.write('all.zip', zipBytes(wrong))
    await expect(openSourceFiles(path)).rejects.toThrow(/is encrypted|has no readable file/)
  })

  it('gives the one file that is no archive', async () => {
    const opened = await openSourceFiles(folder.write('list.txt', text))
    expect(opened.map(({ name }) => name)).toEqual(['list.txt'])
  })
})

describe('the checksum taken while reading', () => {
  const plainSum = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')
  const gz = gzipSync(text)
  const table: [what: string, fileName: string, bytes: string | Buffer, known: boolean][] = [
    ['plain text', 'l.txt', text, true],
    ['an empty file', 'l.txt', '', true],
    ['gzip', 'l.gz', gz, true],
    ['gzip in several parts', 'l.gz', Buffer.concat([gz, gz]), true],
    ['a zip', 'l.zip', zipBytes([list]), false],
  ]
  it.each(table)('of %s is that of the file on disk', async (_, fileName, bytes, known) => {
    const opened = await openSourceFile(folder.write(fileName, bytes))
    if (bytes.length > 0) expect(opened.readDigest()).toBeUndefined()
    await read(opened)
    expect(opened.readDigest()).toBe(known ? plainSum(bytes) : undefined)
  })
})

describe('an archive that unpacks to too much', () => {
  const lines = (bytes: number) => '2125550100\n'.repeat(bytes / 11)
  const bomb = lines(22_000_000)

  it('is refused by its ratio: a gzip while it is read, a zip before', async () => {
    const rule =
      /unpacks to more than 200 times its \d+ bytes, the limit; if the file is correct, unp/
    const gzip = folder.write('bomb.gz', gzipSync(bomb))
    await expect(contentOf(gzip)).rejects.toThrow(rule)
    const zip = folder.write('bomb.zip', zipBytes([{ name: 'list.txt', content: bomb }]))
    await expect(openSourceFiles(zip)).rejects.toThrow(rule)
  })

  it('is refused by its ratio however many entries share it', async () => {
    const part = lines(5_500_000)
    const members = ['a', 'b', 'c', 'd'].map((name) => ({ name, content: part }))
    const zip = folder.write('parts.zip', zipBytes(members))
    await expect(openSourceFiles(zip)).rejects.toThrow(/more than 200 times/)
  })

  it('is read where it is small, and where numbers differ as those of a registry do', async () => {
    const small = lines(11_000_000)
    expect(await contentOf(folder.write('small.gz', gzipSync(small)))).toBe(small)
    const registry = Array.from({ length: 2_000_000 }, (_, nth) => `212,${2_000_000 + nth}\n`).join(
      '',
    )
    expect(await contentOf(folder.write('registry.gz', gzipSync(registry)))).toBe(registry)
    const zip = folder.write('registry.zip', zipBytes([{ name: 'list.txt', content: registry }]))
    expect(await contentOf(zip)).toBe(registry)
  })

  it('is refused by its size and by the number of its files', async () => {
    const limits = { maxEntries: 2, maxBytes: 1_000, maxRatio: 200 }
    const readAll = async (name: string, bytes: Buffer) => {
      const files = await openSourceFiles(folder.write(name, bytes), { limits })
      for (const file of files) await read(file)
    }
    const members = ['a', 'b', 'c'].map((name) => ({ name, content: '2125550100\n' }))
    await expect(readAll('two.zip', zipBytes(members.slice(1)))).resolves.toBeUndefined()
    await expect(readAll('three.zip', zipBytes(members))).rejects.toThrow(
      /contains 3 files, more than the limit of 2; unpack it/,
    )
    const size = /unpacks to more than 1000 bytes, the limit/
    await expect(readAll('large.gz', gzipSync(lines(1_100)))).rejects.toThrow(size)
    const large = ['a', 'b'].map((name) => ({ name, content: lines(550) }))
    await expect(readAll('large.zip', zipBytes(large))).rejects.toThrow(size)
    await expect(readAll('fits.gz', gzipSync(lines(990)))).resolves.toBeUndefined()
  })

  it('is refused with the limits of the program', async () => {
    const members = Array.from({ length: 4_097 }, (_, nth) => ({ name: `${nth}`, content: '' }))
    const many = folder.write('many.zip', zipBytes(members))
    await expect(openSourceFiles(many)).rejects.toThrow(
      /contains 4097 files, more than the limit of 4096/,
    )
  })

  it('cannot state a smaller size than it has', async () => {
    const zip = zipBytes([{ name: 'list.txt', content: bomb }])
    const directory = zip.indexOf('PK\x01\x02')
    zip.writeUInt32LE(1_000, directory + 24)
    const [file] = await openSourceFiles(folder.write('lying.zip', zip))
    await expect(file && read(file)).rejects.toThrow(/cannot be read: too many bytes/)
  })
})
