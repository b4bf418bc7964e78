/** Files of published lists on the servers that have them. */
import { DataFileError, getErrorMessage } from '../../../errors.js'
import { type ListFile, type ListFiles, withPieceTimeout } from './list-files.js'

export interface ServerFilesOptions {
  /** Such as `http://10.0.0.1:8480`; this server may be among them. */
  readonly urls: readonly string[]
  /** API key that may read list files; asked for each piece, since it may be replaced. */
  readonly readKey: () => string
}

interface PieceRequest {
  readonly file: ListFile
  readonly from: number
  readonly signal: AbortSignal
}

export class ServerFiles implements ListFiles {
  readonly #options: ServerFilesOptions
  /** Index of the server that is asked first. */
  #first = 0

  constructor(options: ServerFilesOptions) {
    this.#options = options
  }

  get place(): string {
    return this.#options.urls.join(' or ')
  }

  /** The server serves it from its own folder. */
  async put(): Promise<void> {}

  async readPiece(file: ListFile, from: number, signal: AbortSignal): Promise<Uint8Array> {
    const failures: string[] = []
    const { urls } = this.#options
    for (const url of [...urls.slice(this.#first), ...urls.slice(0, this.#first)]) {
      try {
        this.#first = urls.indexOf(url)
        return await this.#readFrom(url, { file, from, signal })
      } catch (cause) {
        failures.push(`${url}: ${getErrorMessage(cause)}`)
      }
    }
    throw new DataFileError(`${file.name} ${file.version}`, failures.join('; '))
  }

  avoidSource(): void {
    this.#first = (this.#first + 1) % this.#options.urls.length
  }

  async remove(): Promise<void> {}

  async #readFrom(url: string, { file, from, signal }: PieceRequest): Promise<Uint8Array> {
    const response = await fetch(`${url}/v1/list-files/${file.sha256}?from=${from}`, {
      headers: { loginId: this.#options.readKey() },
      signal: withPieceTimeout(signal),
    })
    if (response.ok) return new Uint8Array(await response.arrayBuffer())
    await response.body?.cancel()
    throw new Error(`status ${response.status}`)
  }
}
