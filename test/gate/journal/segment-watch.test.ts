/** Segments that are removed or cut off while a server runs are named until they are put back. */
import {
  appendFileSync,
  mkdtempSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { writeBeginning } from '../../../src/gate/journal/journal-beginning.js'
import { segmentPath } from '../../../src/gate/journal/journal-reader.js'
import { SegmentWatch } from '../../../src/gate/journal/segment-watch.js'

let folder: string
let watch: SegmentWatch
const pathOf = (firstSeq: number) => segmentPath(folder, firstSeq)
const write = (firstSeq: number) => writeFileSync(pathOf(firstSeq), 'x'.repeat(100))

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-watch-'))
  for (const firstSeq of [1, 11, 21]) write(firstSeq)
  watch = new SegmentWatch(folder)
  expect(await watch.look()).toBeUndefined()
})

it('names a segment that was removed, until it is put back', async () => {
  renameSync(pathOf(11), join(folder, 'aside'))
  for (let look = 0; look < 2; look += 1) {
    expect(await watch.look()).toMatch(`${pathOf(11)}: the file was removed while callgate runs`)
  }
  renameSync(join(folder, 'aside'), pathOf(11))
  expect(await watch.look()).toBeUndefined()
})

it('names a segment that was cut off, with both sizes, whatever comes after it', async () => {
  truncateSync(pathOf(11), 60)
  write(31)
  expect(await watch.look()).toMatch(`${pathOf(11)}: the file has 60 bytes in place of 100`)
  appendFileSync(pathOf(11), 'x'.repeat(40))
  expect(await watch.look()).toBeUndefined()
  truncateSync(pathOf(31), 1)
  expect(await watch.look()).toMatch(`${pathOf(31)}: the file has 1 bytes`)
})

it('takes a smaller file in its place for another one, also with the same inode', async () => {
  // As after two erasures: of two files that follow each other, the second gets the inode of the first.
  for (const length of [90, 80]) {
    writeFileSync(`${pathOf(11)}.tmp`, 'x'.repeat(length))
    renameSync(`${pathOf(11)}.tmp`, pathOf(11))
  }
  expect(await watch.look()).toBeUndefined()
})

it('takes what the journal itself does for what it is', async () => {
  appendFileSync(pathOf(21), 'more')
  writeFileSync(`${pathOf(1)}.gz.tmp`, 'short')
  renameSync(`${pathOf(1)}.gz.tmp`, `${pathOf(1)}.gz`)
  rmSync(pathOf(1))
  expect(await watch.look()).toBeUndefined()
  writeBeginning(folder, { firstSeq: 21, removedBefore: 1, notice: 25 })
  rmSync(`${pathOf(1)}.gz`)
  rmSync(pathOf(11))
  expect(await watch.look()).toBeUndefined()
})
