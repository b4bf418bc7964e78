import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { BadLines } from '../../../src/data/feeds/bad-lines.js'
import { openRejectFile } from '../../../src/data/feeds/reject-file.js'
import { useTempFolder } from '../../data/temp-folder.js'

const folder = useTempFolder()

it('is made with the first bad line only', async () => {
  const path = folder.file('a/b/rejects.csv')
  const rejects = openRejectFile(path)
  expect(await rejects.close()).toBe(0)
  expect(existsSync(folder.file('a'))).toBe(false)
})

it('holds every line, quoted as RFC 4180 says, for the eyes of its owner', async () => {
  const path = folder.file('a/b/rejects.csv')
  const rejects = openRejectFile(path)
  rejects.add({ file: 'l.zip/a.txt', line: 7, value: '212555', rule: 'must be "ten" digits' })
  rejects.add({ file: 'a,b.csv', line: 1_000_000, value: 'x,"y"\r', rule: 'is bad' })
  expect(await rejects.close()).toBe(2)
  expect(await rejects.close()).toBe(2)
  expect(readFileSync(path, 'utf8')).toBe(
    'file,line,value,reason\r\n' +
      'l.zip/a.txt,7,212555,"must be ""ten"" digits"\r\n' +
      '"a,b.csv",1000000,"x,""y""\r",is bad\r\n',
  )
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

it('replaces an older one, however it was readable, and holds more than fits in memory at once', async () => {
  const path = folder.write(
    'rejects.csv',
    `file,line,value,reason\r\n${'old,1,x,y\r\n'.repeat(1000)}`,
  )
  const rejects = openRejectFile(path)
  for (let line = 1; line <= 20_000; line += 1) {
    rejects.add({ file: 'a.txt', line, value: 'é', rule: 'is bad' })
  }
  expect(await rejects.close()).toBe(20_000)
  const lines = readFileSync(path, 'utf8').split('\r\n')
  expect(lines).toHaveLength(20_002)
  expect(lines[20_000]).toBe('a.txt,20000,é,is bad')
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

describe('what already exists and is not a reject file stays as it is', () => {
  const bad = { file: 'a.txt', line: 1, value: 'x', rule: 'is bad' }
  it.each(['8505550123\nx\n', 'CALLGATE list', 'file,line,value'])('%j', (content) => {
    const path = folder.write('numbers.txt', content)
    const refusal = `${path}: already exists and is not a reject file; name another file with`
    expect(() => openRejectFile(path).add(bad)).toThrow(refusal)
    expect(readFileSync(path, 'utf8')).toBe(content)
  })

  it('a folder, with its name', () => {
    const refusal = `${folder.path}: cannot be used for the bad lines (--rejects): EISDIR`
    expect(() => openRejectFile(folder.path).add(bad)).toThrow(refusal)
  })

  it('the mode of what is no file, such as a pipe or a device', async () => {
    const path = folder.file('pipe')
    execFileSync('mkfifo', ['-m', '644', path])
    const rejects = openRejectFile(path)
    rejects.add(bad)
    expect(await rejects.close()).toBe(1)
    expect(statSync(path).mode & 0o777).toBe(0o644)
  })

  it('but an empty file is taken', async () => {
    const path = folder.write('rejects.csv', '')
    const rejects = openRejectFile(path)
    rejects.add(bad)
    await rejects.close()
    expect(readFileSync(path, 'utf8')).toBe('file,line,value,reason\r\na.txt,1,x,is bad\r\n')
  })
})

it('is told of the bad lines that refuse an import too', () => {
  const told: number[] = []
  const badLines = new BadLines(0, ({ line }) => told.push(line))
  const add = () => badLines.add({ file: 'a', line: told.length + 1, value: '', rule: '' })
  expect(() => {
    for (;;) add()
  }).toThrow('more than 20 lines are bad')
  expect(told).toEqual(Array.from({ length: 21 }, (_, nth) => nth + 1))
})
