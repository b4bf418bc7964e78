/** Files of published lists in storage that has the API of Amazon S3. */
import { openAsBlob } from 'node:fs'
import { DataFileError } from '../../../errors.js'
import {
  type ListFile,
  type ListFiles,
  pieceBytes,
  pieceTimeoutMs,
  toFileName,
  withPieceTimeout,
} from './list-files.js'

export interface S3Options {
  /** Bucket and prefix are its path: `https://s3.example.com/bucket/callgate`. */
  readonly url: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** For a request with at most {@link pieceBytes}, and for each piece of a file that is stored. */
  readonly timeoutMs?: number | undefined
}

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Blob
  readonly signal: AbortSignal
}

export class S3Files implements ListFiles {
  readonly #options: Omit<S3Options, 'timeoutMs'>
  readonly #timeoutMs: number

  constructor({ timeoutMs = pieceTimeoutMs, ...options }: S3Options) {
    this.#options = options
    this.#timeoutMs = timeoutMs
  }

  get place(): string {
    return this.#options.url
  }

  async put(file: ListFile, path: string): Promise<void> {
    // A blob has a length, without which S3 takes no file, and is read while it is sent.
    const body = await openAsBlob(path)
    const signal = AbortSignal.timeout(this.#timeoutMs * Math.ceil(body.size / pieceBytes))
    await this.#send(file, { method: 'PUT', body, signal })
  }

  async readPiece(file: ListFile, from: number, signal: AbortSignal): Promise<Uint8Array> {
    const last = Math.min(from + pieceBytes, file.bytes) - 1
    const response = await this.#send(file, {
      method: 'GET',
      headers: { range: `bytes=${from}-${last}` },
      signal: withPieceTimeout(signal, this.#timeoutMs),
    })
    if (response.status === 206) return new Uint8Array(await response.arrayBuffer())
    await response.body?.cancel()
    throw this.#refusal(file, `status ${response.status} where 206 (a part of it) is expected`)
  }

  /** There is no other place. */
  avoidSource(): void {}

  async remove(file: ListFile): Promise<void> {
    await this.#send(file, { method: 'DELETE', signal: AbortSignal.timeout(this.#timeoutMs) })
  }

  async #send(file: ListFile, { method, headers, body, signal }: S3Request): Promise<Response> {
    const { url, ...keys } = this.#options
    const { AwsV4Signer } = await import('aws4fetch')
    const signer = new AwsV4Signer({
      ...keys,
      service: 's3',
      method,
      url: `${url}/${toFileName(file)}`,
      ...(headers && { headers }),
    })
    const signed = await signer.sign()
    const response = await fetch(signed.url, {
      method,
      headers: signed.headers,
      ...(body && { body }),
      signal,
    })
    if (response.ok) return response
    // An XML document, of which the code says what is wrong.
    const text = await response.text()
    const code = /<Code>([^<]*)<\/Code>/.exec(text)?.[1]
    throw this.#refusal(file, `status ${response.status}${code === undefined ? '' : ` (${code})`}`)
  }

  #refusal(file: ListFile, why: string): DataFileError {
    return new DataFileError(`${this.place}/${toFileName(file)}`, why)
  }
}
