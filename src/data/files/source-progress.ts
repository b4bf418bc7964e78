/** Tracks how much of the downloaded files of one import has been read. */
import {
  openSourceFile,
  openSourceFiles,
  type SourceFile,
  type SourceFileOptions,
} from './source-file.js'

export interface ImportProgress {
  /** Bytes of the files on disk read so far. */
  readonly bytesDone: number
  readonly bytesTotal: number
  readonly rows: number
}

export type OnProgress = (progress: ImportProgress) => void

type TrackedFileOptions = Pick<SourceFileOptions, 'entryPattern'>

export class SourceProgress {
  readonly #onProgress: OnProgress | undefined
  #bytesDone = 0
  #bytesTotal = 0
  #rows = 0

  constructor(onProgress: OnProgress | undefined) {
    this.#onProgress = onProgress
  }

  get rows(): number {
    return this.#rows
  }

  readonly countRow = (): void => {
    this.#rows += 1
  }

  /** Opens one more file and tracks how much of it has been read. */
  async openFile(path: string, options: TrackedFileOptions = {}): Promise<SourceFile> {
    return this.#track(await openSourceFile(path, { ...options, onBytes: this.#bytesOfFile() }))
  }

  /** Like {@link openFile}, for every data file of an archive. */
  async openFiles(path: string): Promise<readonly SourceFile[]> {
    const files = await openSourceFiles(path, { onBytes: this.#bytesOfFile() })
    if (files[0]) this.#track(files[0])
    return files
  }

  #track(file: SourceFile): SourceFile {
    this.#bytesTotal += file.bytesTotal
    return file
  }

  /** Returns a callback that adds the progress of one file to the total. */
  #bytesOfFile(): (done: number) => void {
    let before = 0
    return (done) => {
      this.#bytesDone += done - before
      before = done
      this.report()
    }
  }

  report(): void {
    const [bytesDone, bytesTotal, rows] = [this.#bytesDone, this.#bytesTotal, this.#rows]
    this.#onProgress?.({ bytesDone, bytesTotal, rows })
  }
}
