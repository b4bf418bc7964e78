/** Reads the downloaded files of one feed, one after the other, with their progress and checksums. */
import type { Instant, LocalDay } from '../../domain/clock.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { FactRow, FactSource } from '../../storage/fact-shape.js'
import type { BadLines } from '../feeds/bad-lines.js'
import { openSourceFile, type SourceFile } from '../feeds/open-source-file.js'
import { digestOfRead } from '../feeds/source-digest.js'
import type { FactImportOptions } from './fact-import.js'

const dayMs = 86_400_000

export interface ReadInto {
  readonly today: LocalDay
  readonly badLines: BadLines
  keep(number: PhoneNumber, fact: FactRow): void
}

export interface FactFilesRead {
  readonly rows: number
  readonly facts: number
  readonly comments: number
  readonly notKept: Readonly<Record<string, number>>
  readonly sources: readonly FactSource[]
  readonly asOf: Instant
}

type Wanted = Pick<FactImportOptions, 'feed' | 'files' | 'asOf' | 'onProgress'>

/** Throws what the reader of the feed throws; what was kept by then is to be dropped. */
export async function readFactFiles(options: Wanted, into: ReadInto): Promise<FactFilesRead> {
  const progress = new FilesProgress(options.onProgress)
  const opened = await progress.open(options.files)
  const notKept: Record<string, number> = {}
  let facts = 0
  let comments = 0
  const shared = {
    ...{ today: into.today, badLines: into.badLines, statedDay: dayOf(options.asOf) },
    keep: (number: PhoneNumber, fact: FactRow) => {
      facts += 1
      into.keep(number, fact)
    },
    leaveOut: (reason: string) => {
      notKept[reason] = (notKept[reason] ?? 0) + 1
    },
    onRow: () => progress.row(),
  }
  const sources: FactSource[] = []
  const days: LocalDay[] = []
  for (const source of opened) {
    const { rows, day, comments: more } = await options.feed.read({ ...shared, source })
    comments += more
    if (day !== undefined) days.push(day)
    const asOf = day === undefined ? (options.asOf ?? source.modifiedAt) : day * dayMs
    sources.push({ file: source.name, sha256: await digestOfRead(source), rows, asOf })
  }
  progress.tell()
  const oldest = Math.min(...opened.map(({ modifiedAt }) => modifiedAt))
  const own = days.length > 0 ? Math.max(...days) * dayMs : oldest
  return { rows: progress.rows, facts, comments, notKept, sources, asOf: options.asOf ?? own }
}

function dayOf(at: Instant | undefined): LocalDay | undefined {
  return at === undefined ? undefined : Math.floor(at / dayMs)
}

/** How far all files together are. */
class FilesProgress {
  readonly #onProgress: FactImportOptions['onProgress']
  #bytesDone = 0
  #bytesTotal = 0
  #rows = 0

  constructor(onProgress: FactImportOptions['onProgress']) {
    this.#onProgress = onProgress
  }

  get rows(): number {
    return this.#rows
  }

  async open(paths: readonly string[]): Promise<SourceFile[]> {
    const opened: SourceFile[] = []
    for (const path of paths) {
      let before = 0
      const onBytes = (done: number) => {
        this.#bytesDone += done - before
        before = done
        this.tell()
      }
      opened.push(await openSourceFile(path, { onBytes }))
    }
    this.#bytesTotal = opened.reduce((sum, { bytesTotal }) => sum + bytesTotal, 0)
    return opened
  }

  row(): void {
    this.#rows += 1
  }

  tell(): void {
    const [bytesDone, bytesTotal, rows] = [this.#bytesDone, this.#bytesTotal, this.#rows]
    this.#onProgress?.({ bytesDone, bytesTotal, rows })
  }
}
