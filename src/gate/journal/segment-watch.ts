/** Notices segments that are removed or cut off while a server runs, which nothing else would notice before the next start. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { countLossFirst, getErrorCode } from '../../errors.js'
import { readBeginningInBackground } from './journal-beginning.js'

interface WatchedSegment {
  readonly path: string
  /** Inode and birth: a file system gives the number of a deleted file to the next one. */
  readonly identity: string
  readonly size: bigint
}

/** By the number of the first record. */
type Segments = ReadonlyMap<number, WatchedSegment>

export class SegmentWatch {
  readonly #folder: string
  #known: Segments = new Map()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Gives what is gone since the first look and was not put back, for people; `undefined` if nothing is. Rejects if the folder cannot be read. */
  async look(): Promise<string | undefined> {
    // A segment that is replaced by its compressed form may be missing in one list.
    if ((await this.#compare()) !== undefined) return await this.#compare()
    return undefined
  }

  async #compare(): Promise<string | undefined> {
    const found = await readSegments(this.#folder)
    // Read later than the list: retention names the new beginning before it removes a file.
    const { firstSeq: beginning } = await readBeginningInBackground(this.#folder)
    const lost = [...this.#known].filter(
      ([firstSeq, before]) => firstSeq >= beginning && isCut(before, found.get(firstSeq)),
    )
    this.#known = new Map([...found, ...lost])
    const [first] = lost
    return first && describe(first[1], found.get(first[0]))
  }
}

async function readSegments(folder: string): Promise<Segments> {
  const segments = new Map<number, WatchedSegment>()
  for (const name of (await readdir(folder)).sort()) {
    const firstSeq = /^(\d{20})\.seg(?:\.gz)?$/.exec(name)?.[1]
    if (firstSeq === undefined) continue
    const path = join(folder, name)
    try {
      const { ino, birthtimeNs, size } = await stat(path, { bigint: true })
      segments.set(Number(firstSeq), { path, identity: `${ino}:${birthtimeNs}`, size })
    } catch (cause) {
      if (getErrorCode(cause) !== 'ENOENT') throw cause
    }
  }
  return segments
}

/** What erases or compresses writes another file, and moves it into place. */
function isCut(before: WatchedSegment, now: WatchedSegment | undefined): boolean {
  return now === undefined || (now.identity === before.identity && now.size < before.size)
}

function describe({ path, size }: WatchedSegment, now: WatchedSegment | undefined): string {
  const what = now ? `has ${now.size} bytes in place of ${size}` : 'was removed'
  return `${path}: the file ${what} while callgate runs, so the next start would be refused. Put it back, or restore it from a backup${countLossFirst}`
}
