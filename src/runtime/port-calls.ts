/** Calls between two threads: each side names the functions that the other side may call. */
import type { MessagePort, TransferListItem, Worker } from 'node:worker_threads'
import { AppError, DataFileError, getErrorCode, getErrorMessage } from '../errors.js'

export interface PortCalls<Functions> {
  /**
   * The value and the result are copied; what is in `transfer` is moved. Rejects as the function
   * does, and when the other thread ends before it replies.
   */
  call<Name extends keyof Functions & string>(
    name: Name,
    value: ValueOf<Functions[Name]>,
    transfer?: readonly TransferListItem[],
  ): Promise<ResultOf<Functions[Name]>>
  /** Rejects calls that wait for a reply, and later ones; to be called when the other thread has ended. */
  fail(cause: Error): void
}

type ValueOf<F> = F extends (value: infer Value, ...more: never) => unknown ? Value : never
type ResultOf<F> = F extends (...values: never) => infer Result ? Awaited<Result> : never

/** Buffers that a function adds to `transfer` are moved with its result. */
type PortFunction = (value: unknown, transfer: ArrayBuffer[]) => unknown

interface CallMessage {
  readonly id: number
  readonly name: string
  readonly value: unknown
}

interface ReplyMessage {
  readonly id: number
  readonly result?: unknown
  readonly error?: ErrorMessage
}

/** Errors as plain data: a copy of an error loses its fields, and some errors cannot be copied. */
type ErrorMessage =
  | { readonly refusal: RefusalMessage }
  | { readonly dataFile: Pick<DataFileError, 'path' | 'message'> }
  | { readonly bug: BugMessage }
type BugMessage = Pick<NodeJS.ErrnoException, 'message' | 'stack' | 'code'>
type RefusalMessage = Pick<AppError, 'kind' | 'message' | 'problems' | 'retryAfterSeconds'>

interface PendingCall {
  readonly resolve: (result: never) => void
  readonly reject: (cause: unknown) => void
}

/** Messages arrive in the order in which they were sent, calls and replies alike. */
export function connectPort<Own extends object, Other>(
  port: Worker | MessagePort,
  own: Own,
): PortCalls<Other> {
  const functions = own as Readonly<Record<string, PortFunction>>
  const pending = new Map<number, PendingCall>()
  let lastId = 0
  let failure: Error | undefined
  const settle = ({ id, result, error }: ReplyMessage) => {
    const call = pending.get(id)
    pending.delete(id)
    if (error === undefined) call?.resolve(result as never)
    else call?.reject(toError(error))
  }
  const perform = async ({ id, name, value }: CallMessage) => {
    const transfer: ArrayBuffer[] = []
    try {
      const result = await functions[name]?.(value, transfer)
      port.postMessage({ id, result } satisfies ReplyMessage, transfer)
    } catch (cause) {
      port.postMessage({ id, error: toErrorMessage(cause) } satisfies ReplyMessage)
    }
  }
  port.on('message', (message: CallMessage | ReplyMessage) => {
    if ('name' in message) void perform(message)
    else settle(message)
  })
  return {
    call: (name, value, transfer = []) =>
      new Promise((resolve, reject) => {
        if (failure) return void reject(failure)
        lastId += 1
        pending.set(lastId, { resolve, reject })
        port.postMessage({ id: lastId, name, value } satisfies CallMessage, transfer)
      }),
    fail(cause) {
      failure = cause
      for (const { reject } of pending.values()) reject(cause)
      pending.clear()
    },
  }
}

/** The same calls without a second thread: nothing is copied, and a function begins when it is called. */
export function callDirectly<Functions extends object>(
  own: Functions,
): PortCalls<Functions>['call'] {
  const functions = own as Readonly<Record<string, PortFunction>>
  return async (name, value) => (await functions[name]?.(value, [])) as never
}

function toErrorMessage(cause: unknown): ErrorMessage {
  if (cause instanceof AppError) {
    const { kind, message, problems, retryAfterSeconds } = cause
    return { refusal: { kind, message, problems, retryAfterSeconds } }
  }
  const message = getErrorMessage(cause)
  if (cause instanceof DataFileError) return { dataFile: { path: cause.path, message } }
  const stack = cause instanceof Error ? cause.stack : undefined
  const code = getErrorCode(cause)
  return { bug: { message, ...(stack !== undefined && { stack }), ...(code && { code }) } }
}

function toError(error: ErrorMessage): Error {
  if ('refusal' in error) return toRefusal(error.refusal)
  if ('bug' in error) return Object.assign(new Error(error.bug.message), error.bug)
  const { path, message } = error.dataFile
  return new DataFileError(path, message.slice(`${path}: `.length))
}

function toRefusal({ kind, message, problems, retryAfterSeconds }: RefusalMessage): AppError {
  const retry = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  return new AppError(kind, message, { problems, ...retry })
}

/** What to move along with the bytes. Small buffers share their memory with others, so they are copied. */
export function listMovableBuffers(bytes: Uint8Array | undefined): ArrayBuffer[] {
  const buffer = bytes?.buffer
  return buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize ? [buffer] : []
}
