/** Compares two number lists without their memory. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { readCheckedHeader, verifyCheckedFile } from '../../files/checked-file.js'
import { numberListFile, parseNumberListHeader } from './number-list-format.js'

const pieceBytes = 4 << 20

/**
 * Whether two files have the same numbers with the same days, cover the same area codes, and are as of the same instant. Which files they
 * were imported from, and when, does not matter. Files that are damaged or cannot be read are not equal.
 */
export async function hasEqualContent(one: string, other: string): Promise<boolean> {
  try {
    const [first, second] = [readHead(one), readHead(other)]
    if (!isDeepStrictEqual(first.content, second.content)) return false
    if (!hasEqualBodies({ path: one, ...first }, { path: other, ...second })) return false
    await verifyCheckedFile(other, second.digest)
    return true
  } catch {
    return false
  }
}

/** `false` if {@link hasEqualContent} is, by what the files say of themselves. Throws if one of them cannot be read. */
export function mayHaveEqualContent(one: string, other: string): boolean {
  return isDeepStrictEqual(readHead(one).content, readHead(other).content)
}

function readHead(path: string) {
  const { header, bodyBytes, digest } = readCheckedHeader(path, numberListFile)
  const { asOf, coverage, size, blocks, words, dated } = parseNumberListHeader(path, header)
  const content = { asOf, coverage, size, blocks, words, dated, bodyBytes }
  return { content, bodyBytes, digest }
}

interface Body {
  readonly path: string
  readonly bodyBytes: number
  readonly digest: string
}

function hasEqualBodies(one: Body, other: Body): boolean {
  const files = [one, other].map(({ path }) => openSync(path, 'r'))
  const [first = 0, second = 0] = files
  const pieces = [Buffer.alloc(pieceBytes), Buffer.alloc(pieceBytes)] as const
  try {
    const [start, otherStart] = [findBody(first, one), findBody(second, other)]
    for (let at = 0; at < one.bodyBytes; at += pieceBytes) {
      const length = Math.min(pieceBytes, one.bodyBytes - at)
      const read = readSync(first, pieces[0], 0, length, start + at)
      const readOther = readSync(second, pieces[1], 0, length, otherStart + at)
      if (read !== length || readOther !== length) return false
      if (pieces[0].compare(pieces[1], 0, length, 0, length) !== 0) return false
    }
    return true
  } finally {
    for (const file of files) closeSync(file)
  }
}

/** It is between the header and the checksum. */
function findBody(file: number, { bodyBytes, digest }: Body): number {
  return fstatSync(file).size - digest.length / 2 - bodyBytes
}
